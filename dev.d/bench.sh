# ./dev bench: measurements beside other people's code. Never part of the tests.

# bench NAME [OPTION…]; options: --only TEXT, --csv FILE; of `engine` and `boot` also --rounds N, of `peers`, `doors`, `formats`, `reencrypt` and `storage` --mib SIZE;
# of `doors` --beside PROGRAM: another build of keyway, which is to be no better by more than 2 %.
bench() {
    case "$1" in
        aarch64) bench_aarch64; return ;;
        predictions) build_static; machine; bench_predictions; return ;;
        grub) bench_grub; return ;;
        calibrations) build_static; machine; bench_calibrations; return ;;
        kernel-door | boot) bench_in_machine "$@"; return ;;
        engine) want_packages $engine_programs ;;
        peers | doors | formats | reencrypt | storage)
            case "$1" in
                doors) want_packages $doors_bench_programs ;;
                formats) want_packages cryptsetup dislocker-file ;;
                *) want_packages $bench_programs ;;
            esac
            build_static
            # Volumes of gigabytes in memory must not outlive an interrupted run.
            KEYWAY_SCRATCH=$(mktemp -d /dev/shm/keyway-bench.XXXXXX)
            KEYWAY_DISK=$(mktemp -d target/bench-disk.XXXXXX)
            export KEYWAY_SCRATCH KEYWAY_DISK
            trap 'rm -rf "$KEYWAY_SCRATCH" "$KEYWAY_DISK"' EXIT
            ;;
        *) fail "no such benchmark: $1 (there are: aarch64, boot, calibrations, doors, engine, formats, grub, kernel-door, peers, predictions, reencrypt, storage)" ;;
    esac
    case "$1" in engine | peers) bench_peers "$1" ;; esac
    cargo build --quiet --release --manifest-path bench/Cargo.toml --target-dir target/bench
    machine
    KEYWAY_PEERS=$PWD/target/peers KEYWAY_BIN=$PWD/target/keyway target/bench/release/keyway-bench "$@"
}

# The peers that are compiled here, as shared libraries in target/peers; nothing of them reaches the binary. The crates are
# built twice, because the compiler's knowledge of this CPU helps some of them and harms others. OpenSSL 4 is made once.
bench_peers() {
    mkdir -p target/peers
    bench_crates native "-C target-cpu=native" --features aws-lc
    [ "$1" = engine ] || return 0
    bench_crates any_cpu ""
    [ ! -e target/peers/libcrypto4.so ] || return 0
    say "building OpenSSL 4 (some minutes, once)"
    cargo run --quiet --release --manifest-path bench/Cargo.toml -p openssl4 --target-dir target/bench -- target/peers \
        >"$logs/openssl4.log" 2>&1 || say "without OpenSSL 4: it did not build, see $logs/openssl4.log"
}

# bench_crates NAME RUSTFLAGS [OPTION…]
bench_crates() {
    RUSTFLAGS="$2 --cfg chacha20_avx512" cargo build --quiet --release --manifest-path bench/Cargo.toml \
        -p keyway-bench-peers --target-dir "target/bench/$1" "${@:3}" &&
        cp "target/bench/$1/release/libcrates_io.so" "target/peers/libcrates_$1.so" ||
        say "without crates ($1): they did not build"
}

# How long dm-crypt takes to open a volume, or a machine to unlock at boot, in the machine of the tests.
bench_in_machine() {
    want_packages $vm_programs $(need_of vm)
    tests/vm/prepare "$vm"
    build_static
    machine
    cargo build --quiet --release --example "${1/-/_}" $(packages tests)
    KEYWAY_VM=$vm KEYWAY_BIN=$PWD/target/keyway "target/release/examples/${1/-/_}" "${@:2}"
}

# What the figures belong to.
machine() {
    echo "$(date -u +%F) $(git describe --always --dirty), $(nproc) × $(sed -n 's/^model name.*: //p' /proc/cpuinfo | head -1)"
    echo "load average before the run: $(cut -d' ' -f1-3 /proc/loadavg)"
    rustc --version
    ! have cryptsetup || cryptsetup --version
}
