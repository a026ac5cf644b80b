# ./dev bench: measurements beside other people's code. Never part of the tests.

# bench NAME [OPTION…]; options: --only TEXT, --csv FILE; of `engine` also --rounds N, of `peers` --mib SIZE.
bench() {
    case "$1" in
        engine) want_packages $engine_programs ;;
        peers)
            want_packages $bench_programs
            build_static
            # Volumes of gigabytes in memory must not outlive an interrupted run.
            KEYWAY_SCRATCH=$(mktemp -d /dev/shm/keyway-bench.XXXXXX)
            export KEYWAY_SCRATCH
            trap 'rm -rf "$KEYWAY_SCRATCH"' EXIT
            ;;
        *) fail "no such benchmark: $1 (there are: engine, peers)" ;;
    esac
    bench_peers "$1"
    cargo build --quiet --release --manifest-path bench/Cargo.toml --target-dir target/bench
    machine
    KEYWAY_PEERS=$PWD/target/peers KEYWAY_BIN=$PWD/target/keyway target/bench/release/keyway-bench "$@"
}

# The peers that are compiled here, as shared libraries in target/peers: crates (with the flags that their directory names)
# and, for the engine's table, OpenSSL 4. Both are made once; nothing of them reaches the binary.
bench_peers() {
    mkdir -p target/peers
    local target=$PWD/target/bench
    (cd bench/peers && cargo build --quiet --release --target-dir "$target") &&
        cp "$target/release/libcrates_io.so" target/peers/ || say "without the crates: they did not build"
    [ "$1" = engine ] && [ ! -e target/peers/libcrypto4.so ] || return 0
    say "building OpenSSL 4 (some minutes, once)"
    cargo run --quiet --release --manifest-path bench/Cargo.toml -p openssl4 --target-dir "$target" -- target/peers \
        >"$logs/openssl4.log" 2>&1 || say "without OpenSSL 4: it did not build, see $logs/openssl4.log"
}

# What the figures belong to.
machine() {
    echo "$(date -u +%F) $(git describe --always --dirty), $(nproc) × $(sed -n 's/^model name.*: //p' /proc/cpuinfo | head -1)"
    echo "load average before the run: $(cut -d' ' -f1-3 /proc/loadavg)"
    rustc --version
    ! have cryptsetup || cryptsetup --version
}
