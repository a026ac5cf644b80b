# ./dev mutants: whether the tests notice when a guard breaks. cargo-mutants changes one operator or function body at a
# time; each such mutant must make a test fail, or stand in a table with the reason why it cannot matter.

guards=tests/mutants/guards.tsv
harmless=tests/mutants/harmless.tsv
mutants_at=$PWD/target/mutants

# mutants [FILE…]: every guard of the table, or these files (one that is not in it is run with its own package's unit tests).
mutants() {
    local tests files unexpected=0
    want_rust
    have cargo-mutants || cargo install --quiet --locked cargo-mutants || fail "cargo-mutants cannot be installed"
    copy_for_mutants
    rm -rf "$mutants_at/outcomes" && mkdir -p "$mutants_at/outcomes"
    # One run for all files that have the same tests: what these need is built and tried without a mutant once.
    mutants_plan "$@" >"$mutants_at/plan" || exit
    cut -f2- "$mutants_at/plan" | sort -u >"$mutants_at/tests"
    while IFS= read -r tests <&3; do
        mapfile -t files < <(awk -F'\t' -v tests="$tests" '$2 "\t" $3 == tests { print $1 }' "$mutants_at/plan")
        mutants_of "$tests" "${files[@]}"
    done 3<"$mutants_at/tests"
    mutants_report
    [ $unexpected = 0 ] || fail "$unexpected mutants survive: a test must notice them, or $harmless say why they cannot matter"
}

# Mutants live in a copy, so that nothing happens to this tree whatever interrupts them. The copy stays, as do its builds: only
# what has changed is written, and compiled, again.
copy_for_mutants() {
    local tree
    mkdir -p "$mutants_at/tree"
    tree=$(export GIT_INDEX_FILE=$mutants_at/index.here && git add --all && git write-tree) || fail "mutants need a git checkout"
    GIT_INDEX_FILE=$mutants_at/index.copy git --work-tree="$mutants_at/tree" read-tree --reset -u "$tree"
}

# Lines of the table for the files named: file, packages, arguments.
mutants_plan() {
    local file
    [ $# -gt 0 ] || { guard_rows && return; }
    for file; do
        file=${file#"$PWD"/} file=${file#./}
        [ -e "$file" ] || fail "no such file: $file"
        guard_rows | grep "^$file"$'\t' || own_unit_tests "$file"
    done
}

guard_rows() { grep -v '^#' "$guards"; }

own_unit_tests() {
    case $1 in
        crates/cli/*) printf '%s\t%s\t%s\n' "$1" keyway-cli --bins ;;
        crates/*) printf '%s\t%s\t%s\n' "$1" "keyway-$(cut -d/ -f2 <<<"$1")" --lib ;;
        *) fail "only what is in crates/ has mutants: $1" ;;
    esac
}

# mutants_of TESTS FILE…: one run; leaves FILE's outcomes as lines of $mutants_at/outcomes/{caught,missed,timeout,unviable}.
mutants_of() {
    local tests=$1 file packages word outcome status=0 files=() baseline=() builds=() runs=() whose=cargo
    packages=$(cut -f1 <<<"$tests")
    for word in $(cut -f2- <<<"$tests" | sed 's/--test /--test=/g'); do
        # Targets and features hold for the builds too: others need not be built, and none must fail for want of a feature.
        case $whose$word in
            cargo--) whose=test ;;&
            cargo--?*) builds+=("--cargo-arg=$word") ;;
            *) runs+=("$word") ;;
        esac
    done
    # Without a mutant, cargo-mutants would try only the package that the file is in.
    if [[ $packages == *,* ]]; then
        unmutated "${packages//,/ }" "$(cut -f2- <<<"$tests")" || fail "the tests of ${*:2} fail without a mutant"
        baseline=(--baseline skip --timeout 300)
    fi
    for file in "${@:2}"; do files+=(--file "$file"); done
    say "-- ${*:2}"
    # The tests build the program themselves, mutated, if they need it; machines are this tree's (`./dev test vm` fetches
    # them). (An error of 2 or 3 is survivors or timeouts.)
    env -u KEYWAY_BIN KEYWAY_VM="$vm" CARGO_TARGET_DIR="$mutants_at/build" cargo mutants --dir "$mutants_at/tree" --in-place --no-config \
        --output "$mutants_at" --colors never --minimum-test-timeout 60 "${baseline[@]}" "${files[@]}" "${builds[@]}" \
        --test-package "$packages" -- "${runs[@]}" || status=$?
    case $status in
        0 | 2 | 3) ;;
        *) fail "cargo mutants ended with $status (see $mutants_at/mutants.out/log)" ;;
    esac
    for outcome in caught missed timeout unviable; do
        cat "$mutants_at/mutants.out/$outcome.txt" >>"$mutants_at/outcomes/$outcome"
    done
}

# unmutated PACKAGES ARGUMENTS: whether the tests pass as the tree is.
unmutated() {
    (cd "$mutants_at/tree" && env -u KEYWAY_BIN KEYWAY_VM="$vm" CARGO_TARGET_DIR="$mutants_at/build" \
        cargo test --quiet $(printf -- '-p %s ' $1) $2)
}

# A table, then survivors that are not expected and those expected that did not survive. Sets `unexpected`.
mutants_report() {
    local file
    echo
    printf '%-58s %7s %7s %8s %9s\n' "" mutants caught unviable survivors
    while read -r file _; do mutants_row "$file" "^$file:"; done <"$mutants_at/plan"
    mutants_row total ''
    # Lines and columns move, descriptions do not: "file: description".
    sed -E 's/^([^:]*):[0-9]+:[0-9]+: /\1\t/' "$mutants_at/outcomes/missed" | sort >"$mutants_at/survivors"
    awk -F'\t' 'NR == FNR { ran[$1]; next } !/^#/ && $1 in ran { print $1 "\t" $2 }' "$mutants_at/plan" "$harmless" |
        sort >"$mutants_at/expected"
    comm -13 "$mutants_at/survivors" "$mutants_at/expected" | sed 's/^/in the table, but caught or gone: /'
    comm -23 "$mutants_at/survivors" "$mutants_at/expected" | sed "s/.*/${red}survives: &$plain/"
    unexpected=$(comm -23 "$mutants_at/survivors" "$mutants_at/expected" | wc -l)
}

# mutants_row NAME PATTERN. A mutant that keeps its tests from ending was noticed.
mutants_row() {
    local outcome count=()
    for outcome in caught timeout unviable missed; do
        count+=("$(grep -c "$2" "$mutants_at/outcomes/$outcome" || true)")
    done
    printf '%-58s %7d %7d %8d %9d\n' "$1" $((count[0] + count[1] + count[2] + count[3])) $((count[0] + count[1])) \
        "${count[2]}" "${count[3]}"
}
