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
    step "lints for aarch64" with_rust_lld cargo clippy --quiet --release --target $aarch64_linux --package keyway-crypto --all-targets -- -D warnings
    step "bare x86-64" compiled_for_bare x86_64-unknown-none
    if have qemu-system-aarch64; then
        step "bare aarch64" bare_metal
    else
        left_out aarch64::bare-metal "qemu-system-aarch64 is not installed"
    fi
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
    export "${rust_lld[@]}" CARGO_TARGET_AARCH64_UNKNOWN_LINUX_MUSL_RUNNER=$cores_at/$1/run
    # (Not the sweep of all combinations: that is minutes long even without an emulator.)
    cargo_test --target $aarch64_linux --lib --test sectors --test cascades --test kernel $(packages crypto)
    cargo_test --target $aarch64_linux --lib --test '*' $(packages format)
    cargo_test --target $aarch64_linux --test unlock $(packages volume)
    export KEYWAY_BIN=$PWD/target/keyway KEYWAY_EMULATED_BIN=$cores_at/$1/keyway
    cargo_test --test aarch64 $(packages tests)
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
    with_rust_lld rustc -O --edition 2024 --target $aarch64_linux -C linker=rust-lld -o "$probe" tests/aarch64/sys/aes_instruction.rs
    ("$cores_at/$1/run" "$probe" || exit) &>"$logs/aes_instruction.log" || status=$?
    case $1 in
        cortex-a53) [ $status = $((128 + 4)) ] ;;
        *) [ $status = 0 ] ;;
    esac
}

# ./dev bench aarch64: instructions a byte on a core without cryptography extensions, which stand in for its speed. The
# emulator runs one instruction at a time and names each; two runs over different amounts differ by the work alone.
bench_aarch64() {
    case $(rust_host) in
        aarch64-*) fail "this counts in the emulator of an aarch64 core on another machine" ;;
    esac
    want_packages $aarch64_programs
    have qemu-aarch64-static || fail "qemu-aarch64-static is not installed"
    want_rust
    want_target $aarch64_linux
    emulate cortex-a53 || fail "this QEMU's cryptography extensions could not be taken away"
    with_rust_lld cargo build --quiet --release --target $aarch64_linux --package keyway-crypto --example one_run
    local spec bits aes count one_run=target/$aarch64_linux/release/examples/one_run
    echo "Instructions on a Cortex-A53 without cryptography extensions, $("$cores_at/cortex-a53/run" "$one_run")"
    printf '%-32s %5s %10s %9s %13s\n' "4096-byte sectors" bits a-sector a-byte "AES-256-XTS ÷"
    aes=$(a_sector aes-xts-plain64 512)
    while read -r spec bits; do
        count=$(a_sector "$spec" "$bits")
        printf '%-32s %5s %10s %9s %13s\n' "$spec" "$bits" "$count" "$(hundredths $((100 * count / 4096)))" \
            "$(hundredths $((100 * aes / count)))"
    done <<'CASES'
aes-xts-plain64 512
aes-xts-plain64 256
aes-cbc-essiv:sha256 256
xchacha12,aes-adiantum-plain64 256
xchacha20,aes-adiantum-plain64 256
serpent-xts-plain64 512
twofish-xts-plain64 512
camellia-xts-plain64 512
CASES
    printf '\n%-32s %5s %10s\n' "PBKDF2" bits an-iteration
    while read -r spec bits; do
        printf '%-32s %5s %10s\n' "$spec" "$bits" "$((($(instructions pbkdf2 "$spec" "$bits" 300) - $(instructions pbkdf2 "$spec" "$bits" 100)) / 200))"
    done <<'CASES'
sha1 512
sha256 512
sha512 512
CASES
}

# Of encrypting one 4096-byte sector among several.
a_sector() { echo $((($(instructions "$1" "$2" 4096 40) - $(instructions "$1" "$2" 4096 8)) / 32)); }

# All that one run takes, its start included. (QEMU 8.1 has another name for running instructions singly.)
instructions() {
    local singly=-singlestep
    "$cores_at/cortex-a53/emulator" -help | grep -q one-insn-per-tb && singly=-one-insn-per-tb
    "$cores_at/cortex-a53/emulator" -cpu cortex-a53 $singly -d exec,nochain "$one_run" "$@" 2>&1 >/dev/null | grep -c '^Trace'
}

hundredths() { printf '%d.%02d' $(($1 / 100)) $(($1 % 100)); }

# A program without an operating system and without an allocator unlocks a volume of Keyway's and one of cryptsetup's on
# QEMU's aarch64 board, and refuses another passphrase.
bare_metal() {
    local at=$cores_at/bare passphrase="correct horse battery staple"
    mkdir -p "$at"
    printf '%s' "$passphrase" >"$at/key"
    { echo "the first sector, $(date +%s%N)" && head -c 1M /dev/urandom; } | head -c 1M >"$at/plain"
    rm -f "$at"/*.luks
    target/keyway build -q --type luks1 -h sha1 --pbkdf-force-iterations 2000 -d "$at/key" "$at/plain" "$at/luks1.luks" &&
        bare_luks2 "$at" && bare_program "$at" || return
    timeout 60 qemu-system-aarch64 -M virt -cpu cortex-a53 -m 256 -display none -serial stdio -monitor none -no-reboot \
        -kernel "$at/target/aarch64-unknown-none/release/keyway-bare" </dev/null | tee "$at/console" || return
    diff -a "$at/console" - <<EXPECTED
LUKS1: wrong passphrase
LUKS1: $(head -1 "$at/plain")
LUKS2: wrong passphrase
LUKS2: $(head -1 "$at/plain")
EXPECTED
}

# The header is cryptsetup's where there is one; sectors are written by Keyway.
bare_luks2() {
    local options="--type luks2 --pbkdf argon2id --pbkdf-force-iterations 4 --pbkdf-memory 1024 --pbkdf-parallel 2 --sector-size 4096"
    have cryptsetup || { target/keyway build -q $options -d "$1/key" "$1/plain" "$1/luks2.luks" && return; }
    truncate -s 20M "$1/luks2.luks" &&
        PATH=$PATH:/usr/sbin:/sbin cryptsetup luksFormat -q $options "$1/luks2.luks" "$1/key" &&
        target/keyway write -d "$1/key" "$1/luks2.luks" "$1/plain"
}

bare_program() {
    want_target aarch64-unknown-none
    BARE_LUKS1=$1/luks1.luks BARE_LUKS2=$1/luks2.luks cargo build --quiet --release --manifest-path bare/Cargo.toml \
        --target aarch64-unknown-none --target-dir "$1/target"
}

# The same libraries for a machine that has no such program here.
compiled_for_bare() {
    want_target "$1"
    cargo build --quiet --release --package keyway-crypto --package keyway-format --no-default-features --target "$1"
}
