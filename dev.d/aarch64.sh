# ./dev test aarch64: the aarch64 build, run by QEMU's user-mode emulation on a machine of any architecture.
#
# Two cores are emulated. "max" has every extension that QEMU knows. "cortex-a53" is the Raspberry Pi 3's: QEMU's model
# of it has ARM's optional cryptography extensions, which the Pi's does not, and no option takes them away. They are one
# constant, the value of the register ID_AA64ISAR0_EL1 (Arm, Cortex-A53 TRM, section 4.2): a copy of the emulator
# with another constant reports no AES, PMULL, SHA1 and SHA2, and takes their instructions for illegal ones.

cores="cortex-a53 max"
cores_at=$PWD/target/aarch64

layer_aarch64() {
    case $(rust_host) in
        aarch64-*) left_out aarch64 "this machine is one: the other layers test it" && return ;;
    esac
    want_packages $aarch64_programs $interop_programs
    have qemu-aarch64-static || { left_out aarch64 "qemu-aarch64-static is not installed" && return; }
    step "build for aarch64" build_aarch64
    step "build for this machine" build_static
    local core
    for core in $cores; do
        say "-- $core"
        emulate "$core" || { left_out "aarch64::$core" "this QEMU's cryptography extensions could not be taken away" && continue; }
        emulated_tests "$core"
    done
}

# Units in the emulator, and proofs with real programs whose keyway is the emulated one.
emulated_tests() {
    export PROPTEST_CASES=${PROPTEST_CASES:-16} KEYWAY_EMULATED=$1
    export CARGO_TARGET_AARCH64_UNKNOWN_LINUX_MUSL_LINKER=rust-lld CARGO_TARGET_AARCH64_UNKNOWN_LINUX_MUSL_RUNNER=$cores_at/$1/run
    cargo_test --target $aarch64_linux --package keyway-crypto --package keyway-format --lib --tests
    cargo_test --target $aarch64_linux --package keyway-volume --test unlock
    export KEYWAY_BIN=$PWD/target/keyway KEYWAY_EMULATED_BIN=$cores_at/$1/keyway
    cargo_test --package keyway-tests --test aarch64
    unset PROPTEST_CASES KEYWAY_EMULATED
}

# emulate CORE: writes the programs `run` (any aarch64 program) and `keyway`. Fails when they would not be that core.
emulate() {
    local at=$cores_at/$1 emulator
    emulator=$(command -v qemu-aarch64-static)
    mkdir -p "$at"
    if [ "$1" = cortex-a53 ]; then
        without_cryptography <"$emulator" >"$at/emulator"
        chmod +x "$at/emulator"
        emulator=$at/emulator
    fi
    printf '#!/bin/sh\nexec "%s" -cpu %s "$@"\n' "$emulator" "$1" >"$at/run"
    printf '#!/bin/sh\nexec "%s/run" "%s/target/keyway-aarch64" "$@"\n' "$at" "$PWD" >"$at/keyway"
    chmod +x "$at/run" "$at/keyway"
    is_core "$1"
}

# x86-64's MOV of the 32-bit constant 0x11120 to a field of the CPU's state: AES, PMULL, SHA1, SHA2 and CRC32. Left: CRC32.
without_cryptography() {
    LC_ALL=C perl -0777 -pe 's/(\x48\xc7[\x80-\x87]....)\x20\x11\x01\x00/$1\x00\x00\x01\x00/gs'
}

# Whether an AES instruction ends a program on cortex-a53 (and on no other core).
is_core() {
    local probe=$cores_at/aes_instruction status=0
    with_rust_lld rustc -O --edition 2024 --target $aarch64_linux -C linker=rust-lld -o "$probe" tests/aarch64/aes_instruction.rs
    ("$cores_at/$1/run" "$probe" || exit) &>"$logs/aes_instruction.log" || status=$?
    case $1 in
        cortex-a53) [ $status = $((128 + 4)) ] ;;
        *) [ $status = 0 ] ;;
    esac
}
