# ./dev ci: what continuous integration does, here.

# ci: a fresh clone of HEAD in a folder of its own, .ci/run in it. The clone goes when it has passed.
# ci --since COMMIT: here, the layers that the changes since then can touch.
ci() {
    case "${1:-}" in
        '') ci_in_a_clone ;;
        --since) [ $# = 2 ] || fail "--since takes a commit"; ci_since "$2" ;;
        *) fail "unknown option: $1 (there is: --since COMMIT)" ;;
    esac
}

ci_in_a_clone() {
    local clone=$PWD/target/ci
    [ -z "$(git status --porcelain)" ] || say "what is not committed is not in it"
    rm -rf "$clone"
    git clone --quiet --no-hardlinks . "$clone"
    # Its origin is this one, whose main has the very commits: what is new is what this one's origin lacks.
    git rev-parse --quiet --verify origin/main &>/dev/null &&
        git -C "$clone" update-ref refs/remotes/origin/main "$(git rev-parse origin/main)" ||
        git -C "$clone" update-ref -d refs/remotes/origin/main
    "$clone/.ci/run" || fail "it is in $clone"
    compiled_again "$clone/target/release/.fingerprint"
    rm -rf "$clone"
}

# compiled_again FINGERPRINTS: names our libraries that were compiled more than once, for packages that ask for other features of
# what these stand on (Cargo.toml, workspace.dependencies). For the overflow checks of `engine` keyway-crypto has to be.
compiled_again() {
    local again
    again=$(cd "$1" && ls -d keyway*/lib-*.json | sed 's/-[0-9a-f]*\/.*//' | sort | uniq -c | awk '$1 > 1 { print $2 " " $1 " times" }' | paste -sd,)
    [ -z "$again" ] || say "compiled more than once: $again"
}

ci_since() {
    local layers
    git rev-parse --quiet --verify "$1^{commit}" >/dev/null || fail "no such commit: $1"
    layers=$(git diff --name-only "$1" | layers_of | sort -u)
    layers=$(for layer in $all_layers; do ! grep -qx "$layer" <<<"$layers" || echo "$layer"; done)
    [ -n "$layers" ] || { say "nothing that a test looks at has changed since $1" && return; }
    say "changed since $1: $(echo $layers)"
    run_layers $layers
}

# layers_of: of the files on standard input, by the first row below that fits. What none fits touches everything.
layers_of() {
    local file pattern layers
    while read -r file; do
        while read -r pattern layers; do
            [[ $file != $pattern ]] || break
        done <<<"$touches"
        echo ${layers/all/$all_layers} | tr ' ' '\n'
    done
}

# A pattern of paths, and the layers that look at it. (A crate's own tests are in unit, whatever uses it in others.)
touches="results/*
LICENSE*
*.md check unit cli
docs/* check unit cli measure
tests/tests/cli/* check cli
tests/tests/verbs/* check cli
tests/tests/measure/* check measure
tests/tests/interop/* check interop
tests/tests/formats/* check formats
tests/tests/oracle/* check oracle
tests/tests/doors/* check doors
tests/tests/faults/* check faults
tests/tests/reencrypt/* check reencrypt
tests/tests/vm/* check vm
tests/tests/boot/* check boot
tests/tests/*.rs check unit cli aarch64
tests/vm/* vm boot
tests/grub/* oracle
tests/moto/* doors
tests/aarch64/* aarch64
tests/mutants/* check
fuzz/* check fuzz
bench/* check
bare/* check aarch64
deny.toml check
crates/crypto/* all
crates/format/* check unit measure cli interop formats oracle doors faults reencrypt aarch64 vm boot fuzz
crates/volume/* check unit measure cli interop formats oracle doors faults reencrypt aarch64 vm boot fuzz
crates/resolve/* check unit doors fuzz
crates/remote/* check unit cli doors fuzz
crates/attach/* check unit cli interop doors reencrypt vm fuzz
crates/kernel/* check unit measure cli vm
crates/measure/* check unit measure cli vm
crates/boot/* check unit cli oracle vm boot fuzz
crates/keyway/* check unit cli
crates/cli/* check unit measure cli interop formats oracle doors faults reencrypt aarch64 vm boot
* all"
