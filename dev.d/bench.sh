# ./dev bench: measurements beside other people's code. Never part of the tests.

# bench NAME [OPTION…]; options of `peers`: --only TEXT, --mib SIZE, --csv FILE.
bench() {
    case "$1" in
        peers) ;;
        *) fail "no such benchmark: $1 (there is: peers)" ;;
    esac
    want_packages $bench_programs
    build_static
    machine
    # aws-lc assembles for its own target; nothing of it reaches the binary.
    cargo build --quiet --release --manifest-path bench/Cargo.toml --target-dir target/bench
    # Volumes of gigabytes in memory must not outlive an interrupted run.
    KEYWAY_SCRATCH=$(mktemp -d /dev/shm/keyway-bench.XXXXXX)
    export KEYWAY_SCRATCH
    trap 'rm -rf "$KEYWAY_SCRATCH"' EXIT
    KEYWAY_BIN=$PWD/target/keyway target/bench/release/keyway-bench "${@:2}"
}

# What the figures belong to.
machine() {
    echo "$(date -u +%F) $(git describe --always --dirty), $(nproc) × $(sed -n 's/^model name.*: //p' /proc/cpuinfo | head -1)"
    echo "load average before the run: $(cut -d' ' -f1-3 /proc/loadavg)"
    rustc --version
    ! have cryptsetup || cryptsetup --version
}
