//! The real kernel: Debian's dm-crypt maps what Keyway made, and Keyway reads what the kernel wrote.

use keyway_tests::{Scratch, need, need_that, vm};

#[test]
fn the_machine_boots_maps_and_unmaps() {
    need!("qemu-system-x86_64", "cryptsetup");
    need_that!(vm::is_prepared(), "no kernel: ./dev test vm fetches it");
    let scratch = Scratch::new();
    let disk = scratch.sized("disk", 24 << 20);
    let report = vm::Machine::new().disk(&disk).run(
        "cryptsetup luksFormat -q --type luks2 --pbkdf pbkdf2 --pbkdf-force-iterations 1000 /dev/vda <<X\nsecret\nX\n\
         echo secret | cryptsetup open /dev/vda v; echo SIZE=$(blockdev --getsize64 /dev/mapper/v)
         echo TABLE=$(dmsetup table v 2>/dev/null)",
    );
    report.has("SIZE", &(8 << 20).to_string());
}
