# ./dev demo: the main job from end to end, with nothing but files. Commands are shown as they are run.

demo() {
    say "Building keyway, one static binary …"
    build_static
    want_packages $demo_programs
    have mke2fs && have debugfs || fail "e2fsprogs is missing: it makes the file system that goes into the volume"
    export PATH=$PWD/target:$PATH:/usr/sbin:/sbin
    local place project=$PWD
    place=$(mktemp -d)
    trap 'rm -rf "'"$place"'"' EXIT
    cd "$place"

    chapter "A file system with this project's files in it (mke2fs needs no root to make one)"
    mkdir files
    tar -c -C "$project" --exclude=./.git --exclude=./.cache --exclude=target . | tar -x -C files
    take mke2fs -q -t ext4 -d files ext4.img 64M

    chapter "Into a LUKS2 volume: Argon2id at its default cost, AES-256-XTS"
    printf 'correct horse battery staple' >first.key
    printf 'the second passphrase' >second.key
    take keyway build --key-file first.key ext4.img volume.luks
    take keyway inspect volume.luks

    chapter "Opened again, and the files compared with the originals, byte for byte"
    mkdir out
    take keyway read --key-file first.key volume.luks -o plaintext.img
    take e2fsck -fn plaintext.img
    take debugfs -R "rdump / out" plaintext.img
    rm -rf out/lost+found
    take diff -r files out
    echo "  $(find out -type f | wc -l) files, $(du -sh out | cut -f1): all the same"

    chapter "A second passphrase comes, the first one goes"
    take keyway luksAddKey --key-file first.key volume.luks second.key
    take keyway luksRemoveKey volume.luks first.key
    take keyway open --test-passphrase --key-file second.key volume.luks
    take_refusal 2 keyway open --test-passphrase --key-file first.key volume.luks

    chapter "The header, as cryptsetup prints it"
    take keyway luksDump volume.luks
    echo
    say "Done. All of it ran as $(id -un), without mounting or mapping anything."
}

chapter() { printf '\n%s\n' "$bold$*$plain"; }

# take COMMAND…: shows it, runs it, says how long it took.
take() {
    local started
    echo "$dim\$ $*$plain"
    started=$(now)
    "$@" 2>errors | sed 's/^/  /' || { cat errors >&2 && fail "the demo ends here"; }
    echo "  $green$(seconds_since "$started") s$plain"
}

# take_refusal CODE COMMAND…: the same for a command that must fail.
take_refusal() {
    local code=0
    echo "$dim\$ ${*:2}$plain"
    "${@:2}" 2>&1 | sed 's/^/  /' || code=$?
    [ "$code" = "$1" ] || fail "exit code $code instead of $1"
    echo "  ${green}refused with exit code $code, as it must be$plain"
}
