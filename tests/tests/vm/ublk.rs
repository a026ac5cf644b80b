//! The ublk front end under a kernel that has it (Linux 6.12): a file system on /dev/ublkbN, discards, a
//! read-only disk, a server that dies, a session that is re-encrypted under fio, an ordinary user; and
//! cryptsetup's mapping of the written data.

use crate::need_machine;
use keyway_tests::vm::{Machine, has_kernel};
use keyway_tests::{Scratch, fio, need, need_that, random};
use std::fs;

/// `serve OPTIONS…` starts a server whose answers come to /tmp/said and whose commands go to
/// descriptor 3; `said N` waits for its Nth answer.
const SCENARIO: &str = r#"
    serve() {
        rm -f /tmp/orders; mkfifo /tmp/orders; : >/tmp/said
        $as "exec ublk-disk /dev/vda /key $*" </tmp/orders >/tmp/said &
        server=$!
        exec 3>/tmp/orders
    }
    said() {
        tries=0
        until [ $(wc -l </tmp/said) -ge $1 ] || [ $tries -ge 200 ]; do usleep 50000; tries=$((tries + 1)); done
        sed -n ${1}p /tmp/said
    }
    as="sh -c"

    serve discards
    disk=$(said 1); echo DISK=$disk
    echo SIZE=$(blockdev --getsize64 $disk)
    mkfs.ext4 -q -b 4096 $disk
    mount -t ext4 -o discard $disk /mnt
    cp /large /mnt/large; cp /large /mnt/other; sync
    echo clients >&3; echo CLIENTS=$(said 2)
    echo stop >&3; echo BUSY=$(said 3)
    rm /mnt/other; fstrim /mnt
    cmp /mnt/large /large && echo SERVED=same
    umount /mnt
    blkdiscard -o 62914560 -l 1048576 $disk && echo DISCARD=yes
    dd if=/large of=$disk bs=4k seek=14000 count=100 oflag=direct conv=fsync 2>/dev/null
    dd if=$disk bs=4k skip=14000 count=100 iflag=direct 2>/dev/null | cmp -n 409600 - /large && echo DIRECT=same
    echo stop >&3; echo STOPPED=$(said 4)
    wait $server
    echo LEFT=$(ls /dev | grep -c ublk[bc])

    cryptsetup open -q --type plain -c aes-xts-plain64 -s 512 --key-file /key /dev/vda volume
    mount -t ext4 -o ro /dev/mapper/volume /mnt
    cmp /mnt/large /large && echo MAPPED=same
    [ -e /mnt/other ] || echo OTHER=gone
    umount /mnt
    dd if=/dev/mapper/volume bs=4k skip=14000 count=100 2>/dev/null | cmp -n 409600 - /large && echo BEHIND=same
    cryptsetup close volume

    serve read-only
    disk=$(said 1); echo READ_ONLY=$(blockdev --getro $disk)
    mount -t ext4 -o ro $disk /mnt && cmp /mnt/large /large && echo READ=same
    umount /mnt
    dd if=/large of=$disk bs=4k count=1 2>/dev/null || echo WRITE=refused
    blkdiscard -o 0 -l 4096 $disk 2>/dev/null || echo DISCARD_UNASKED=refused
    exec 3>&-; echo DROPPED=$(said 2)
    wait $server
    echo LEFT_2=$(ls /dev | grep -c ublk[bc])

    serve
    disk=$(said 1)
    mount -t ext4 $disk /mnt
    kill -9 $server; wait $server || echo DIED=$?
    umount /mnt
    exec 3>&-
    tries=0; until [ ! -e $disk ] || [ $tries -ge 100 ]; do usleep 50000; tries=$((tries + 1)); done
    echo LEFT_3=$(ls /dev | grep ublk[bc])
    echo REMOVED=$(ublk-disk remove $disk)
    echo AGAIN=$(ublk-disk remove $disk)
    echo LEFT_4=$(ls /dev | grep -c ublk[bc])

    keyway_open() {
        keyway open -q --type plain -c aes-xts-plain64 -s 512 --key-file /key --backend ublk /dev/vda session
    }
    keyway_open >/tmp/said; echo OPENED=$?-$(wc -c </tmp/said)
    echo LISTED=$(keyway list | grep -c ublkb0)
    mount /dev/ublkb0 /mnt
    keyway close session 2>/dev/null || echo SESSION_BUSY=$?
    cmp /mnt/large /large && echo SESSION=same
    umount /mnt
    keyway close session && echo CLOSED=$(ls /dev | grep -c ublk[bc])
    keyway_open >/dev/null
    kill -9 $(grep -l ^keyway-session /proc/[0-9]*/cmdline | cut -d/ -f3)
    keyway close session 2>/dev/null || echo CLEARED=$(ls /dev | grep -c ublk[bc])

    # A session's users go on while its volume gets another key and cipher, and while it becomes plaintext.
    mkdir -p /fio; mount -t ext4 -o ro /dev/vdc /fio
    run_fio() {
        (cd /tmp; LD_LIBRARY_PATH=/fio/lib /fio/fio --name=w --filename=/dev/ublkb0 --rw=randwrite --bs=4k \
            --direct=1 --size=16m --verify=crc32c --verify_fatal=1 --time_based --runtime=$1 --fsync=64 \
            >/tmp/fio.out 2>&1; echo $? >/tmp/fio.rc) &
        fio=$!
    }
    result() {
        wait $fio
        echo $1_FIO=$(cat /tmp/fio.rc); [ $(cat /tmp/fio.rc) = 0 ] || cat /tmp/fio.out
        echo $1_WRITES=$(sed -n 's/.*issued rwts: total=[0-9]*,\([0-9]*\),.*/\1/p' /tmp/fio.out)
        dd if=/dev/ublkb0 bs=1M skip=16 iflag=direct 2>/dev/null | cmp - /tail && echo $1_TAIL=same
    }
    CHEAP='--pbkdf pbkdf2 --pbkdf-force-iterations 1000'
    keyway luksFormat -q --type luks2 $CHEAP --header /header /dev/vdb /key
    keyway open -q --key-file /key --header /header --backend ublk /dev/vdb moving
    dd if=/tail of=/dev/ublkb0 bs=1M seek=16 oflag=direct 2>/dev/null
    run_fio 4
    keyway reencrypt -q --active-name moving --key-file /key $CHEAP --cipher serpent-xts-plain64 --hotzone-size 1M && echo REKEYED=0
    result REKEYED
    keyway status moving | sed -n 's/  cipher: */CIPHER=/p; s/  size: */SIZE_2=/p'
    run_fio 4
    keyway reencrypt -q --decrypt --active-name moving --key-file /key --hotzone-size 1M && echo DECRYPTED=0
    # Its users cannot be seen, so it stays until it is closed.
    result DECRYPTED
    keyway close moving && echo LEFT_5=$(ls /dev | grep -c ublk[bc])
    dd if=/dev/vdb bs=1M skip=16 2>/dev/null | cmp - /tail && echo PLAIN=same

    mkdir -p /etc; echo user:x:1000:1000::/:/bin/sh >>/etc/passwd
    chmod 666 /dev/vda; chmod 644 /key
    as="su user -c"
    serve; echo USER=$(said 1); wait $server || exec 3>&-
    chmod 666 /dev/ublk-control
    serve
    until [ -e /dev/ublkc0 ]; do usleep 10000; done; chown user /dev/ublkc0
    disk=$(said 1)
    dd if=$disk bs=4k skip=14000 count=100 iflag=direct 2>/dev/null | cmp -n 409600 - /large && echo OWN=same
    echo stop >&3; echo OWN_STOPPED=$(said 2)
    wait $server
    rmmod ublk_drv && echo OWN_MODULE=free
    as="sh -c"
    serve; echo MISSING=$(said 1)
