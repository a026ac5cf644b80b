//! A volume that the kernel maps is re-encrypted while it is in use: fio writes and verifies meanwhile,
//! others read, and a process that is killed leaves nothing lost.

use crate::need_machine;
use keyway_tests::peers::CHEAP_LUKS2_PBKDF2;
use keyway_tests::timeouts;
use keyway_tests::vm::Machine;
use keyway_tests::{Scratch, assert_same_bytes, cryptsetup, fio, keyway, need, peer, random};
use std::fs;
use std::path::{Path, PathBuf};

const DATA: usize = 32 << 20;
/// fio has what is before; nobody writes to the rest.
const TAIL: usize = 16 << 20;

fn volume(scratch: &Scratch, name: &str, key: &Path) -> PathBuf {
    let path = scratch.sized(name, DATA as u64 + (16 << 20));
    let run = keyway("luksFormat -q --type luks2 --sector-size 4096").args(CHEAP_LUKS2_PBKDF2);
    run.arg("--key-file").arg(key).arg(&path).ok();
    keyway("write --key-file").arg(key).arg(&path).stdin(random(12, DATA)).ok();
    path
}

const SCENARIO: &str = r#"
    mount -t ext4 -o ro /dev/vdc /mnt
    CHEAP='--pbkdf pbkdf2 --pbkdf-force-iterations 1000'
    run_fio() {
        (cd /tmp; LD_LIBRARY_PATH=/mnt/lib /mnt/fio --name=w --filename=/dev/mapper/$1 --rw=randwrite --bs=4k \
            --direct=1 --size=16m --verify=crc32c --verify_fatal=1 --time_based --runtime=$2 --fsync=64 \
            >/tmp/fio.out 2>&1; echo $? >/tmp/fio.rc) &
        fio=$!
    }
    read_tail() {
        n=0
        until [ -e /tmp/stop ]; do
            dd if=/dev/mapper/$1 bs=1M skip=16 iflag=direct 2>/dev/null | cmp - /tail || echo WRONG
            n=$((n + 1))
        done >/tmp/wrong
        echo $n >/tmp/reads
    }
    result() {
        touch /tmp/stop; wait $fio; wait $reader; rm /tmp/stop
        echo $1_FIO=$(cat /tmp/fio.rc); [ $(cat /tmp/fio.rc) = 0 ] || cat /tmp/fio.out
        echo $1_WRITES=$(sed -n 's/.*issued rwts: total=[0-9]*,\([0-9]*\),.*/\1/p' /tmp/fio.out)
        echo $1_READS=$(cat /tmp/reads) $(cat /tmp/wrong)
    }

    keyway open --backend kernel --key-file /key /dev/vda one
    run_fio one 8
    read_tail one & reader=$!
    code=0; keyway reencrypt -q --active-name one --key-file /key $CHEAP --hotzone-size 512K || code=$?
    echo WHOLE=$code
    result WHOLE
    echo WHOLE_TABLE=$(dmsetup table one | sed 's/:logon:[^ ]*-d/:logon:-d/')
    cryptsetup status one | sed -n 's/  cipher: */WHOLE_STATUS=/p'
    keyway close one
    cryptsetup open --key-file /key /dev/vda one
    dd if=/dev/mapper/one bs=1M skip=16 2>/dev/null | cmp - /tail && echo WHOLE_TAIL=same
    cryptsetup close one

    keyway open --backend kernel --key-file /key /dev/vdb two
    run_fio two 12
    read_tail two & reader=$!
    keyway reencrypt -q --active-name two --key-file /key $CHEAP --cipher serpent-xts-plain64 --hotzone-size 256K --limit-rate 8M &
    running=$!
    tries=0; until [ $(dmsetup table two | wc -l) = 2 ] || [ $tries -ge 300 ]; do usleep 20000; tries=$((tries + 1)); done
    usleep 100000
    kill -KILL $running; wait $running || true
    echo KILLED=$(dmsetup table two | wc -l)
    keyway status two | sed -n 's/  reencryption: */STATUS=/p; s/  size: */SIZE=/p'
    keyway luksSuspend two 2>&1 | sed 's/^/SUSPEND=/'
    keyway reencrypt -q --active-name two --key-file /wrong 2>&1 | sed 's/^/WRONG_KEY=/'
    code=0; keyway reencrypt -q --resume-only --active-name two --key-file /key --hotzone-size 1M || code=$?
    echo RESUMED=$code
    result KILLED
    echo KILLED_TABLE=$(dmsetup table two | cut -d' ' -f1-4)
    keyway close two
    cryptsetup open --key-file /key /dev/vdb two
    dd if=/dev/mapper/two bs=1M skip=16 2>/dev/null | cmp - /tail && echo KILLED_TAIL=same
    keyway reencrypt -q --active-name two --encrypt --key-file /key 2>&1 | sed 's/^/ENCRYPT=/'
    cryptsetup close two

    # A header elsewhere: the volume becomes plaintext under its users, found by its device.
    keyway luksFormat -q --type luks2 $CHEAP --header /detached /dev/vdd /key
    keyway open --backend kernel --header /detached --key-file /key /dev/vdd three
    dd if=/tail of=/dev/mapper/three bs=1M seek=16 oflag=direct 2>/dev/null
    exec 4</dev/mapper/three
    run_fio three 4
    read_tail three & reader=$!
    code=0; keyway reencrypt -q --decrypt --header /detached --key-file /key --hotzone-size 1M /dev/vdd || code=$?
    echo DECRYPTED=$code
    result DECRYPTED
    dmsetup table three | sed 's/^/PLAIN_TABLE=/'
    exec 4<&-
    dmsetup info three >/dev/null 2>&1 || echo PLAIN_MAPPING=gone
    dd if=/dev/vdd bs=1M skip=16 2>/dev/null | cmp - /tail && echo DECRYPTED_TAIL=same

    # What moves is begun while nobody uses it.
    keyway luksFormat -q --type luks2 $CHEAP --offset 32768 /dev/vdd /key
    keyway open --backend kernel --key-file /key /dev/vdd three
    dd if=/tail of=/dev/mapper/three bs=1M oflag=direct 2>/dev/null
    keyway reencrypt -q --decrypt --active-name three --header /moving --key-file /key 2>&1 | sed 's/^/MOVES=/'
    [ -e /moving ] || echo EXPORTED=no
    keyway close three
    keyway reencrypt -q --decrypt --init-only --header /moving --key-file /key /dev/vdd 2>/dev/null
    keyway open --backend kernel --header /moving --key-file /key /dev/vdd three
    keyway reencrypt -q --resume-only --header /moving --key-file /key --active-name three && echo MOVED=0
    dd if=/dev/vdd bs=1M count=16 2>/dev/null | cmp - /tail && echo MOVED_TAIL=same

    # What encrypts nothing has no key in the kernel.
    keyway luksFormat -q --type luks2 $CHEAP --cipher cipher_null-ecb --key-size 128 --allow-weak-cipher /dev/vdd /key 2>/dev/null
    keyway open --backend kernel --allow-weak-cipher --key-file /key /dev/vdd three 2>/dev/null
    dd if=/tail of=/dev/mapper/three bs=1M oflag=direct 2>/dev/null
    keyway reencrypt -q --active-name three --cipher aes-xts-plain64 --allow-weak-cipher --key-file /key $CHEAP --hotzone-size 4M 2>/dev/null && echo NULL=0
    dd if=/dev/mapper/three bs=1M count=16 iflag=direct 2>/dev/null | cmp - /tail && echo NULL_TAIL=same
    dmsetup table three | cut -d' ' -f4 | sed 's/^/NULL_CIPHER=/'
    keyway close three

    # One header for two devices: what was mapped with the key before is not taken for the volume.
    for n in 1 2 3; do dd if=/dev/zero of=/loop$n bs=1M count=4 2>/dev/null; losetup /dev/loop$n /loop$n; done
    keyway luksFormat -q --type luks2 $CHEAP --header /hdr /dev/loop1 /key
    open() { keyway open --backend kernel --header /hdr --key-file /key "$@"; }
    rekey() { keyway reencrypt -q --header /hdr --key-file /key $CHEAP --active-name $1; }
    open /dev/loop1 three; open /dev/loop2 four; open --disable-keyring /dev/loop3 five
    rekey three && echo THREE=new
    for name in four five; do
        cat /hdr /loop2 /loop3 | sha256sum >/sum
        rekey $name 2>&1 | sed "s/^/$name=/"
        cat /hdr /loop2 /loop3 | sha256sum | cmp - /sum && echo ${name}_SAME=yes
    done
    keyway close three four five
