# Layers of tests one after another, or some side by side: while one compiles on one processor or waits for a machine,
# another goes on. Each runs in a shell of its own and leaves what it counted in a file.

# one_by_another LAYER…: until one fails.
one_by_another() {
    local layer
    for layer; do
        say "== $layer"
        one_layer "$layer" || true
        counted "$layer" || return 0
    done
}

# side_by_side COUNT LAYER…: that many at once. What one prints is shown when it has ended. After one has failed no other
# begins.
side_by_side() {
    local layer good=true
    # Each has a process group of its own, to be stopped with all that it has started.
    set -m
    for layer in "${@:2}"; do
        while [ ${#running[@]} -ge "$1" ]; do one_has_ended || good=false; done
        $good || break
        say "== $layer begins"
        { say "== $layer" && one_layer "$layer"; } &>"$logs/$layer.out" </dev/null &
        running[$!]=$layer
    done
    while [ ${#running[@]} -gt 0 ]; do one_has_ended || true; done
    set +m
}

# The layers that run side by side, by their process groups.
declare -A running=()

# Waits for one of them. Fails if it did.
one_has_ended() {
    local group layer
    wait -n -p group "${!running[@]}" || true
    layer=${running[$group]}
    unset "running[$group]"
    cat "$logs/$layer.out"
    counted "$layer"
}

# When the run is over, whatever ends it: the layers that still run, and the load beside them.
stop_what_runs() {
    local group
    for group in "${!running[@]}"; do kill -- "-$group" 2>/dev/null || true; done
    kill $(jobs -p) 2>/dev/null || true
}

# in_order_of_waiting LAYER…: first those that wait for machines or have a compiler's lock of their own.
in_order_of_waiting() {
    local layer
    for layer in check fuzz vm unit boot $all_layers; do [[ " $* " != *" $layer "* ]] || echo "$layer"; done | awk '!seen[$0]++'
}

# one_layer LAYER: in a shell of its own, whose counts `counted` takes up.
one_layer() (
    layer=$1 layer_started=$(now) layer_runs=0 skipped_by_tests=0
    passed=0 failed=0 flaky=() flaky_failures=() failures=()
    export KEYWAY_SKIPS=$PWD/$logs/$layer.skips
    : >"$KEYWAY_SKIPS"
    rm -f "$logs/$layer.counts"
    "layer_$layer"
    layer_ends ok
)

# What every failing step ends in: the layer is over, and so is the run. (bash ignores `set -e` in too many places to
# be relied upon here.)
layer_fails() {
    failed=$((failed > 0 ? failed : 1))
    layer_ends FAILED "layer $layer failed: $*"
    exit 1
}

# layer_ends RESULT [WHY]: leaves its counts as a shell reads them.
layer_ends() {
    local row skips
    # (Of this shell's children: a pipeline or a substitution would count its own.)
    times >"$logs/$layer.times"
    row=$(printf '%-9s %-7s %7s s %8s s of processors' "$layer" "$1" "$(seconds_since "$layer_started")" \
        "$(processor_seconds <"$logs/$layer.times")")
    mapfile -t skips <"$KEYWAY_SKIPS"
    cat >"$logs/$layer.counts" <<COUNTS
passed=\$((passed + $passed - $skipped_by_tests)) failed=\$((failed + $failed))
results+=(${row@Q}) left_out_by+=(${skips[*]@Q})
flaky+=(${flaky[*]@Q}) flaky_failures+=(${flaky_failures[*]@Q}) failures+=(${failures[*]@Q})
stopped_by+=(${2:+${2@Q}})
[ $1 = ok ]
COUNTS
}

# counted LAYER: adds its counts to the run's. Fails if it did.
counted() {
    if [ -e "$logs/$1.counts" ]; then
        . "$logs/$1.counts"
    else
        failed=$((failed + 1)) results+=("$(printf '%-9s FAILED' "$1")") stopped_by+=("layer $1 ended before its end")
        return 1
    fi
}

# Out of what `times` says: what those children took that have ended.
processor_seconds() { awk 'END { split($1 $2, t, /[ms]/); printf "%.1f", 60 * (t[1] + t[3]) + t[2] + t[4] }'; }
