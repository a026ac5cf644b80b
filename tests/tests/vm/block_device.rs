//! Keyway itself under Debian's kernel, on block devices, as root: its locks, sizes and writes
//! compared with dm-crypt's.

use crate::need_machine;
use keyway_tests::vm::Machine;
use keyway_tests::{Scratch, random};

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
