# The release: one static binary, which runs on any Linux of its architecture.

# build [aarch64]: for this machine, or for aarch64 wherever this is.
build() {
    case "${1:-}" in
        '') build_static && built target/keyway ;;
        aarch64) build_aarch64 && built target/keyway-aarch64 ;;
        *) fail "no such architecture: $1 (there is: aarch64, or nothing for this machine's)" ;;
    esac
}

built() { echo "$1: $(stat -Lc %s "$1") bytes, static"; }

# With the glibc target of this machine.
build_static() {
    want_packages cc
    want_rust
    local host
    host=$(rust_host)
    # Naming the target keeps the flag away from build scripts and procedural macros, which cannot be static.
    RUSTFLAGS="-C target-feature=+crt-static" cargo build --quiet --release --package keyway --target "$host"
    ln -sfn "$host/release/keyway" target/keyway
}

# With the musl target: its C library comes with Rust's, and Rust's own linker links it, so that of the other architecture
# nothing has to be installed but a compiler, for ring's C. (musl's allocator, slower than glibc's, is not on the way of
# any sector or KDF.)
build_aarch64() {
    case $(rust_host) in
        aarch64-*) build_static && ln -sfn keyway target/keyway-aarch64 && return ;;
    esac
    want_packages aarch64-linux-gnu-gcc
    want_rust
    want_target $aarch64_linux
    with_rust_lld cargo build --quiet --release --package keyway --target $aarch64_linux
    ln -sfn $aarch64_linux/release/keyway target/keyway-aarch64
}

# with_rust_lld COMMAND…. (rustc does not tell rust-lld of the profile's strip.)
with_rust_lld() {
    env CARGO_TARGET_AARCH64_UNKNOWN_LINUX_MUSL_LINKER=rust-lld \
        CC_aarch64_unknown_linux_musl="${CC_aarch64_unknown_linux_musl:-aarch64-linux-gnu-gcc}" \
        CARGO_TARGET_AARCH64_UNKNOWN_LINUX_MUSL_RUSTFLAGS="-C link-arg=--strip-all" "$@"
}

rust_host() { rustc -vV | sed -n 's/^host: //p'; }

aarch64_linux=aarch64-unknown-linux-musl
