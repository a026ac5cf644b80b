# What a failing run says in its last lines: the layer, the test, its message, the command that repeats it alone, its log.
#
# A test that fails runs once more. If it passes then, it is flaky: a defect of the test, and a failure all the same, unless
# KEYWAY_FLAKY=allow (.ci/run), which lets three of them pass in a run and lists them last.

most_flaky=3

# failure TEST LOG MESSAGE: of the layer that runs.
failure() { failures+=("$(told "$@")"); }

# told TEST LOG MESSAGE: what is said of it.
told() {
    printf '%s\n' "FAILED: $layer, $1" "$(sed 's/^/    /' <<<"$3")" \
        "  again: ./dev test $layer -- $(quoted "$1")" "  log:   $2"
}

# once_more LOG ARG…: after a run of `cargo test ARG…` that failed, its failing tests again. Fails, and has the failures
# noted, unless all of them pass.
once_more() {
    local log=$1 again=${1%.log}-again.log name names=() left=()
    shift
    mapfile -t names < <(failed_tests "$log")
    if crashed "$log" || [ ${#names[@]} = 0 ]; then
        failure "$(crashed "$log" || echo "compiling the tests")" "$log" "$(grep -m 3 -A 3 -E '^error|^Caused' "$log")"
        return 1
    fi
    if [ ${#names[@]} -le $most_flaky ]; then
        say "once more: ${names[*]}"
        with_names "$@"
        tests_run "$again" "${named[@]}" --exact "${names[@]}" || true
        mapfile -t left < <(still_failing "$again" "${names[@]}")
    else
        left=("${names[@]}")
    fi
    for name in "${left[@]}"; do failure "$name" "$log" "$(message_of "$name" "$log")"; done
    [ ${#left[@]} = 0 ] || return 1
    flaky+=("${names[@]/#/$layer, }")
    for name in "${names[@]}"; do
        flaky_failures+=("$(told "$name (failed, then passed: flaky)" "$log" "$(message_of "$name" "$log")")")
    done
}

# forgive: once all layers are counted. Those that failed and then passed have passed where that is allowed, and are
# failures elsewhere and where they are many.
forgive() {
    if [ "${KEYWAY_FLAKY:-}" = allow ] && [ ${#flaky[@]} -le $most_flaky ]; then
        failed=$((failed - ${#flaky[@]})) passed=$((passed + ${#flaky[@]}))
    else
        failures+=("${flaky_failures[@]}")
    fi
}

# failed_tests LOG: what `cargo test --quiet` lists between the second "failures:" and the result, target by target.
failed_tests() { awk '/^failures:$/ { names = 1; next } /^test result:|^----/ { names = 0 } names && /^    / { print substr($0, 5) }' "$1" | sort -u; }

# still_failing LOG NAME…: which of them have not passed in this run.
still_failing() {
    if crashed "$1" >/dev/null || passed_none "$1"; then printf '%s\n' "${@:2}"; else failed_tests "$1"; fi
}

passed_none() { ! grep -q '^test result:.* [1-9][0-9]* passed' "$1"; }

# crashed LOG: names a test program that ended without a result, as one does that is killed.
crashed() {
    awk '/^test result:/ { result = 1 }
        /^error: (doc)?test failed, to rerun pass/ { if (!result) { sub(/.*pass /, ""); print "the program of " $0; found = 1 } result = 0 }
        END { exit !found }' "$1"
}

# message_of TEST LOG: what it said from its panic on, without the stack, at most five lines. (A runner that captures
# nothing prints no heading before it.)
message_of() {
    awk -v head="---- $1 stdout ----" -v thread="thread '$1'" '
        $0 == head { own = 1; next }
        index($0, thread) == 1 && /panicked at/ { own = said = 1 }
        own && /^(stack backtrace:|note: |---- .* ----$|failures:$)/ { exit }
        own && /panicked at|^Error: / { said = 1 }
        own && said && NF && lines++ < 5 { print substr($0, 1, 300) }' "$2"
}

# The name of a test as a shell takes it.
quoted() {
    local name=${1% (failed, then passed: flaky)}
    case $name in *[!A-Za-z0-9_:.-]*) printf "'%s'" "$name" ;; *) echo "$name" ;; esac
}

# The last lines of a run.
what_failed() {
    local shown=3
    [ ${#failures[@]} = 0 ] || printf '%s\n' "" "${failures[@]:0:shown}"
    [ ${#failures[@]} -le $shown ] || echo "and $((${#failures[@]} - shown)) more: see the log"
    if [ ${#flaky[@]} -gt 0 ]; then
        say "failed, then passed: flaky. Mend these tests before anything else:"
        printf '  %s\n' "${flaky[@]}"
    fi
}
