# The release: one static binary, which runs on any Linux of its architecture.

# build [ramdisk] [aarch64]: for this machine, or for aarch64 wherever this is; the whole program, or what ramdisks need of it.
build() {
    case "$*" in
        '') build_static && built target/keyway && echo "$(packages_of_program | wc -l) packages" ;;
        aarch64) build_aarch64 && built target/keyway-aarch64 ;;
        ramdisk) build_ramdisk && built target/keyway-ramdisk ;;
        "ramdisk aarch64" | "aarch64 ramdisk") build_aarch64 ramdisk && built target/keyway-ramdisk-aarch64 ;;
        *) fail "no such program: $* (there are: nothing, ramdisk, aarch64, ramdisk aarch64)" ;;
    esac
}

built() { echo "$1: $(stat -Lc %s "$1") bytes, static"; }

# packages_of_program: the program's packages on x86_64 Linux, each version, macros and the workspace's own included.
packages_of_program() {
    cargo tree --locked --package keyway-cli --edges normal --prefix none --target x86_64-unknown-linux-gnu --format '{p}' |
        awk '{ print $1, $2 }' | sort -u
}

# More than these are too many: see "What the program weighs" in CONTRIBUTING.md.
most_packages=150

weight_check() {
    local count
    count=$(packages_of_program | wc -l)
    [ "$count" -gt 0 ] && [ "$count" -le $most_packages ] || { echo "the program has $count packages, at most $most_packages" && false; }
}

# With the glibc target of this machine.
build_static() { static_for_this_machine release && place release/keyway keyway; }

# Beside the whole program, which puts it into the images it makes.
build_ramdisk() { static_for_this_machine $ramdisk && place ramdisk/keyway keyway-ramdisk; }

# static_for_this_machine PROFILE [OPTION…]. Only the program itself is told to be static: its libraries are the same either
# way, and the tests, compiled with the same profile, take them as they are.
static_for_this_machine() {
    want_packages cc
    want_rust
    cargo rustc --quiet --package keyway-cli --bin keyway --profile "$@" -- -C target-feature=+crt-static $(only_once "$1") \
        $(packed_pointers)
}

# only_once PROFILE: flags for the program's own crate, which is compiled last and alone. Optimizing
# it once more across its units takes as long as all the rest of it. Sectors and KDFs are the work of
# the libraries: it is made small. (Its package gets no profile of its own: cargo would leave the
# symbols in.)
only_once() { [ "$1" != release ] || echo "-C lto=off -C opt-level=s"; }

# A program that can lie anywhere in memory relocates 20,000 pointers when it starts. Packed, their
# table is half a megabyte smaller; the C library that is linked in has to read it (glibc 2.36).
packed_pointers() {
    local version
    version=$(getconf GNU_LIBC_VERSION 2>/dev/null) || return 0
    [ "$(printf '%s\n' 2.36 "${version#* }" | sort -V | head -n 1)" != 2.36 ] ||
        echo "-C link-arg=-Wl,-z,pack-relative-relocs"
}

# Its profile, and what it goes without.
ramdisk="ramdisk --no-default-features"

# place BUILT NAME: cargo may put another program where this one is now. (Whoever runs it meanwhile has a whole one.)
place() { cmp -s "target/$1" "target/$2" || { install "target/$1" "target/$2.$BASHPID" && mv -f "target/$2.$BASHPID" "target/$2"; }; }

# With the musl target: its C library comes with Rust's, and Rust's own linker links it, so that of the other architecture
# nothing has to be installed but a compiler, for ring's C. (musl's allocator, slower than glibc's, is not on the way of
# any sector or KDF.)
build_aarch64() {
    local name=keyway-aarch64 profile=release
    [ "${1:-}" != ramdisk ] || { name=keyway-ramdisk-aarch64 profile=$ramdisk; }
    case $(rust_host) in
        aarch64-*) "build_${1:-static}" && place "${name%-aarch64}" "$name" && return ;;
    esac
    want_packages aarch64-linux-gnu-gcc
    want_rust
    want_target $aarch64_linux
    with_rust_lld cargo rustc --quiet --package keyway-cli --bin keyway --target $aarch64_linux --profile $profile -- \
        $(only_once ${profile%% *})
    place "$aarch64_linux/${profile%% *}/keyway" "$name"
}

# with_rust_lld COMMAND….
with_rust_lld() { env "${rust_lld[@]}" "$@"; }

# Wherever something is built for aarch64 it is built with these, or libraries are compiled twice. (rustc does not tell
# rust-lld of the profile's strip.)
rust_lld=(CARGO_TARGET_AARCH64_UNKNOWN_LINUX_MUSL_LINKER=rust-lld
    CC_aarch64_unknown_linux_musl="${CC_aarch64_unknown_linux_musl:-aarch64-linux-gnu-gcc}"
    CARGO_TARGET_AARCH64_UNKNOWN_LINUX_MUSL_RUSTFLAGS="-C link-arg=--strip-all")

rust_host() { rustc -vV | sed -n 's/^host: //p'; }

aarch64_linux=aarch64-unknown-linux-musl
