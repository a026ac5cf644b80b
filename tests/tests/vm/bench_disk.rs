//! `bench disk` under Debian's kernel: dm-crypt beside plain on a RAM disk (brd) and on a loop
//! device, with and without its queues, at both sector sizes, with requests by the built-in engine
//! and by fio; on null_blk, which stores nothing to check. It leaves nothing behind, and refuses
//! storage in use.

use crate::need_machine;
use keyway_tests::skip::is_slow;
use keyway_tests::timeouts;
use keyway_tests::vm::{self, Machine};
use keyway_tests::{Scratch, fio, need, need_that};

/// `rows FILE PATTERN` counts the rows with figures whose name begins with PATTERN, `left` the
/// remaining mappings, nodes and loop devices.
const SCENARIO: &str = r#"
    rows() { grep -o '"id":"disk/[^"]*","case":{[^}]*},"outcome":{"result":"measured"' $1 | grep -c "$2" || true; }
    left() { echo $(dmsetup ls | grep -c keyway-bench) $(ls /dev/mapper | grep -c keyway-bench) $(losetup -a | wc -l); }
    mkdir /tmp/place
    mkfs.ext4 -q /dev/vda && mount -t ext4 /dev/vda /tmp/place && rmdir /tmp/place/lost+found

    of_size() { rows /tmp/brd.json "disk/dm-crypt/brd/aes-xts-plain64/key512/sector$1/.*/$2"; }
    queued() { of_size $1 'depth[0-9]*\(/total[0-9]*\)*/keyway'; }
    inline() { of_size $1 no_read_workqueue/no_write_workqueue; }
    has_figures() {
        [ $(rows /tmp/brd.json disk/keyway/brd) -ge 6 ] || return 1
        [ $(rows /tmp/brd.json disk/plain/brd/sequential-read) -ge 1 ] || return 1
        for size in 512 4096; do
            [ $(queued $size) -ge 3 ] && [ $(inline $size) -ge 3 ] || return 1
        done
    }
    # How many rows get figures in a time is up to whatever else this machine's host does.
    for time in 20 60 180; do
        rm -f /tmp/brd.json
        keyway bench disk -q --time $time --save /tmp/brd.json /dev/ram0 >/tmp/shown || echo BRD_FAILED=$?
        ! has_figures || break
    done
    echo BRD_LEFT=$(left)
    echo BRD_PLAIN=$(rows /tmp/brd.json disk/plain/brd/sequential-read)
    echo BRD_KEYWAY=$(rows /tmp/brd.json disk/keyway/brd)
    for size in 512 4096; do
        echo BRD_$size=$(queued $size)
        echo BRD_INLINE_$size=$(inline $size)
    done
    echo BRD_WRONG=$(grep -c '"result":"wrong"' /tmp/brd.json)
    echo BRD_TABLE=$(grep -c 'dm-crypt 4096 nq' /tmp/shown)
    sed 's/^/TABLE /' /tmp/shown

    for time in 15 60 180; do
        rm -f /tmp/loop.json
        keyway bench disk --time $time --save /tmp/loop.json /tmp/place >/tmp/shown || echo LOOP_FAILED=$?
        [ $(rows /tmp/loop.json disk/dm-crypt/loop) -lt 6 ] || [ $(rows /tmp/loop.json disk/plain/loop) -lt 2 ] || break
    done
    echo LOOP_LEFT=$(left)
    echo LOOP_FILES=$(ls -A /tmp/place | wc -l)
    echo LOOP_PLAIN=$(rows /tmp/loop.json disk/plain/loop)
    echo LOOP_DM_CRYPT=$(rows /tmp/loop.json disk/dm-crypt/loop)
    echo LOOP_WRONG=$(grep -c '"result":"wrong"' /tmp/loop.json)

    for signal in TERM KILL; do
        keyway bench disk --time 100 /tmp/place >/dev/null 2>&1 &
        running=$!
        tries=0
        until dmsetup ls | grep -q keyway-bench || [ $tries -ge 300 ]; do usleep 100000; tries=$((tries + 1)); done
        echo ${signal}_RUNS=$(dmsetup ls | grep -c keyway-bench)
        # Between a mapping's creation and the word that it goes with its last user nobody could take it away.
        usleep 500000
        kill -$signal $running
        wait $running || true
        # The kernel removes what its last user has closed in its own time.
        tries=0
        until [ "$(dmsetup ls | grep -c keyway-bench) $(losetup -a | wc -l)" = "0 0" ] || [ $tries -ge 300 ]; do
            usleep 100000; tries=$((tries + 1))
        done
        echo ${signal}_LEFT=$(dmsetup ls | grep -c keyway-bench) $(losetup -a | wc -l)
    done

    mkfs.ext4 -q /dev/ram1
    keyway bench disk -q /dev/ram1 2>/tmp/errors && echo EXT4=measured || echo EXT4=$?
    echo EXT4_SAID=$(cat /tmp/errors)
    mount -t ext4 /dev/ram1 /mnt
    keyway bench disk -q /dev/ram1 2>/tmp/errors && echo MOUNTED=measured || echo MOUNTED=$?
    echo MOUNTED_SAID=$(cat /tmp/errors)
    umount /mnt
    e2fsck -fn /dev/ram1 >/dev/null && echo UNHARMED=yes
    mount -t tmpfs -o ro none /mnt
    keyway bench disk /mnt 2>/tmp/errors && echo READ_ONLY=measured || echo READ_ONLY=$?
    echo READ_ONLY_SAID=$(cat /tmp/errors)
