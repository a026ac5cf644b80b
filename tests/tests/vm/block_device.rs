//! Keyway itself under Debian's kernel, on block devices, as root: its locks, sizes and writes
//! compared with dm-crypt's.

use crate::need_machine;
use keyway_tests::vm::{Machine, module};
use keyway_tests::{Scratch, need_that, random};

#[test]
fn keyway_formats_fills_and_reads_a_block_device() {
    need_machine!();
    let scratch = Scratch::new();
    let disk = scratch.sized("disk", 24 << 20);
    let plaintext = random(71, 3 << 20);
    let report = Machine::new().disk(&disk).with_keyway().file("key", "secret").file("plaintext", plaintext).run(
        "keyway luksFormat -q --type luks2 --pbkdf-force-iterations 4 --pbkdf-memory 32 --pbkdf-parallel 1 /dev/vda /key
         keyway isLuks /dev/vda
         keyway luksUUID /dev/vda >/tmp/ours; cryptsetup luksUUID /dev/vda | cmp - /tmp/ours && echo UUID=same
         keyway luksDump /dev/vda >/tmp/ours; cryptsetup luksDump /dev/vda | cmp - /tmp/ours && echo DUMP=same
         keyway write --key-file /key /dev/vda /plaintext
         cryptsetup open --key-file /key /dev/vda volume
         head -c 3145728 /dev/mapper/volume | cmp - /plaintext && echo KERNEL=same
         echo SIZE=$(blockdev --getsize64 /dev/mapper/volume)
         cryptsetup close volume
         keyway read --key-file /key --length 3145728 /dev/vda | cmp - /plaintext && echo KEYWAY=same
         keyway read --key-file /key /dev/vda | wc -c >/tmp/length && echo LENGTH=$(cat /tmp/length)",
    );
    for key in ["UUID", "DUMP", "KERNEL", "KEYWAY"] {
        report.has(key, "same");
    }
    report.has("SIZE", &(8 << 20).to_string());
    report.has("LENGTH", &(8 << 20).to_string());
}

/// The header cannot be on a zoned device; its data can.
#[test]
fn a_zoned_device_has_its_header_elsewhere() {
    need_machine!();
    let modules = ["configfs", "null_blk"].map(|name| (name, module(name)));
    need_that!(modules.iter().all(|(_, file)| file.is_some()), "the module null_blk");
    let script = r#"
        insmod /configfs.ko
        insmod /null_blk.ko memory_backed=1 gb=1 zoned=1 zone_size=64
        cheap="--pbkdf pbkdf2 --pbkdf-force-iterations 1000"
        for type in luks1 luks2; do
            keyway luksFormat -q --type $type $cheap /dev/nullb0 /key 2>/tmp/said && code=0 || code=$?
            echo "ON_$type=$code $(head -n 1 /tmp/said)"
            keyway luksFormat -q --type $type $cheap --header /tmp/$type /dev/nullb0 /key && echo "APART_$type=made"
            keyway open --key-file /key --header /tmp/$type /dev/nullb0 $type && echo "OPEN_$type=yes"
            keyway close $type
        done
    "#;
    let machine = Machine::new().with_keyway().file("key", "secret");
    let machine = modules
        .into_iter()
        .fold(machine, |machine, (name, file)| machine.file(&format!("{name}.ko"), file.unwrap_or_default()));
    let report = machine.run(script);
    for kind in ["luks1", "luks2"] {
        let refused = "1 Zoned device /dev/nullb0 cannot be used for LUKS header.";
        report.has(&format!("ON_{kind}"), refused);
        report.has(&format!("APART_{kind}"), "made");
        report.has(&format!("OPEN_{kind}"), "yes");
    }
}

/// In a file system without room for a whole header, the keyslots area is as large as its file.
#[test]
fn a_detached_headers_file_that_cannot_grow_is_enough() {
    need_machine!();
    let script = r#"
        mount -t tmpfs -o size=8M tmpfs /mnt
        cheap="--pbkdf pbkdf2 --pbkdf-force-iterations 1000"
        for program in cryptsetup keyway; do
            head -c 1052672 /dev/zero >/mnt/header
            truncate -s 20M /tmp/data
            $program luksFormat -q --type luks2 $cheap --header /mnt/header /tmp/data /key >/tmp/said 2>&1 || echo FAILED=$program
            echo "SAID_$program=$(cat /tmp/said)"
            echo "LENGTH_$program=$(stat -c %s /mnt/header)"
            cryptsetup open --test-passphrase --key-file /key /mnt/header && echo "OPENS_$program=yes"
        done
        umount /mnt
    "#;
    let report = Machine::new().with_keyway().file("key", "secret").run(script);
    for program in ["cryptsetup", "keyway"] {
        report.has(
            &format!("SAID_{program}"),
            "WARNING: keyslots area (1019904 bytes) is very small, available LUKS2 keyslot count is very limited.",
        );
        report.has(&format!("LENGTH_{program}"), "1052672");
        report.has(&format!("OPENS_{program}"), "yes");
    }
}
