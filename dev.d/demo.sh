# ./dev demo: the main job from end to end, with nothing but files. Commands are shown as they are run.

demo() {
    local place keyway=target/keyway
    say "Building keyway, one static binary …"
    build_static
    want_packages $demo_programs
    have mke2fs && have debugfs || fail "e2fsprogs is missing: it makes the file system that goes into the volume"
    PATH=$PATH:/usr/sbin:/sbin
    place=$(mktemp -d)
    trap 'rm -rf "'"$place"'"' EXIT
    export keyway place

    chapter "A file system with this project's files in it (mke2fs needs no root to make one)"
    mkdir "$place/files"
    tar -c --exclude=./target --exclude=./.cache --exclude=./.git --exclude=target . | tar -x -C "$place/files"
    take mke2fs -q -t ext4 -d "$place/files" "$place/ext4" 64M

    chapter "Into a LUKS2 volume: Argon2id at its default cost, AES-256-XTS"
    printf 'correct horse battery staple' >"$place/first.key"
    printf 'the second passphrase' >"$place/second.key"
    take $keyway build --key-file "$place/first.key" "$place/ext4" "$place/volume.luks"
    take $keyway inspect "$place/volume.luks"

    chapter "Opened again, and the files compared with the originals, byte for byte"
    take $keyway read --key-file "$place/first.key" "$place/volume.luks" -o "$place/read"
    take cmp "$place/ext4" "$place/read"
    mkdir "$place/out"
    take debugfs -R "rdump / $place/out" "$place/read"
    rmdir "$place/out/lost+found" 2>/dev/null || true
    take diff -r "$place/files" "$place/out"
    echo "  $(find "$place/out" -type f | wc -l) files are the same"

    chapter "A second passphrase comes, the first one goes"
    take $keyway luksAddKey --key-file "$place/first.key" "$place/volume.luks" "$place/second.key"
    take $keyway luksRemoveKey "$place/volume.luks" "$place/first.key"
    take $keyway open --test-passphrase --key-file "$place/second.key" "$place/volume.luks"
    take_refusal 2 $keyway open --test-passphrase --key-file "$place/first.key" "$place/volume.luks"

    chapter "The header, as cryptsetup prints it"
    take $keyway luksDump "$place/volume.luks"
    say "Done: everything above ran as $(id -un), without mounting, mapping or a loop device."
}

chapter() { printf '\n%s\n' "$bold$*$plain"; }

# take COMMAND…: shows it, runs it, says how long it took.
take() {
    local started
    echo "${dim}\$ ${*//$place\//}$plain"
    started=$(now)
    "$@" 2>"$place/errors" | sed 's/^/  /' || { cat "$place/errors" >&2 && fail "the demo ends here"; }
    echo "  $green$(seconds_since "$started") s$plain"
}

# take_refusal CODE COMMAND…: the same for a command that must fail.
take_refusal() {
    local code=0
    echo "${dim}\$ ${*:2}$plain" | sed "s|$place/||g"
    "${@:2}" 2>&1 | sed 's/^/  /' || code=$?
    [ "$code" = "$1" ] || fail "exit code $code instead of $1"
    echo "  ${green}refused, exit code $code$plain"
}