"#;

#[test]
fn a_mapping_is_reencrypted_under_fio() {
    need_machine!();
    need!("fio", "ldd", "cryptsetup");
    let scratch = Scratch::new();
    let key = scratch.file("key", "correct horse battery staple");
    let disks = ["one", "two"].map(|name| volume(&scratch, name, &key));
    let machine = Machine::new().processors(2).disk(&disks[0]).disk(&disks[1]).disk(&fio::disk(&scratch));
    let machine = machine.disk(&scratch.sized("three", DATA as u64));
    let report = machine
        .with_keyway()
        .file("key", fs::read(&key).unwrap())
        .file("wrong", "battery staple")
        .file("tail", &random(12, DATA)[DATA - TAIL..])
        .limit(timeouts::MACHINE)
        .run(SCENARIO);
    let number = |key: &str| report.value(key).parse::<u32>().unwrap_or(0);
    for which in ["WHOLE", "KILLED", "DECRYPTED"] {
        report.has(&format!("{which}_FIO"), "0");
        // How many a machine makes in these seconds is its own affair.
        assert!(number(&format!("{which}_WRITES")) > 10, "{report:?}");
        assert!(number(&format!("{which}_READS")) > 0, "{report:?}");
        report.has(&format!("{which}_TAIL"), "same");
    }
    report.has("WHOLE", "0");
    report.has("WHOLE_STATUS", "aes-xts-plain64");
    let table = report.value("WHOLE_TABLE");
    assert!(table.starts_with("0 65536 crypt aes-xts-plain64 :64:logon:-d1 0 253:0 32768"), "{table}");
    report.has("KILLED", "2");
    report.has("DECRYPTED", "0");
    report.has("PLAIN_TABLE", "0 65536 linear 253:48 0");
    report.has("PLAIN_MAPPING", "gone");
    assert!(
        report.value("MOVES").contains("three is open, and its data would move to the start"),
        "{report:?}"
    );
    for (key, value) in
        [("EXPORTED", "no"), ("MOVED", "0"), ("MOVED_TAIL", "same"), ("NULL", "0"), ("NULL_TAIL", "same")]
    {
        report.has(key, value);
    }
    report.has("NULL_CIPHER", "aes-xts-plain64");
    // It may have been killed while requests were held back.
    let said = report.value("SUSPEND");
    assert!(said.contains("which needs its keys") || said.contains("already suspended"), "{said}");
    report.has("STATUS", "in-progress");
    report.has("SIZE", "65536 [512-byte units] (33554432 [bytes])");
    report.has("THREE", "new");
    for name in ["four", "five"] {
        let said = report.value(name);
        assert!(
            said.contains(&format!("{name} is mapped with another key than its header describes")),
            "{said}"
        );
        report.has(&format!("{name}_SAME"), "yes");
    }
    report.has("RESUMED", "0");
    report.has("KILLED_TABLE", "0 65536 crypt serpent-xts-plain64");
    assert!(report.value("ENCRYPT").contains("two is open: only its volume key"), "{report:?}");
    assert!(report.value("WRONG_KEY").contains("No key available with this passphrase"), "{report:?}");
    for disk in &disks {
        let dump = cryptsetup("luksDump").arg(disk).ok().text();
        assert!(dump.contains("  1: luks2") && !dump.contains("  0: luks2"), "{dump}");
        assert!(!dump.contains("Requirements"), "{dump}");
        let found = keyway("read --key-file").arg(&key).arg(disk).ok().stdout;
        assert_same_bytes("keyway read", &found[DATA - TAIL..], "written", &random(12, DATA)[DATA - TAIL..]);
    }
}

