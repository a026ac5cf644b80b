# The release: one static binary of the glibc target, which runs on any Linux of its architecture.

build_static() {
    want_packages cc
    want_rust
    local host
    host=$(rustc -vV | sed -n 's/^host: //p')
    # Naming the target keeps the flag away from build scripts and procedural macros, which cannot be static.
    RUSTFLAGS="-C target-feature=+crt-static" cargo build --quiet --release --package keyway --target "$host"
    ln -sfn "$host/release/keyway" target/keyway
}
