# How layers of tests are run, counted and summed up. What each of them runs: layers.sh; one after another or side by
# side: turns.sh; what a failure says: failures.sh.

all_layers="check unit engine ct measure cli interop formats oracle doors faults reencrypt aarch64 vm boot fuzz"

# run_layers [LAYER…] [-- NAME…]: all layers if none is named; of each only the tests whose names contain one of these.
# A layer that fails stops the run. Ends with each layer's result and time, the tests left out by name, one line of
# totals, and what to do about what failed.
run_layers() {
    local started layer layers=() at_once=${KEYWAY_AT_ONCE:-1}
    while [ $# -gt 0 ] && [ "$1" != -- ]; do layers+=("$1") && shift; done
    only=("${@:2}")
    [ ${#layers[@]} -gt 0 ] || layers=($all_layers)
    for layer in "${layers[@]}"; do
        declare -F "layer_$layer" >/dev/null || fail "no such layer: $layer (there are: $all_layers)"
    done
    want_rust
    started=$(now)
    results=() passed=0 failed=0 left_out_by=() flaky=() flaky_failures=() failures=() stopped_by=()
    : >"$logs/not-installed"
    trap stop_what_runs EXIT
    trap 'exit 130' INT TERM
    load "${KEYWAY_LOAD:-0}"
    if [ "$at_once" -gt 1 ] && [ ${#layers[@]} -gt 1 ]; then
        side_by_side "$at_once" $(in_order_of_waiting "${layers[@]}")
    else
        one_by_another "${layers[@]}"
    fi
    forgive
    [ ${#only[@]} = 0 ] || [ $((passed + failed)) -gt 0 ] || fail "no test of ${layers[*]} is called ${only[*]}"
    summary
    [ ${#stopped_by[@]} = 0 ] || fail "$(printf '%s\n' "${stopped_by[@]}" | paste -sd';')"
    [ $failed = 0 ] || exit 1
}

summary() {
    echo
    printf '%s\n' "${results[@]}"
    printf '%-9s %-7s %7s s\n' total '' "$(seconds_since "$started")"
    if [ ${#left_out_by[@]} -gt 0 ]; then
        say "left out:"
        printf '  %s\n' "${left_out_by[@]}"
    fi
    # A test that leaves itself out returns without failing: its runner counted it as passed.
    echo "$passed passed, $failed failed, ${#left_out_by[@]} skipped"
    what_is_not_installed
    what_failed
}

# load N: this many endless loops and a process that streams memory run beside everything, until this shell has ended.
load() {
    local loop
    [ "$1" -gt 0 ] || return 0
    say "beside $1 endless loops and a stream of memory"
    for ((loop = 0; loop < $1; loop++)); do
        while kill -0 $$ 2>/dev/null; do for ((i = 0; i < 500000; i++)); do :; done; done &
    done
    while kill -0 $$ 2>/dev/null; do dd if=/dev/zero of=/dev/null bs=64M count=200 status=none; done &
}

# proofs NAME…: those integration tests of tests/, with the static release binary.
proofs() {
    local name selected=()
    build_static || layer_fails "the static build"
    export KEYWAY_BIN=$PWD/target/keyway
    for name; do
        [ ! -e "tests/tests/$name.rs" ] && [ ! -e "tests/tests/$name" ] || selected+=(--test "$name")
    done
    [ ${#selected[@]} -gt 0 ] || layer_fails "there is no such test: $*"
    cargo_test "${selected[@]}" $(packages tests)
}

# packages NAME…: those, always beside the program's own, so that cargo chooses the features, and with them the compiled
# libraries, that the program has.
packages() { printf -- '--package %s ' keyway-cli "${@/#/keyway-}"; }

# cargo_test ARG…: runs, shows and counts. Tests that leave themselves out append to $KEYWAY_SKIPS. They are compiled as the
# program is, whose libraries are then there already, and wrapping numbers stop both (Cargo.toml).
cargo_test() {
    local log before status=0
    before=$(wc -l <"$KEYWAY_SKIPS")
    layer_runs=$((layer_runs + 1)) log=$logs/$layer-$layer_runs.log
    [ ${#only[@]} = 0 ] || { with_names "$@" && set -- "${named[@]}" "${only[@]}"; }
    tests_run "$log" "$@" || status=$?
    count_tests "$log"
    [ $status = 0 ] || once_more "$log" "$@" || layer_fails "its tests"
    skipped_by_tests=$((skipped_by_tests + $(wc -l <"$KEYWAY_SKIPS") - before))
}

# tests_run LOG ARG…. A shell that runs in the background has its children ignore SIGINT, which tests send.
tests_run() {
    env --default-signal=INT,QUIT cargo test --release --quiet --no-fail-fast "${@:2}" 2>&1 | tee "$1"
}

# with_names ARG…: the same arguments in `named`, after which names of tests can follow.
with_names() {
    named=("$@")
    [[ " $* " = *" -- "* ]] || named+=(--)
}

count_tests() {
    local counts
    counts=$(awk '/^test result:/ { p += $4; f += $6 } END { print p + 0, f + 0 }' "$1")
    passed=$((passed + ${counts% *})) failed=$((failed + ${counts#* }))
}

# step NAME COMMAND…: counts as one test.
step() {
    chosen "$1" || [[ $1 = build* ]] || return 0
    echo "-- $1"
    local log="$logs/$layer.${1//[^A-Za-z0-9_-]/-}.log"
    "${@:2}" 2>&1 | tee "$log" || { failure "$1" "$log" "$(tail -n 4 "$log")" && layer_fails "$1"; }
    passed=$((passed + 1))
}

# chosen NAME: whether it is among those that were named, or none was.
chosen() {
    local name
    [ ${#only[@]} -gt 0 ] || return 0
    for name in "${only[@]}"; do [[ $1 != *"$name"* ]] || return 0; done
    return 1
}

left_out() { echo "$1: $2" >>"$KEYWAY_SKIPS"; }
