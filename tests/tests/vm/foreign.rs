//! What the kernel can do and Keyway cannot yet: dumped as by cryptsetup, refused by name, left
//! unchanged.

use crate::need_machine;
use keyway_tests::peers::CHEAP_ARGON2;
use keyway_tests::vm::Machine;
use keyway_tests::{Scratch, assert_same_lines, cryptsetup, keyway};
use std::fs;

#[test]
fn other_modes_are_refused_by_name() {
    need_machine!();
    let scratch = Scratch::new();
    let key = scratch.file("key", "correct horse battery staple");
    let disks = [("cts", scratch.sized("cts", 24 << 20))];
    let machine = disks.iter().fold(Machine::new(), |machine, (_, disk)| machine.disk(disk));
    machine.file("key", fs::read(&key).unwrap()).run(&format!(
        "cryptsetup luksFormat -q {CHEAP_ARGON2} -c 'capi:cts(cbc(aes))-plain64' -s 256 /dev/vda /key"
    ));
    let names = ["cts(cbc(aes))"];
    for ((_, disk), name) in disks.iter().zip(names) {
        let before = fs::read(disk).unwrap();
        let dumps = [keyway, cryptsetup].map(|tool| tool("luksDump").arg(disk).ok().text());
        assert_same_lines("keyway luksDump", &dumps[0], "cryptsetup luksDump", &dumps[1]);
        keyway("isLuks").arg(disk).ok();
        keyway("read --key-file").arg(&key).arg(disk).fails(1).says(name);
        assert!(fs::read(disk).unwrap() == before, "a refusal changed the volume");
    }
}
