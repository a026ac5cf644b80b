//! The kernel's own NBD client in front of `keyway serve`: a file system on /dev/nbd0 over four
//! connections, discards, a read-only export; cryptsetup's mapping then shows the written data.

use crate::need_machine;
use keyway_tests::peers::CHEAP_ARGON2;
use keyway_tests::vm::Machine;
use keyway_tests::{Scratch, keyway, random};
use std::fs;

const SCENARIO: &str = r#"
    serve() {
        keyway serve --key-file /key --socket /tmp/socket "$@" /dev/vda >/tmp/served &
        server=$!
        tries=0
        until [ -S /tmp/socket ] || [ $tries -ge 200 ]; do usleep 50000; tries=$((tries + 1)); done
    }

    serve --allow-discards
    nbd-client -unix /tmp/socket /dev/nbd0 -C 4 >/dev/null
    echo SIZE=$(blockdev --getsize64 /dev/nbd0)
    echo SENDERS=$(ls /proc/$server/fd -l | grep -c socket:)
    mkfs.ext4 -q -b 4096 /dev/nbd0
    mount -t ext4 -o discard /dev/nbd0 /mnt
    cp /large /mnt/large; cp /large /mnt/other; sync
    rm /mnt/other; fstrim /mnt
    echo 3 >/proc/sys/vm/drop_caches
    cmp /mnt/large /large && echo SERVED=same
    umount /mnt
    writers=
    for at in 3000 4000 5000 6000; do
        dd if=/large of=/dev/nbd0 bs=4k seek=$at count=500 oflag=direct conv=fsync 2>/dev/null &
        writers="$writers $!"
    done
    wait $writers
    blkdiscard -o 41943040 -l 1048576 /dev/nbd0 && echo DISCARD=yes
    nbd-client -d /dev/nbd0 >/dev/null
    kill $server; wait $server && echo ENDED=well
    [ -e /tmp/socket ] || echo SOCKET=gone

    cryptsetup open --key-file /key /dev/vda volume
    for at in 3000 4000 5000 6000; do
        dd if=/dev/mapper/volume bs=4k skip=$at count=500 2>/dev/null | cmp -n 2048000 - /large && echo WRITTEN_$at=same
    done
    mkfs.ext4 -qF -b 4096 /dev/mapper/volume
    mount -t ext4 /dev/mapper/volume /mnt; cp /large /mnt/large; umount /mnt
    cryptsetup close volume

    serve --readonly
    nbd-client -nonetlink -unix /tmp/socket /dev/nbd0 >/dev/null
    tries=0; until [ -e /sys/block/nbd0/pid ] || [ $tries -ge 200 ]; do usleep 50000; tries=$((tries + 1)); done
    echo READ_ONLY=$(blockdev --getro /dev/nbd0)
    mount -t ext4 -o ro /dev/nbd0 /mnt && cmp /mnt/large /large && echo READ=same
    umount /mnt
    dd if=/large of=/dev/nbd0 bs=4k count=1 conv=fsync 2>/dev/null || echo WRITE=refused
    nbd-client -d /dev/nbd0 >/dev/null
    kill $server; wait $server && echo ENDED_2=well
"#;

#[test]
fn the_kernels_client_of_keyway_serve() {
    need_machine!();
    let scratch = Scratch::new();
    let key = scratch.file("key", "correct horse battery staple");
    let disk = scratch.random_file("disk", 161, 80 << 20);
    keyway("luksFormat -q --type luks2").args(CHEAP_ARGON2).arg(&disk).arg(&key).ok();
    let machine = Machine::new().disk(&disk).with_keyway().file("key", fs::read(&key).unwrap());
    let report = machine.file("large", random(162, 7_654_321)).run(SCENARIO);
    for (key, value) in [
        ("SIZE", "67108864"),
        ("SERVED", "same"),
        ("DISCARD", "yes"),
        ("ENDED", "well"),
        ("SOCKET", "gone"),
        ("WRITTEN_3000", "same"),
        ("WRITTEN_4000", "same"),
        ("WRITTEN_5000", "same"),
        ("WRITTEN_6000", "same"),
        ("READ_ONLY", "1"),
        ("READ", "same"),
        ("WRITE", "refused"),
        ("ENDED_2", "well"),
    ] {
        report.has(key, value);
    }
    // Four connections and the listening socket.
    assert!(report.value("SENDERS").parse::<u32>().is_ok_and(|sockets| sockets >= 5), "{report:?}");
}