const SECTORS: &str = r#"
    CHEAP='--pbkdf pbkdf2 --pbkdf-force-iterations 1000'
    ln -s /bin/keyway /tmp/cryptsetup
    # small: blocks of 1024 bytes; large: of 4096; both in sectors of 512.
    for name in small large; do
        [ $name = small ] && device=/dev/vda || device=/dev/vdb
        cryptsetup open --key-file /key $device $name
        mount -t ext4 /dev/mapper/$name /mnt
        for tool in keyway /tmp/cryptsetup cryptsetup; do
            [ $name = small ] || [ $tool = keyway ] || continue
            code=0; $tool reencrypt -q --active-name $name --key-file /key $CHEAP --sector-size 4096 2>/tmp/err || code=$?
            echo ${name}_$(basename $tool)_$tool=$code $([ $code = 0 ] || tr '\n' ' ' </tmp/err)
        done
        echo ${name}_SECTOR=$(dmsetup table $name | grep -o 'sector_size:[0-9]*')
        echo written >/mnt/file; sync; cat /mnt/file | sed "s/^/${name}_FILE=/"
        umount /mnt
        cryptsetup close $name
    done
    cryptsetup open --key-file /key /dev/vdb large && mount -t ext4 /dev/mapper/large /mnt && sed 's/^/AGAIN=/' /mnt/file
    umount /mnt; cryptsetup close large
    # No file system at all: nothing says that larger sectors are too large.
    keyway luksFormat -q --type luks2 --sector-size 512 $CHEAP --key-file /key /dev/vdc
    keyway open --backend kernel --key-file /key /dev/vdc none
    dd if=/tail of=/dev/mapper/none bs=1M oflag=direct 2>/dev/null
    keyway reencrypt -q --active-name none --key-file /key $CHEAP --sector-size 4096 && echo NONE=0
    dd if=/dev/mapper/none bs=1M count=4 iflag=direct 2>/dev/null | cmp - /tail && echo NONE_TAIL=same
    keyway close none
