# ./dev bench predictions: predicted seconds beside measured ones, of Keyway and of cryptsetup.

# On a quiet machine and beside three busy loops; what was predicted holds for the machine without them, where both
# programs are timed: the shortest of three runs. Ends with how many intervals held.
bench_predictions() {
    local place of figures
    place=$(mktemp -d)
    trap 'quiet_again; rm -rf "'"$place"'"' EXIT
    printf secret >"$place/key"
    printf '%-26s %-8s %-10s %22s %9s %s\n' keyslot machine program predicted measured interval
    for of in "pbkdf2 sha256 4000000" "pbkdf2 sha512 1000000" "argon2id 64" "argon2id 256" "argon2id 1024"; do
        make_volume "$of" "$place/$(echo "$of" | tr ' ' -)" "$place/key"
    done
    for figures in "$place"/*-*; do
        passport "$figures" >"$figures.quiet"
        busy
        passport "$figures" >"$figures.busy"
        quiet_again
        compare_with_real "$figures" keyway target/keyway seconds_here
        ! have cryptsetup || compare_with_real "$figures" cryptsetup cryptsetup seconds_until_open_by_cryptsetup
    done | tee "$place/table"
    echo "$(grep -c 'holds$' "$place/table") of $(wc -l <"$place/table") intervals hold"
}

make_volume() {
    local kdf cost=()
    read -r kdf _ <<<"$1"
    case $kdf in
        pbkdf2) read -ra cost <<<"$1" && cost=(--hash "${cost[1]}" --pbkdf-force-iterations "${cost[2]}") ;;
        argon2id) cost=(--pbkdf-force-iterations 4 --pbkdf-parallel 4 --pbkdf-memory $((1024 * ${1#* }))) ;;
    esac
    truncate -s 20M "$2"
    target/keyway luksFormat -q --type luks2 --pbkdf "$kdf" "${cost[@]}" "$2" "$3"
}

passport() { target/keyway passport --target linux --json "$1" | tr -d ' \n'; }

# compare_with_real VOLUME NAME PROGRAM FIELD
compare_with_real() {
    local real times low likely high
    real=$(for _ in 1 2 3; do seconds_of "$3" open --test-passphrase --key-file "${1%/*}/key" "$1"; done | sort -n | head -1)
    for times in quiet busy; do
        likely=$(sed "s/.*\"$4\":\([0-9.]*\).*/\1/" "$1.$times")
        read -r low high <<<"$(sed "s/.*\"$4_interval\":\[\([0-9.]*\),\([0-9.]*\).*/\1 \2/" "$1.$times")"
        awk -v of="${1##*/}" -v times=$times -v name="$2" -v low="$low" -v likely="$likely" -v high="$high" -v real="$real" \
            'BEGIN { printf "%-26s %-8s %-10s %6.3f, %6.3f-%6.3f %9.3f %s\n", of, times, name, likely, low, high, real,
                     low <= real && real <= high ? "holds" : "missed" }'
    done
}

seconds_of() {
    local before=$EPOCHREALTIME
    "$@"
    awk -v after="$EPOCHREALTIME" -v before="$before" 'BEGIN { print after - before }'
}

loops=()
busy() { for _ in 1 2 3; do while :; do :; done & loops+=($!); done; }
quiet_again() {
    [ ${#loops[@]} -eq 0 ] || kill "${loops[@]}" 2>/dev/null || true
    loops=()
}
