# What each layer of tests runs. How a layer is run, counted and reported: test.sh, failures.sh.

fuzz_seconds=${KEYWAY_FUZZ_SECONDS:-6}
moto=$PWD/.cache/moto
grubs=$PWD/.cache/grub

layer_check() {
    step "format" format_check
    step "weight" weight_check
    step "packages of what tests ask for" known_packages
    have_upstream && step "commit subjects" short_subjects ||
        left_out check::commit-subjects "no branch origin/main says here which commits are new"
    step "lints" cargo clippy --quiet --release --workspace --all-targets -- -D warnings
    # What is left out of the workspace falls behind it unseen: nobody compiles it every day.
    step "lints of the benches" lint_beside bench --all-targets
    step "lints of the fuzz targets" lint_beside fuzz --bins
    step "the library's core alone" cargo clippy --quiet --release --package keyway -- -D warnings
    RUSTDOCFLAGS="-D warnings -A rustdoc::private-intra-doc-links" step "documentation" cargo doc --quiet --release --workspace --no-deps --document-private-items
    # The program's pages have the name of the library's: they go elsewhere, and nothing is compiled again for it.
    CARGO_BUILD_BUILD_DIR=$PWD/target RUSTDOCFLAGS="-D warnings -A rustdoc::private-intra-doc-links" step "documentation of the program" \
        cargo rustdoc --quiet --release --package keyway-cli --bin keyway --target-dir target/program -- --document-private-items
    cargo_test --test dependencies $(packages tests)
    advisories
}

# deny.toml's other rules are held by a test, which is compiled in seconds. The database comes from GitHub.
advisories() {
    have cargo-deny || { left_out check::advisories "cargo-deny is not installed" && return; }
    cargo deny --log-level error fetch db &>"$logs/advisories.log" &&
        step "advisories" cargo deny --log-level error check advisories ||
        left_out check::advisories "the advisory database cannot be fetched"
}

# The workspaces that are left out of this one, too.
format_check() {
    cargo fmt --all --check && for workspace in bare bench fuzz; do
        cargo fmt --manifest-path "$workspace/Cargo.toml" --check || return
    done
}

# (Continuous integration has the commits already: it is too late to give them other subjects.)
have_upstream() { [ "${CI:-}" != true ] && git merge-base --is-ancestor origin/main HEAD &>/dev/null; }

# Of the commits that origin's main lacks.
short_subjects() {
    local long
    long=$(git log --format=%s origin/main..HEAD | awk 'length > 72')
    [ -z "$long" ] || { printf 'a subject is longer than 72 characters: %s\n' "$long" && return 1; }
}

# lint_beside WORKSPACE OPTION…
lint_beside() {
    cargo clippy --quiet --release --manifest-path "$1/Cargo.toml" --workspace --target-dir "target/$1" "${@:2}" -- -D warnings
}

layer_unit() {
    local library="--package keyway --features keyway/nbd,keyway/tls,keyway/fuse,keyway/ublk,keyway/dm,keyway/keyring,keyway/predict,keyway/remote,keyway/parts"
    local name
    for name in attach boot cli format remote resolve volume; do units "$name"; done
    cargo_test --lib $library $(packages)
    # The power-cut simulator has a layer of its own.
    cargo_test --test '*' $library $(packages attach boot format resolve volume) -- --skip no_power_cut
    # (remote has units alone. Named here, tokio and all that stands on it would be compiled with the clock that these turn.)
    cargo_test --doc $library $(packages attach boot crypto format kernel measure resolve volume)
    cargo_test --lib --test harness --test rooms --test runner --test threats $(packages tests)
}

# units PACKAGE: the tests beside its code, which are a copy of the whole package. Optimised it would take a minute to compile.
units() {
    local kind=--lib
    [ "$1" != cli ] || kind=--bins
    cargo_test $kind --config "profile.release.package.keyway-$1.opt-level=0" $(packages "$1")
}

# Ciphers, modes, IVs, hashes and KDFs: published vectors, the vector code at every CPU level against the portable,
# OpenSSL and other people's crates on random input; then the sweep of every combination that exists, which prints how
# many it has checked.
layer_engine() {
    # Wrapping numbers stop these tests alone: checking would cost the program's loops.
    local checked="--config profile.release.package.keyway-crypto.overflow-checks=true"
    cargo_test $checked --lib --test '*' $(packages crypto) -- --skip every_combination_at_every_level
    ! chosen every_combination_at_every_level ||
        cargo_test $checked --test space $(packages crypto) -- --nocapture every_combination_at_every_level
    step "without the standard library" cargo check --quiet --release --package keyway-crypto --no-default-features
}

# No branch and no address depends on a secret (x86-64: valgrind's requests are written for it).
layer_ct() {
    want_packages $ct_programs
    if [ "$(uname -m)" = x86_64 ] && have valgrind; then
        step "build" cargo build --quiet --release --example constant_time $(packages tests)
        step "constant time" valgrind --quiet --error-limit=no --log-file="$logs/ct.log" \
            target/release/examples/constant_time
    else
        left_out ct::constant_time "valgrind on x86-64 is needed"
    fi
}

