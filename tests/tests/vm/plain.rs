//! Plain dm-crypt, which has no header to agree on: Keyway and the kernel must derive the same from
//! a passphrase and cryptsetup's options. Each volume is written by both and read by both.

use crate::{letter, need_machine};
use keyway_tests::vm::Machine;
use keyway_tests::{Run, Scratch, assert_same_bytes, keyway, random};
use std::fs;
use std::path::PathBuf;

/// The source of the key.
enum Key {
    /// Standard input, up to the first newline.
    Typed(&'static str),
    /// Standard input by `--key-file -`, newlines included.
    Piped(&'static str),
    /// The file `/key`.
    File,
}
use Key::{File, Piped, Typed};

/// cryptsetup's options without the offset, the offset in sectors, the key.
const VOLUMES: [(&str, u64, Key); 14] = [
    ("-c aes-xts-plain64 -s 512 -h sha512", 0, Typed("correct horse")),
    // Keys longer than the digest.
    ("-c aes-xts-plain64 -s 512 -h ripemd160", 0, Typed("correct horse")),
    ("-c aes-xts-plain64 -s 512 -h sha1", 0, Typed("")),
    ("-c aes-cbc-essiv:sha256 -s 256 -h ripemd160", 0, Typed("battery staple")),
    ("-c aes -s 192 -h sha256", 0, Typed("battery staple")),
    // Padded with zeros.
    ("-c aes-cbc-plain -s 128 -h sha256:10", 0, Typed("battery staple")),
    ("-c aes-xts-plain64 -s 256 -h plain", 0, Typed("too short for a key, and different")),
    ("-c aes-cbc-plain64 -s 256 -h plain", 0, Typed("short")),
    ("-c aes-xts-plain64 -s 256 -h plain:30", 0, Typed("thirty bytes and then some more of it")),
    ("-c aes-xts-plain64 -s 512 --keyfile-offset 7", 0, File),
    ("-c twofish-cbc-essiv:sha256 -s 256 -h sha256", 0, Piped("two\nlines\n")),
    (
        "-c aes-xts-plain64 -s 256 -h plain",
        0,
        Piped("exactly thirty-two bytes and no\nmore, though there are"),
    ),
    ("-c aes-xts-plain64 -s 512 -h sha256 --sector-size 4096 --skip 24 --size 1600", 16, Typed("x")),
    (
        "-c aes-xts-plain64 -s 256 -h sha256 --sector-size 2048 --iv-large-sectors --skip 8 --device-size 768k",
        4,
        Typed("x"),
    ),
];

/// Keyway writes at the start, the kernel after that.
const OURS: usize = 300_001;
const THEIRS_AT: usize = 327_680;
const THEIRS: usize = 65_536;

#[test]
fn plain_volumes_are_the_same_for_the_kernel() {
    need_machine!();
    let scratch = Scratch::new();
    let key = scratch.random_file("key", 131, 100);
    let ours = scratch.random_file("ours", 132, OURS);
    let theirs = random(133, THEIRS);
    let disks: Vec<PathBuf> = (0..VOLUMES.len())
        .map(|number| scratch.random_file(&format!("disk-{number}"), 140, 1 << 20))
        .collect();
    let command = |verb: &str, (options, offset, source): &(&str, u64, Key)| -> Run {
        let run = keyway(verb).args(&format!("-q --type plain {options} --device-offset {offset}s"));
        match source {
            Typed(passphrase) => run.stdin(format!("{passphrase}\n")),
            Piped(passphrase) => run.arg("--key-file=-").stdin(passphrase),
            File => run.arg("--key-file").arg(&key),
        }
    };

    for (disk, volume) in disks.iter().zip(&VOLUMES) {
        command("write", volume).arg(disk).arg(&ours).ok();
    }
    let script = VOLUMES.iter().enumerate().map(|(number, (options, offset, source))| {
        let disk = letter(number);
        let (pipe, key) = match source {
            Typed(passphrase) => (format!("echo '{passphrase}'"), ""),
            Piped(passphrase) => (format!("printf '%s' '{passphrase}'"), "--key-file=-"),
            File => ("true".to_owned(), "--key-file /key"),
        };
        format!(
            "{pipe} | cryptsetup open -q --type plain {options} --offset {offset} {key} /dev/vd{disk} volume
             head -c {OURS} /dev/mapper/volume | cmp - /ours && echo OURS_{disk}=same
             dd if=/theirs of=/dev/mapper/volume bs=65536 seek={} conv=fsync 2>/dev/null
             echo SIZE_{disk}=$(blockdev --getsize64 /dev/mapper/volume)
             cryptsetup close volume\n",
            THEIRS_AT / 65536
        )
    });
    let script: String = script.collect();
    let machine = disks.iter().fold(Machine::new(), |machine, disk| machine.disk(disk));
    let machine = machine.file("key", fs::read(&key).unwrap()).file("ours", fs::read(&ours).unwrap());
    let report = machine.file("theirs", &theirs).run(&script);

    for (number, (disk, volume)) in disks.iter().zip(&VOLUMES).enumerate() {
        eprintln!("{}", volume.0);
        report.has(&format!("OURS_{}", letter(number)), "same");
        let read = command("read", volume).arg(disk).ok().stdout;
        report.has(&format!("SIZE_{}", letter(number)), &read.len().to_string());
        assert_same_bytes("ours", &read[..OURS], "written", &fs::read(&ours).unwrap());
        let found = &read[THEIRS_AT..THEIRS_AT + THEIRS];
        assert_same_bytes("keyway read", found, "written by the kernel", &theirs);
    }
}