"#;

/// Mapped, both programs ask what is mounted: larger sectors only where its blocks are as large.
#[test]
fn sectors_grow_under_a_file_system_that_has_such_blocks() {
    need_machine!();
    need!("mke2fs", "cryptsetup");
    let scratch = Scratch::new();
    let key = scratch.file("key", "correct horse battery staple");
    let volume = |name: &str, block: u32| {
        let image = scratch.sized(&format!("{name}.img"), 24 << 20);
        peer("mke2fs", &format!("-q -F -t ext4 -b {block}")).arg(&image).ok();
        let volume = scratch.path(name);
        let build = keyway("build -q --fill --sector-size 512").args(CHEAP_LUKS2_PBKDF2);
        build.arg("--key-file").arg(&key).arg(image).arg(&volume).ok();
        volume
    };
    let machine = Machine::new().disk(&volume("small", 1024)).disk(&volume("large", 4096));
    let machine = machine.disk(&scratch.sized("none", 24 << 20)).with_keyway();
    let machine = machine.file("key", fs::read(&key).unwrap()).file("tail", random(14, 4 << 20));
    let report = machine.limit(timeouts::LONG_MACHINE).run(SECTORS);
    let theirs = "1 Requested --sector-size 4096 is incompatible with ext4 superblock (block size: 1024 bytes) detected on \
                  device /dev/mapper/small.";
    let ours = "1 /dev/mapper/small holds ext4 with blocks of 1024 bytes, which cannot be mounted from sectors of \
                4096: use --sector-size 1024, or omit it. Nothing was changed.";
    for (key, value) in [
        ("small_keyway_keyway", ours),
        ("small_cryptsetup_cryptsetup", theirs),
        ("small_SECTOR", ""),
        ("small_FILE", "written"),
        ("large_keyway_keyway", "0"),
        ("large_SECTOR", "sector_size:4096"),
        ("large_FILE", "written"),
        ("AGAIN", "written"),
        ("NONE", "0"),
        ("NONE_TAIL", "same"),
    ] {
        assert_eq!(report.value(key).trim(), value, "{key}");
    }
    let named = report.value("small_cryptsetup_/tmp/cryptsetup");
    assert_eq!(named.trim(), theirs, "under its name");
}