"#;

#[test]
fn dm_crypt_beside_plain() {
    need_machine!();
    let scratch = Scratch::new();
    let disk = scratch.sized("disk", 128 << 20);
    let machine = Machine::new().disk(&disk).with_keyway().limit(timeouts::LONG_MACHINE);
    let report = machine.run(SCENARIO);
    for line in report.lines().filter_map(|line| line.strip_prefix("TABLE ")) {
        println!("{line}");
    }
    for key in ["BRD_LEFT", "LOOP_LEFT"] {
        report.has(key, "0 0 0");
    }
    let figures = |key: &str, least: u32| {
        let count: u32 = report.value(key).parse().unwrap();
        assert!(count >= least, "{key}: {count} rows\n{report:?}");
    };
    figures("BRD_PLAIN", 1);
    figures("BRD_KEYWAY", 6);
    for size in [512, 4096] {
        figures(&format!("BRD_{size}"), 3);
        figures(&format!("BRD_INLINE_{size}"), 3);
    }
    figures("LOOP_PLAIN", 2);
    figures("LOOP_DM_CRYPT", 6);
    figures("BRD_TABLE", 1);
    for key in ["BRD_WRONG", "LOOP_WRONG", "LOOP_FILES"] {
        report.has(key, "0");
    }
    for signal in ["TERM", "KILL"] {
        figures(&format!("{signal}_RUNS"), 1);
        report.has(&format!("{signal}_LEFT"), "0 0");
    }
    for (key, code, words) in [
        ("EXT4", "4", "already contains a 'ext4' superblock signature"),
        ("MOUNTED", "5", "in use"),
        ("READ_ONLY", "4", "read-only"),
    ] {
        report.has(key, code);
        let said = report.value(&format!("{key}_SAID"));
        assert!(said.contains(words), "{said}");
    }
    report.has("UNHARMED", "yes");
}

/// A results file with one of the kernel's ciphers removed.
const GOES_ON: &str = r#"
    drivers() { grep -o '"id":"driver/xts(aes)/[^"]*' $1 | sort >$2; grep -c . $2; }
    keyway bench disk -q --sector-size 4096 --time 8 --save /tmp/whole.json /dev/ram0 >/dev/null || echo FAILED=$?
    echo WHOLE=$(drivers /tmp/whole.json /tmp/whole)
    grep -v '"id":"driver/.*/decrypt"' /tmp/whole.json >/tmp/part.json
    echo PART=$(drivers /tmp/part.json /tmp/names)
    grep '"id":"driver/' /tmp/part.json >/tmp/kept
    keyway bench disk -q --resume /tmp/part.json >/dev/null && echo RESUMED=0 || echo RESUMED=$?
    echo AGAIN=$(drivers /tmp/part.json /tmp/names)
    cmp -s /tmp/whole /tmp/names && echo SAME=yes
    grep -qxF -f /tmp/kept /tmp/part.json && echo KEPT=yes
    echo COMPLETE=$(grep -o '"complete": *true' /tmp/part.json | wc -l)
"#;

#[test]
fn a_run_goes_on_with_the_kernels_ciphers() {
    need_machine!();
    let report = Machine::new().with_keyway().limit(timeouts::MACHINE).run(GOES_ON);
    for (key, value) in [("WHOLE", "2"), ("PART", "1"), ("RESUMED", "0"), ("AGAIN", "2"), ("COMPLETE", "1")] {
        report.has(key, value);
    }
    report.has("SAME", "yes");
    report.has("KEPT", "yes");
}

