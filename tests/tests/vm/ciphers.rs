//! LUKS volumes of unusual ciphers, both ways: Keyway creates and fills one and the kernel reads
//! it; cryptsetup and the kernel create and fill another in its place and Keyway reads it.

use crate::{letter, need_machine, weak};
use keyway_tests::peers::{CHEAP_LUKS2_PBKDF2, CHEAP_PBKDF2};
use keyway_tests::vm::{Machine, has_module};
use keyway_tests::{Scratch, assert_same_bytes, keyway, random, skip, test_name};
use std::fs;
use std::path::PathBuf;

/// cryptsetup 2.6 knows no ARIA, no SM4 and no capi: it leaves the volume's data to the kernel, but
/// not the keyslot.
macro_rules! keyslot {
    () => {
        " --keyslot-cipher aes-xts-plain64 --keyslot-key-size 512"
    };
}

/// Type, options, and the module without which this kernel lacks the cipher. (HCTR2 is
/// compared without a header, in `combinations`: cryptsetup 2.6 gives its keyslots and its
/// test of the cipher an IV of the wrong length, and fails.)
const VOLUMES: [(&str, &str, &str); 17] = [
    ("luks2", "-c serpent-xts-plain64 -s 512 --sector-size 4096", "serpent_generic"),
    ("luks1", "-c twofish-lrw-benbi -s 384", "twofish_generic"),
    ("luks1", "-c camellia-cbc-essiv:sha256 -s 256", "camellia_generic"),
    ("luks1", "-c cast6-xts-plain -s 256", "cast6_generic"),
    ("luks1", "-c anubis-cbc-plain64 -s 320", "anubis"),
    ("luks2", "-c xchacha12,aes-adiantum-plain64 -s 256 --sector-size 4096", "adiantum"),
    ("luks1", "-c xchacha20,aes-adiantum-plain -s 256", "adiantum"),
    ("luks2", concat!("-c aria-xts-plain64 -s 512", keyslot!()), "aria_generic"),
    ("luks2", concat!("-c sm4-xts-plain64 -s 256 --sector-size 2048", keyslot!()), "sm4_generic"),
    ("luks1", "-c serpent-cbc-plain64 -s 256", "serpent_generic"),
    ("luks2", "-c aes-ctr-plain64 -s 256", "dm-crypt"),
    ("luks1", "-c cast5-cbc-plain64 -s 128", "cast5_generic"),
    ("luks1", "-c des3_ede-cbc-plain64 -s 192", "des_generic"),
    ("luks1", "-c blowfish-cbc-essiv:sha256 -s 448", "blowfish_generic"),
    ("luks1", "-c khazad-pcbc-benbi -s 128", "khazad"),
    ("luks2", "-c seed-cbc-plain64be -s 128 --sector-size 4096", "seed"),
    ("luks2", concat!("-c capi:xts(camellia)-plain64 -s 512", keyslot!()), "camellia_generic"),
];

#[test]
fn volumes_of_unusual_ciphers_open_both_ways() {
    need_machine!();
    let scratch = Scratch::new();
    let key = scratch.file("key", "correct horse battery staple");
    let ours = scratch.random_file("ours", 91, 1 << 20);
    let theirs = random(92, 1 << 20);
    let volumes = volumes();
    let disks: Vec<PathBuf> =
        (0..volumes.len()).map(|number| scratch.sized(&format!("disk-{number}"), 20 << 20)).collect();

    for (disk, options) in disks.iter().zip(&volumes) {
        keyway("luksFormat -q").args(options).args(weak(options)).arg(disk).arg(&key).ok();
        keyway("write").args(weak(options)).arg("--key-file").arg(&key).arg(disk).arg(&ours).ok();
    }
    let script: String = volumes
        .iter()
        .enumerate()
        .map(|(number, options)| {
            let disk = letter(number);
            let options = options.replace('(', "\\(").replace(')', "\\)");
            format!(
                "cryptsetup open --key-file /key /dev/vd{disk} volume
                 head -c 1048576 /dev/mapper/volume | cmp - /ours && echo OURS_{disk}=same
                 cryptsetup close volume
                 cryptsetup luksFormat -q {options} /dev/vd{disk} /key
                 cryptsetup open --key-file /key /dev/vd{disk} volume
                 dd if=/theirs of=/dev/mapper/volume bs=64k conv=fsync 2>/dev/null
                 cryptsetup close volume\n"
            )
        })
        .collect();
    let machine = disks.iter().fold(Machine::new(), |machine, disk| machine.disk(disk));
    let machine = machine.file("key", fs::read(&key).unwrap()).file("ours", fs::read(&ours).unwrap());
    let report = machine.file("theirs", &theirs).run(&script);

    for (number, (disk, options)) in disks.iter().zip(&volumes).enumerate() {
        eprintln!("{options}");
        report.has(&format!("OURS_{}", letter(number)), "same");
        let read =
            keyway("read --length 1048576").args(weak(options)).arg("--key-file").arg(&key).arg(disk).ok();
        assert_same_bytes("keyway read", &read.stdout, "written by the kernel", &theirs);
    }
}

/// The options of all volumes whose cipher this kernel has.
fn volumes() -> Vec<String> {
    let mut volumes = Vec::new();
    for (kind, options, module) in VOLUMES {
        let cost = if kind == "luks1" { CHEAP_PBKDF2 } else { CHEAP_LUKS2_PBKDF2 };
        match has_module(module) {
            true => volumes.push(format!("--type {kind} {cost} {options}")),
            false => skip::record(test_name!(), &format!("{options}: this kernel has no {module}")),
        }
    }
    volumes
}
