//! Volumes created and filled by cryptsetup and the kernel: Keyway reads the same bytes, writes
//! others and changes keys; the kernel then reads what Keyway wrote, opened by the key that Keyway
//! added.

use crate::{letter, matrix, need_machine, weak};
use keyway_tests::peers::CHEAP_PBKDF2;
use keyway_tests::vm::Machine;
use keyway_tests::{Scratch, assert_same_bytes, keyway, random};
use std::fs;
use std::path::PathBuf;

/// Where Keyway writes, and how much: the range neither begins nor ends at a sector boundary.
const PATCH_AT: usize = 100_003;
const PATCH: usize = 55_555;

#[test]
fn keyway_reads_what_the_kernel_wrote_and_the_kernel_what_keyway_wrote() {
    need_machine!();
    let scratch = Scratch::new();
    let key = scratch.file("key", "correct horse battery staple");
    let second_key = scratch.file("second.key", "another key");
    let plaintext = random(61, 1 << 20);
    let options = matrix();
    let disks: Vec<PathBuf> =
        (0..options.len()).map(|number| scratch.sized(&format!("disk-{number}"), 26 << 20)).collect();

    let made = disks.iter().fold(Machine::new(), |machine, disk| machine.disk(disk));
    let script = options.iter().enumerate().map(|(number, options)| {
        let disk = letter(number);
        format!(
            "cryptsetup luksFormat -q {options} /dev/vd{disk} /key
             cryptsetup open --key-file /key /dev/vd{disk} volume
             dd if=/plaintext of=/dev/mapper/volume bs=64k conv=fsync 2>/dev/null
             cryptsetup close volume\n"
        )
    });
    let script: String = script.collect();
    made.file("key", fs::read(&key).unwrap()).file("plaintext", &plaintext).run(&script);

    let patch = scratch.random_file("patch", 62, PATCH);
    for (disk, options) in disks.iter().zip(&options) {
        eprintln!("{options}");
        let length = format!("--length {}", plaintext.len());
        let read =
            keyway("read").args(&length).args(weak(options)).arg("--key-file").arg(&key).arg(disk).ok();
        assert_same_bytes("keyway read", &read.stdout, "written by the kernel", &plaintext);
        let offset = format!("--offset {PATCH_AT}");
        keyway("write")
            .args(&offset)
            .args(weak(options))
            .arg("--key-file")
            .arg(&key)
            .arg(disk)
            .arg(&patch)
            .ok();
        keyway("luksAddKey -q --pbkdf pbkdf2")
            .args(CHEAP_PBKDF2)
            .args(weak(options))
            .arg("--key-file")
            .arg(&key)
            .arg(disk)
            .arg(&second_key)
            .ok();
        keyway("luksKillSlot -q")
            .args(weak(options))
            .arg("--key-file")
            .arg(&second_key)
            .arg(disk)
            .arg("0")
            .ok();
    }

    let mut patched = plaintext;
    patched[PATCH_AT..PATCH_AT + PATCH].copy_from_slice(&fs::read(&patch).unwrap());
    let machine = disks.iter().fold(Machine::new(), |machine, disk| machine.disk(disk));
    let letters: String = (0..disks.len()).map(letter).flat_map(|c| [c, ' ']).collect();
    let report = machine.file("key", fs::read(&second_key).unwrap()).file("patched", &patched).run(&format!(
        "for disk in {letters}; do
             cryptsetup open --key-file /key /dev/vd$disk volume
             head -c {} /dev/mapper/volume | cmp - /patched && echo READ_$disk=same
             cryptsetup close volume
         done",
        patched.len()
    ));
    for (number, options) in options.iter().enumerate() {
        eprintln!("{options}");
        report.has(&format!("READ_{}", letter(number)), "same");
    }
}