# What the kernel's drivers are and do; statistics against known distributions, reports under a scripted clock to the
# byte; then real runs of every suite with next to no time, their files read by other people's parsers, the page by a
# browser.
layer_measure() {
    want_packages $(need_of measure)
    units kernel
    units measure
    proofs measure
}

layer_cli() {
    want_packages $interop_programs $(need_of cli verbs unused)
    proofs cli verbs unused
}

layer_interop() {
    want_packages $interop_programs $(need_of interop)
    proofs interop
}

# TrueCrypt, VeraCrypt and BitLocker volumes of their own programs, or made from their specifications and read by those.
layer_formats() {
    want_packages $interop_programs $(need_of formats)
    proofs formats
}

# What Keyway says of GRUB beforehand, beside what grub-fstest of three Debian releases does; prints how many volumes and the predicted
# seconds beside the measured ones.
layer_oracle() {
    want_packages $oracle_programs $(need_of oracle)
    tests/grub/prepare "$grubs" || true
    build_static || layer_fails "the static build"
    export KEYWAY_BIN=$PWD/target/keyway
    KEYWAY_GRUB=$grubs cargo_test --test oracle $(packages tests) -- --nocapture --test-threads 1
}

layer_doors() {
    want_packages $interop_programs $doors_programs $(need_of doors)
    # Without it the tests of S3 leave themselves out, by name.
    tests/moto/prepare "$moto" &>"$logs/moto.log" || true
    KEYWAY_MOTO=$moto proofs doors
}

layer_faults() {
    want_packages $interop_programs $(need_of faults)
    proofs faults
}

# The power-cut simulator (KEYWAY_SLOW=1: 50,000 cuts), then both programs on the same volumes.
layer_reencrypt() {
    want_packages $interop_programs $(need_of reencrypt)
    cargo_test --test reencrypt $(packages volume) -- --nocapture
    proofs reencrypt
}

layer_vm() {
    want_packages $vm_programs $(need_of vm)
    # Package lists may be absent or out of date. Without the kernel the tests leave themselves out, by name.
    tests/vm/prepare "$vm" || { may_install && apt_get update -q && tests/vm/prepare "$vm"; } || true
    # A kernel with user-space block devices; the tests that need it say so when it cannot be had.
    tests/vm/prepare "$vm/6.12" 6.12 || true
    KEYWAY_VM=$vm proofs vm
}

# Images for boot loaders, beside the tools of those who wrote these.
layer_boot() {
    want_packages $boot_programs $(need_of boot)
    # Without the kernel the tests that need its modules leave themselves out, by name. The same for aarch64.
    tests/vm/prepare "$vm" || true
    tests/vm/prepare-aarch64 "$vm/aarch64" || { may_install && apt_get update -q && tests/vm/prepare-aarch64 "$vm/aarch64"; } || true
    # A kernel whose file systems and checksums are modules.
    tests/vm/prepare-full "$vm/full" || true
    # What is tried beside us in an image, and what makes images.
    tests/vm/prepare-packages "$vm/clevis" $clevis_packages || true
    tests/vm/prepare-packages "$vm/dracut" $dracut_packages || true
    tests/vm/prepare-packages "$vm/mdadm" $mdadm_packages || true
    # Four minutes, for its size and for images without --program.
    if [ -n "${KEYWAY_SLOW:-}" ]; then
        build_ramdisk || layer_fails "the build for ramdisks"
        export KEYWAY_RAMDISK=$PWD/target/keyway-ramdisk
    fi
    ! have aarch64-linux-gnu-gcc || step "build for aarch64" build_aarch64
    KEYWAY_VM=$vm KEYWAY_AARCH64=$PWD/target/keyway-aarch64 proofs boot
}

# Every target for $fuzz_seconds, as many at once as there are processors.
layer_fuzz() {
    local target
    step "build" fuzz/run --build
    rm -f "$logs"/fuzz-*
    fuzz_targets_chosen | xargs -P "$(nproc)" -I{} \
        bash -c "fuzz/run {} $fuzz_seconds &>$logs/fuzz-{}.log && touch $logs/fuzz-{}.ok" || true
    for target in $(fuzz_targets_chosen); do
        step "$target" ended_well "$target"
    done
}

ended_well() { [ -e "$logs/fuzz-$1.ok" ] || { tail -40 "$logs/fuzz-$1.log" && return 1; }; }

fuzz_targets_chosen() { fuzz_targets | while read -r target; do ! chosen "$target" || echo "$target"; done; }

fuzz_targets() { sed -n '/^\[\[bin\]\]/,/^$/s/^name = "\(.*\)"/\1/p' fuzz/Cargo.toml; }

# fuzz TARGET [SECONDS]
fuzz() {
    want_rust
    [ $# -gt 0 ] || { fuzz_targets && return; }
    fuzz/run "$1" "${2:-60}"
}
