//! Detached headers: the header in one file, the data in another;
//! mapped by the kernel, read and written by Keyway.

use crate::need_machine;
use keyway_tests::peers::CHEAP_ARGON2;
use keyway_tests::vm::Machine;
use keyway_tests::{Scratch, assert_same_bytes, cryptsetup, keyway, random};
use std::fs;

#[test]
fn data_under_a_detached_header_is_the_same_for_the_kernel() {
    need_machine!();
    let scratch = Scratch::new();
    let key = scratch.file("key", "correct horse battery staple");
    let data = scratch.sized("data", 8 << 20);
    let header = scratch.path("header");
    keyway("luksFormat -q --type luks2 --sector-size 4096 --offset 2048")
        .args(CHEAP_ARGON2)
        .arg("--header")
        .arg(&header)
        .arg(&data)
        .arg(&key)
        .ok();
    let plaintext = scratch.random_file("plaintext", 81, 7 << 20);
    keyway("write --key-file").arg(&key).arg("--header").arg(&header).arg(&data).arg(&plaintext).ok();
    cryptsetup("luksDump").arg(&header).ok().says("offset: 1048576 [bytes]");

    let patch = random(82, 1 << 20);
    let disk = scratch.path("header.disk");
    let mut padded = fs::read(&header).unwrap();
    padded.resize(padded.len().next_multiple_of(512), 0);
    fs::write(&disk, padded).unwrap();
    let machine = Machine::new().disk(&data).disk(&disk).file("key", fs::read(&key).unwrap());
    let report = machine.file("plaintext", fs::read(&plaintext).unwrap()).file("patch", &patch).run(
        "cryptsetup open --key-file /key --header /dev/vdb /dev/vda volume
         cmp /dev/mapper/volume /plaintext && echo KERNEL=same
         dd if=/patch of=/dev/mapper/volume bs=64k seek=16 conv=fsync 2>/dev/null
         cryptsetup close volume",
    );
    report.has("KERNEL", "same");
    let mut expected = fs::read(&plaintext).unwrap();
    expected[1 << 20..2 << 20].copy_from_slice(&patch);
    let read = keyway("read --key-file").arg(&key).arg("--header").arg(&header).arg(&data).ok();
    assert_same_bytes("keyway read", &read.stdout, "patched by the kernel", &expected);
}
