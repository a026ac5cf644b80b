# ./dev bench calibrations: the costs that luksFormat chooses, by Keyway and by cryptsetup, on a quiet machine and beside three
# busy loops.

# Five volumes each; the last column is the smallest cost in percent of the largest: iterations, or passes times KiB.
bench_calibrations() {
    local place times kind program
    place=$(mktemp -d)
    trap 'quiet_again; rm -rf "'"$place"'"' EXIT
    printf secret >"$place/key"
    printf '%-28s %-6s %-11s %s\n' luksFormat machine program "costs of five runs"
    for times in quiet busy; do
        [ $times = quiet ] || busy
        for kind in "--type luks1" "--type luks1 --hash sha512" "--type luks2"; do
            for program in target/keyway cryptsetup; do
                have "$program" || [ -x "$program" ] || continue
                for _ in {1..5}; do chosen_cost "$program" "$kind" "$place"; done | awk -v kind="$kind" -v times=$times -v program="${program##*/}" '
                    { all = all " " $1; if (NR == 1 || $1 < least) least = $1; if ($1 > most) most = $1 }
                    END { printf "%-28s %-6s %-11s%s  %.0f %%\n", kind, times, program, all, 100 * least / most }'
            done
        done
    done
    quiet_again
}

# chosen_cost PROGRAM OPTIONS PLACE: of a new volume.
chosen_cost() {
    local options
    read -ra options <<<"$2"
    truncate -s 20M "$3/volume"
    "$1" luksFormat -q "${options[@]}" "$3/volume" "$3/key" 2>/dev/null
    target/keyway luksDump "$3/volume" | awk '
        /Iterations:|Time cost:/ && !cost { cost = $NF }
        /Memory:/ { memory = $NF }
        END { printf "%.0f\n", cost * (memory ? memory : 1) }'
}
