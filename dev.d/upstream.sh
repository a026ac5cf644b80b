# ./dev upstream: cryptsetup's own test suite, with Keyway as its cryptsetup, in QEMU. Not among the layers of tests: on an emulated
# processor it takes hours. KEYWAY_LIMIT: how many seconds a script may take (3600).

upstream=$PWD/.cache/upstream

# Those of its scripts that call cryptsetup. (Others test veritysetup, integritysetup, the C library, plug-ins and disks with OPAL.)
upstream_suite="compat-args-test compat-test compat-test2 luks1-compat-test luks2-validation-test luks2-reencryption-test
    luks2-reencryption-mangle-test reencryption-compat-test align-test align-test2 device-test discards-test mode-test password-hash-test
    keyring-compat-test loopaes-test tcrypt-compat-test bitlk-compat-test fvault2-compat-test"

# upstream [SCRIPT…]: fails if a line fails that tests/upstream/differences.tsv does not list.
upstream() {
    local script log=$logs/upstream.log good=true
    [ $# -gt 0 ] || set -- $upstream_suite
    want_packages $upstream_programs
    build_static
    tests/vm/prepare-full "$vm/full"
    tests/upstream/prepare "$upstream" "$vm/full" || fail "cryptsetup's test suite cannot be fetched or packed"
    mkdir -p "$upstream/program" && install target/keyway "$upstream/program/keyway"
    cat "$upstream/initramfs.cpio.gz" <(cd "$upstream/program" && echo keyway | cpio --quiet -o -H newc -R 0:0 | gzip -1) >"$upstream/machine.cpio.gz"
    say "$(upstream_version): $*"
    : >"$log"
    qemu-system-x86_64 -accel tcg,thread=multi -cpu max,-erms -m 3072 -smp 2 -display none -monitor none -no-reboot -serial "file:$log" \
        -kernel "$vm/full/vmlinuz" -initrd "$upstream/machine.cpio.gz" -drive "if=virtio,format=raw,snapshot=on,file=$upstream/disk.ext4" \
        -append "console=ttyS0 no_timer_check panic=-1 quiet suite=$(tr ' ' ',' <<<"$*") limit=${KEYWAY_LIMIT:-3600}" </dev/null
    for script; do upstream_verdict "$script" "$log" || good=false; done
    $good || fail "what is red differs from cryptsetup, and nothing explains it; the log is $log"
}

upstream_version() { sed -n 's/^AC_INIT(\[\(.*\)\],\[\(.*\)\]).*/\1 \2/p' "$upstream/suite/configure.ac"; }

# upstream_verdict SCRIPT LOG: how it ended, and the lines in it that failed, each with what explains it. Fails if nothing does.
upstream_verdict() {
    local code line text why good=true lines=()
    code=$(sed -n "s/^ENDS $1 \([0-9]*\).*/\1/p" "$2")
    mapfile -t lines < <(upstream_output "$1" "$2" | sed -n 's/^.*FAILS at \([0-9]*\):.*/\1/p' | sort -nu)
    case ${code:-none} in
        0) [ ${#lines[@]} -gt 0 ] && echo "$1: lines that differ: ${#lines[@]}" || echo "$1: ${green}ok$plain" ;;
        77) echo "$1: left out: $(upstream_output "$1" "$2" | tail -n 1)" ;;
        124) echo "$1: ${red}not done in time$plain" && good=false ;;
        *) echo "$1: ${red}exit code ${code:-none}$plain" && good=false ;;
    esac
    for line in "${lines[@]}"; do
        text=$(sed -n "${line}s/^[[:space:]]*//p" "$upstream/suite/tests/$1")
        why=$(script=$1 text=$text awk -F'\t' '$1 == ENVIRON["script"] && $2 == ENVIRON["text"] { print $3 }' tests/upstream/differences.tsv)
        [ -n "$why" ] || good=false
        echo "  line $line: ${why:-$red$text$plain}"
    done
    $good
}

upstream_output() { tr -d '\r' <"$2" | sed -n "/^BEGINS $1\$/,/^ENDS $1 /{//d;p}"; }
