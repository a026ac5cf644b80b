//! `--type plain`: what cryptsetup 2.8 warns about and refuses, with its messages; and how keys are
//! derived from passphrases, tested by opening the same volume in other ways. (Agreement with the
//! kernel is tested in the test machine.)

use keyway_tests::{Run, Scratch, assert_same_bytes, keyway, random};
use std::path::Path;

const DEFAULTS: [&str; 3] = [
    "WARNING: Using default options for cipher (aes-xts-plain64, key size 256 bits) that could be incompatible with older \
     versions.",
    "WARNING: Using default options for hash (sha256) that could be incompatible with older versions.",
    "For plain mode, always use options --cipher, --key-size and if no keyfile or keyring is used, then also --hash.",
];
const NAMED: &str = "-c aes-xts-plain64 -s 256 -h sha256";

fn read(options: &str, volume: &Path) -> Run {
    keyway("read --type plain").args(options).arg(volume).stdin("passphrase\n")
}

#[test]
fn defaults_are_warned_about() {
    let scratch = Scratch::new();
    let volume = scratch.random_file("volume", 171, 1 << 16);
    let warned = read("-q", &volume).ok();
    assert_eq!(warned.errors().lines().collect::<Vec<_>>(), DEFAULTS);
    let named = read(NAMED, &volume).ok();
    assert_eq!(named.errors(), "");
    assert_same_bytes("by default", &warned.stdout, "named", &named.stdout);
    let key = scratch.random_file("key", 172, 32);
    let keyed = read("--key-file", &key).arg(&volume).ok();
    assert_eq!(keyed.errors().lines().collect::<Vec<_>>(), [DEFAULTS[0], DEFAULTS[2]]);
    let ignored = read(&format!("{NAMED} --keyfile-size 9 --key-file"), &key).arg(&volume).ok();
    assert_same_bytes("whatever --hash says", &ignored.stdout, "by key", &keyed.stdout);
    ignored.says("The --hash parameter is being ignored").says("The --keyfile-size option is being ignored");
}

#[test]
fn a_part_of_a_volume_opens_by_offset_and_skip() {
    let scratch = Scratch::new();
    let volume = scratch.sized("volume", 1 << 20);
    let plaintext = scratch.random_file("plaintext", 173, 1 << 20);
    keyway("write --type plain").args(NAMED).arg(&volume).arg(&plaintext).stdin("passphrase").ok();
    let part = read(&format!("{NAMED} --device-offset 64k --skip 128 --size 20"), &volume).ok();
    assert_same_bytes("the part", &part.stdout, "written", &random(173, 1 << 20)[65536..65536 + 10240]);
    let same = read(&format!("{NAMED} --device-offset 128s --skip 0x80 --device-size 10k"), &volume).ok();
    assert_same_bytes("in bytes", &same.stdout, "in sectors", &part.stdout);
}

#[test]
fn what_cannot_be_is_refused_in_cryptsetups_words() {
    let scratch = Scratch::new();
    let volume = scratch.random_file("volume", 174, 65536 + 512);
    for (options, line) in [
        ("--hash nonsense", "Hash algorithm nonsense not supported."),
        ("--hash sha256:33", "Key processing error (using hash sha256:33)"),
        ("--hash plain:20", "Key processing error (using hash plain:20)"),
        ("--key-size 12", "Key size must be a multiple of 8 bits"),
        ("--sector-size 1000", "Unsupported encryption sector size."),
        (
            "--sector-size 4096",
            "Device size is not aligned to requested sector size: 66048 bytes of data are not a multiple of \
             4096; 65536 are, and \
             --sector-size 512 fits.",
        ),
        ("--device-offset 65k", "Requested offset is beyond real size of device"),
        ("--device-offset 1000", "Device offset must be multiple of 512 bytes sector."),
        ("--size 130", "is too small."),
        ("--size 3 --device-size 512", "Options --device-size and --size cannot be combined."),
        ("--device-size 1000", "Device size must be multiple of 512 bytes sector."),
        (
            "--sector-size 1024 --device-offset 1s --size 3",
            "The device size is not multiple of the requested sector size.",
        ),
        (
            "--sector-size 1024 --device-offset 1s --skip 1",
            "The IV offset is not multiple of the requested sector size.",
        ),
        ("--iv-large-sectors", "Large IV sectors option is supported only for opening plain type device"),
        ("--header elsewhere", "--header does not apply to plain volumes: they have no header."),
        ("--key-size 24", "24"),
    ] {
        read(options, &volume).fails(1).says(line);
    }
    let luks = |options: &str| keyway("read").args(options).arg(&volume).fails(1);
    luks("--skip 1").says("Option --skip is supported only for open of plain and loopaes devices.");
    luks("--sector-size 4096")
        .says("Sector size option with open action is supported only for plain devices.");
    luks("--device-offset 512").says("Option --device-offset with open action is only supported for plain");
}