"#;

#[test]
fn a_block_device_that_keyway_serves() {
    need_machine!();
    need!("fio", "ldd");
    need_that!(has_kernel("6.12"), "there is no kernel with ublk: ./dev test vm fetches it");
    let scratch = Scratch::new();
    let image = scratch.random_file("image", 151, 64 << 20);
    let server = fs::read(env!("CARGO_BIN_EXE_ublk-disk")).unwrap();
    let machine =
        Machine::new().processors(2).kernel("6.12").disk(&image).with_keyway().file("bin/ublk-disk", server);
    let machine = machine.disk(&scratch.sized("moving", 32 << 20)).disk(&fio::disk(&scratch));
    let machine = machine.file("tail", random(154, 16 << 20));
    let report = machine.file("key", random(152, 64)).file("large", random(153, 7_654_321)).run(SCENARIO);
    for (key, value) in [
        ("DISK", "/dev/ublkb0"),
        ("SIZE", "67108864"),
        ("CLIENTS", "clients: 1"),
        ("BUSY", "Busy: /dev/ublkb0 is in use: unmount it first"),
        ("SERVED", "same"),
        ("DISCARD", "yes"),
        ("DIRECT", "same"),
        ("STOPPED", "stopped, true"),
        ("LEFT", "0"),
        ("MAPPED", "same"),
        ("OTHER", "gone"),
        ("BEHIND", "same"),
        ("READ_ONLY", "1"),
        ("READ", "same"),
        ("WRITE", "refused"),
        ("DISCARD_UNASKED", "refused"),
        ("DROPPED", "dropped"),
        ("LEFT_2", "0"),
        ("DIED", "137"),
        ("LEFT_3", "ublkc0"),
        ("REMOVED", "removed: true"),
        ("AGAIN", "removed: false"),
        ("LEFT_4", "0"),
        ("OPENED", "0-0"),
        ("LISTED", "1"),
        ("SESSION_BUSY", "5"),
        ("SESSION", "same"),
        ("CLOSED", "0"),
        ("CLEARED", "0"),
        ("REKEYED", "0"),
        ("REKEYED_FIO", "0"),
        ("REKEYED_TAIL", "same"),
        ("CIPHER", "serpent-xts-plain64"),
        ("DECRYPTED", "0"),
        ("DECRYPTED_FIO", "0"),
        ("DECRYPTED_TAIL", "same"),
        ("LEFT_5", "0"),
        ("PLAIN", "same"),
        ("OWN", "same"),
        ("OWN_STOPPED", "stopped, true"),
        ("OWN_MODULE", "free"),
    ] {
        report.has(key, value);
    }
    for which in ["REKEYED", "DECRYPTED"] {
        // How many a machine makes in these seconds is its own affair.
        let writes: u32 = report.value(&format!("{which}_WRITES")).parse().unwrap_or(0);
        assert!(writes > 10, "{report:?}");
    }
    assert!(report.value("USER").starts_with("Permission: this user cannot use /dev/ublk-control"));
    assert!(report.value("MISSING").contains("modprobe ublk_drv"));
}