/// fio takes seconds to start in an emulated machine: one sector size with enough time; then a run
/// that is too short for fio.
const BY_FIO: &str = r#"
    rows() { grep -o '"id":"disk/[^"]*","case":{[^}]*},"outcome":{"result":"measured"' $1 | grep -c "$2" || true; }
    mount -t ext4 -o ro /dev/vda /mnt

    keyway bench disk -q --sector-size 4096 --time 240 --save /tmp/brd.json --csv /tmp/brd.csv /dev/ram0 >/tmp/shown || echo FAILED=$?
    sed 's/^/TABLE /' /tmp/shown
    echo LATE=$(grep -c 'fio was not used.* to start' /tmp/brd.json)
    echo VERSION=$(grep -o '"fio":"[0-9.]*"' /tmp/brd.json)
    echo PLAIN=$(rows /tmp/brd.json 'disk/plain/brd/.*/fio"')
    echo DM_CRYPT=$(rows /tmp/brd.json 'disk/dm-crypt/brd/.*/fio"')
    echo INLINE=$(rows /tmp/brd.json 'disk/dm-crypt/brd/.*/no_read_workqueue/no_write_workqueue.*/fio"')
    echo BUILT_IN=$(rows /tmp/brd.json 'disk/dm-crypt/brd/.*/keyway"')
    echo WRONG=$(grep -c '"result":"wrong"' /tmp/brd.json)
    echo CSV=$(grep -c ',brd,fio,no_read_workqueue no_write_workqueue,random-read,' /tmp/brd.csv)
    echo LEFT=$(dmsetup ls | grep -c keyway-bench) $(ls /dev/mapper | grep -c keyway-bench)

    keyway bench disk -q --sector-size 4096 --time 20 --save /tmp/short.json /dev/ram1 >/tmp/shown || echo FAILED=$?
    echo SHORT_BY_FIO=$(rows /tmp/short.json '/fio"')
    echo SHORT_DM_CRYPT=$(rows /tmp/short.json disk/dm-crypt/brd)
    echo SHORT_SAID=$(grep -o 'fio was not used[^"]*' /tmp/short.json)
"#;

#[test]
fn fio_asks_dm_crypt() {
    need_machine!();
    need!("fio", "ldd");
    need_that!(is_slow(), "it takes five minutes: KEYWAY_SLOW=1 ./dev test vm does it");
    let scratch = Scratch::new();
    let machine = Machine::new().disk(&fio::disk(&scratch)).with_keyway().limit(timeouts::LONG_MACHINE);
    let fio = "#!/bin/busybox sh\nLD_LIBRARY_PATH=/mnt/lib exec /mnt/fio \"$@\"\n";
    let report = machine.file("bin/fio", fio).run(BY_FIO);
    for line in report.lines().filter_map(|line| line.strip_prefix("TABLE ")) {
        println!("{line}");
    }
    need_that!(
        report.value("LATE") == "0",
        "this machine is so busy that fio's starts take most of the time"
    );
    assert!(report.value("VERSION").starts_with("\"fio\":\"3."), "{report:?}");
    for (key, least) in [("PLAIN", 5), ("DM_CRYPT", 10), ("INLINE", 5), ("CSV", 1), ("SHORT_DM_CRYPT", 2)] {
        let count: u32 = report.value(key).parse().unwrap();
        assert!(count >= least, "{key}: {count} rows\n{report:?}");
    }
    for key in ["BUILT_IN", "WRONG", "SHORT_BY_FIO"] {
        report.has(key, "0");
    }
    report.has("LEFT", "0 0");
    let said = report.value("SHORT_SAID");
    assert!(said.contains("the built-in engine made all requests: it takes"), "{said}");
}

const NULL_BLK: &str = r#"
    insmod /configfs.ko 2>/dev/null || true
    insmod /null_blk.ko nr_devices=1 gb=1
    measured() { grep "\"id\":\"disk/${1:-}" /tmp/null.json | grep -c '"result":"measured"' || true; }
    for time in 20 60 180; do
        rm -f /tmp/null.json
        keyway bench disk -q --sector-size 4096 --time $time --save /tmp/null.json /dev/nullb0 >/tmp/shown || echo FAILED=$?
        [ $(measured) -lt 10 ] || [ $(measured dm-crypt/null_blk/) -lt 4 ] || break
    done
    sed 's/^/TABLE /' /tmp/shown
    echo MEASURED=$(measured)
    echo UNCHECKED=$(grep '"id":"disk/' /tmp/null.json | grep -c '"checked":"nothing: this device stores no data"')
    echo DM_CRYPT=$(measured dm-crypt/null_blk/)
    echo WARNED=$(grep -c 'null_blk keeps no data: ' /tmp/shown)
    rmmod null_blk && echo FREE=yes
"#;

#[test]
fn what_keeps_no_data_is_measured_and_says_that_nothing_could_be_checked() {
    need_machine!();
    let (null_blk, configfs) = (vm::module("null_blk"), vm::module("configfs"));
    need_that!(null_blk.is_some(), "this kernel has no null_blk");
    let machine = Machine::new().with_keyway().limit(timeouts::LONG_MACHINE);
    let machine = machine.file("null_blk.ko", null_blk.unwrap_or_default());
    let report = machine.file("configfs.ko", configfs.unwrap_or_default()).run(NULL_BLK);
    for line in report.lines().filter_map(|line| line.strip_prefix("TABLE ")) {
        println!("{line}");
    }
    let count = |key: &str| report.value(key).parse::<u32>().unwrap();
    assert!(count("MEASURED") >= 10 && count("DM_CRYPT") >= 4, "{report:?}");
    assert_eq!(count("MEASURED"), count("UNCHECKED"), "{report:?}");
    report.has("WARNED", "1");
    report.has("FREE", "yes");
}
