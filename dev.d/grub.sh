# ./dev bench grub: how fast GRUB's own code derives keys on this CPU, beside Keyway: its x86_64-efi modules, linked into a program.

# Iterations a second of one block, by CPU time; the ratios are those of crates/crypto/src/kdf/speed.rs before firmware's 1.3.
bench_grub() {
    local place release hash keyway sha512
    want_packages cc objcopy
    tests/grub/prepare "$grubs" || true
    build_static
    machine
    place=$(mktemp -d)
    trap 'rm -rf "'"$place"'"' EXIT
    for release in trixie forky; do tests/grub/speed "$grubs/$release/x86_64-efi" "$place/$release"; done
    sha512=$(keyways_rate sha512)
    printf '%-10s %-24s %10s %17s %17s\n' hash code rate "of Keyway's sha512" "of the same hash"
    for hash in sha1 sha256 sha512 ripemd160; do
        keyway=$(keyways_rate $hash)
        [ "$keyway" = 0 ] || grub_row $hash "Keyway" "$keyway"
        grub_row $hash "GRUB $(<"$grubs/trixie/version")" "$("$place/trixie" $hash 0 100000 2)"
        grub_row $hash "GRUB $(<"$grubs/forky/version")" "$("$place/forky" $hash 0 100000 2)"
        # SSSE3, SSE4.1, BMI2, AVX, AVX2; and SHA-NI (libgcrypt-grub's numbers of them).
        ! grep -qw avx2 /proc/cpuinfo || grub_row $hash "  -A, without SHA-NI" "$("$place/forky" $hash 881c0 100000 2)"
        ! grep -qw sha_ni /proc/cpuinfo || grub_row $hash "  -A" "$("$place/forky" $hash 981c0 100000 2)"
    done
}

# keyways_rate HASH: of one block, on one thread; 0 for hashes of which a key of 256 bits is two blocks.
keyways_rate() {
    target/keyway benchmark --pbkdf pbkdf2 --hash "$1" | awk -v hash="$1" '
        $1 == "PBKDF2-" hash { print hash ~ /^sha(256|512)$/ ? $2 : 0; exit }'
}

# grub_row HASH CODE "RATE KEY"
grub_row() {
    awk -v hash="$1" -v code="$2" -v rate="${3%% *}" -v all="$sha512" -v own="$keyway" 'BEGIN {
        beside = own == 0 ? "" : sprintf("%.2f", rate / own)
        printf "%-10s %-24s %10.0f %17.2f %17s\n", hash, code, rate, rate / all, beside }'
}