const OPENED: &str = r#"
    CHEAP='--pbkdf pbkdf2 --pbkdf-force-iterations 1000'
    mkdir -p /tmp/named; ln -s /bin/keyway /tmp/named/cryptsetup
    size=$((8 * 1024 * 1024))
    for tool in cryptsetup /tmp/named/cryptsetup keyway; do
        name=$(echo $tool | tr -d /)
        dd if=/plain of=/dev/vda bs=1M 2>/dev/null
        code=0; $tool reencrypt --encrypt --init-only --reduce-device-size 8M -S11 -q $CHEAP --key-file /key /dev/vda one \
            >/tmp/out 2>/tmp/err || code=$?
        echo ${name}_BEGUN=$code $(cat /tmp/out | tr '\n' ' ')
        head -c $size /plain >/tmp/expected
        head -c $size /dev/mapper/one | cmp - /tmp/expected && echo ${name}_OPEN=same
        cryptsetup luksDump /dev/vda | grep -q ' 11: luks2' && echo ${name}_SLOT=11
        cryptsetup status one | sed -n "s/  reencryption: */${name}_STATUS=/p"
        $tool reencrypt --resume-only --active-name one -q --key-file /key && echo ${name}_RESUMED=0
        head -c $size /dev/mapper/one | cmp - /tmp/expected && echo ${name}_DONE=same
        cryptsetup status one | grep -q 'reencryption:' || echo ${name}_END=none
        cryptsetup close one
        # A detached header, and everything in one command.
        dd if=/plain of=/dev/vda bs=1M 2>/dev/null
        rm -f /tmp/header
        code=0; $tool reencrypt --encrypt --header /tmp/header -q $CHEAP --key-file /key /dev/vda two >/tmp/out 2>/tmp/err || code=$?
        echo ${name}_WHOLE=$code $(cat /tmp/out | grep active | tr '\n' ' ')
        cmp /dev/mapper/two /plain && echo ${name}_TWO=same
        cryptsetup close two
        cryptsetup open --header /tmp/header --key-file /key /dev/vda two && cmp /dev/mapper/two /plain && echo ${name}_AGAIN=same
        cryptsetup close two
    done
"#;

/// What begins to be encrypted is open under a name, whichever program is asked.
#[test]
fn what_begins_to_be_encrypted_is_mapped() {
    need_machine!();
    need!("cryptsetup");
    let scratch = Scratch::new();
    let machine = Machine::new().disk(&scratch.sized("disk", 16 << 20)).with_keyway();
    let machine = machine.file("key", "correct horse").file("plain", random(15, 16 << 20));
    let report = machine.limit(timeouts::LONG_MACHINE).run(OPENED);
    for (tool, is_named) in [("cryptsetup", true), ("tmpnamedcryptsetup", true), ("keyway", false)] {
        let said = |name: &str| match is_named {
            true => format!("0 /dev/mapper/{name} is now active and ready for online encryption."),
            false => "0".to_owned(),
        };
        for (key, value) in [
            ("BEGUN", said("one")),
            ("OPEN", "same".into()),
            ("SLOT", "11".into()),
            ("STATUS", "in-progress".into()),
            ("RESUMED", "0".into()),
            ("DONE", "same".into()),
            ("END", "none".into()),
            ("WHOLE", said("two")),
            ("TWO", "same".into()),
            ("AGAIN", "same".into()),
        ] {
            assert_eq!(report.value(&format!("{tool}_{key}")).trim(), value, "{tool}: {key}");
        }
    }
}
