//! `copy` of volumes that only options describe: plain dm-crypt and loop-AES, whose options begin with `--source`.

use crate::loopaes::key_file;
use keyway_tests::{Run, Scratch, cryptsetup, keyway, random};
use std::fs;
use std::path::{Path, PathBuf};

const LEN: usize = 1 << 20;
const OLD: &str = "old passphrase";
const NEW: &str = "new passphrase";
const CHEAP: &str = "--pbkdf pbkdf2 --pbkdf-force-iterations 1000";

/// What `read` and `write` call the options that are `copy`'s `--source-…`.
fn of_read(options: &str) -> String {
    options
        .replace("--source-offset", "--device-offset")
        .replace("--source-size", "--device-size")
        .replace("--source-", "--")
}

/// A file system's start: what is no noise.
fn content() -> Vec<u8> {
    let mut content = random(7, LEN);
    content[..4096].fill(0);
    content
}

/// A device with such a volume in it, written by `write`.
fn written(scratch: &Scratch, options: &str, key: impl Fn(Run) -> Run) -> PathBuf {
    let volume = scratch.file("volume", random(1, 2 * LEN));
    let write = keyway("write -q").args(&of_read(options)).arg(&volume);
    key(write).stdin(content()).ok();
    volume
}

fn read_new(volume: &Path) -> Vec<u8> {
    keyway("read").arg(volume).stdin(NEW).ok().quiet().stdout
}

#[test]
fn a_plain_volume_becomes_luks_veracrypt_or_raw_in_one_pass() {
    let scratch = Scratch::new();
    for options in [
        "--source-cipher aes-xts-plain64 --source-key-size 512 --source-hash sha256",
        "--source-cipher serpent-cbc-essiv:sha256 --source-key-size 256 --source-hash ripemd160 --source-offset 64k \
         --source-skip 24 --source-size 1M",
        "--source-cipher aes-xts-plain64 --source-key-size 256 --source-hash sha512 --source-sector-size 4096 \
         --source-iv-large-sectors",
    ] {
        let kind = format!("--type plain {options}");
        let volume =
            written(&scratch, &kind, |run| run.arg("--password-command").arg(format!("printf '%s' '{OLD}'")));
        let plain = keyway("read").args(&of_read(&kind)).arg(&volume).stdin(OLD).ok().stdout;
        assert!(plain.starts_with(&content()), "{options}");
        let before = fs::read(&volume).unwrap();
        let to = |options: &str, name: &str| {
            let to = scratch.path(name);
            let run = keyway("copy -q --force").args(options).args(&kind).arg(&volume).arg(&to);
            run.stdin(format!("{OLD}\n{NEW}\n")).ok().quiet();
            to
        };
        let luks = to(&format!("{CHEAP} --cipher twofish-xts-plain64 --hash sha512"), "new.luks");
        assert!(read_new(&luks) == plain, "{options}");
        cryptsetup("luksDump").arg(&luks).ok().says("cipher: twofish-xts-plain64");
        assert!(fs::read(to("--to raw", "new.img")).unwrap() == plain, "{options}");
        let container = to("--to veracrypt", "new.hc");
        let shown =
            keyway("read --type tcrypt --hash sha512 --cipher aes").arg(container).stdin(NEW).ok().stdout;
        assert!(shown.starts_with(&plain), "{options}");
        assert!(fs::read(&volume).unwrap() == before);
    }
    // A key file is the key.
    let key = scratch.file("key", random(9, 64));
    let options = "--type plain --source-cipher aes-xts-plain64 --source-key-size 512";
    let volume = written(&scratch, options, |run| run.arg("--key-file").arg(&key));
    let new = scratch.file("new", NEW);
    let luks = scratch.path("by-key.luks");
    let run = keyway("copy -q")
        .args(CHEAP)
        .args(options)
        .arg("--key-file")
        .arg(&key)
        .arg("--new-keyfile")
        .arg(&new);
    run.arg(&volume).arg(&luks).ok().quiet();
    assert!(read_new(&luks).starts_with(&content()));
}

#[test]
fn a_loop_aes_volume_becomes_luks_in_one_pass() {
    let scratch = Scratch::new();
    for (lines, options) in [
        (1, ""),
        (64, "--source-key-size 128"),
        (65, "--source-cipher serpent --source-hash whirlpool --source-offset 4096 --source-skip 24"),
    ] {
        let (keys, kind) = (scratch.file("keys", key_file(lines)), format!("--type loopaes {options}"));
        let volume = written(&scratch, &kind, |run| run.arg("--key-file").arg(&keys));
        let (luks, new) = (scratch.path("new.luks"), scratch.file("new", NEW));
        let copy = keyway("copy -q --force").args(CHEAP).args(&kind).arg("--key-file").arg(&keys);
        copy.arg("--new-keyfile").arg(&new).arg(&volume).arg(&luks).ok().quiet();
        assert!(read_new(&luks).starts_with(&content()), "{lines} {options}");
    }
}

/// Nothing tells a wrong passphrase or option; what it makes of the volume is copied, and said to be noise.
#[test]
fn noise_is_copied_with_a_warning() {
    let scratch = Scratch::new();
    let warned = |said: &str, device: &Path| {
        let device = device.display();
        let warning = format!(
            "WARNING: {device} reads as noise with this key and these options, at its start or in parts: they \
             may be wrong, and nothing on it confirms them.\n"
        );
        assert_eq!(said, warning);
    };
    let plain = "--type plain --source-cipher aes-xts-plain64 --source-key-size 512 --source-hash sha256";
    let essiv =
        "--type plain --source-cipher aes-cbc-essiv:sha256 --source-key-size 256 --source-hash sha256";
    let large = format!("{plain} --source-sector-size 4096");
    for (wrote, reads, passphrase) in [
        (plain, plain, "wrong"),
        (plain, &*large, OLD),
        (&*large, plain, OLD),
        (essiv, &*format!("{essiv} --source-skip 24"), OLD),
        (essiv, &*format!("{essiv} --source-offset 512"), OLD),
    ] {
        let volume =
            written(&scratch, wrote, |run| run.arg("--password-command").arg(format!("printf '%s' '{OLD}'")));
        for to in [CHEAP, "--to raw", "--to veracrypt"] {
            let new = scratch.path("new");
            let run = keyway("copy -q --force").args(to).args(reads).arg(&volume).arg(&new);
            warned(&run.stdin(format!("{passphrase}\n{NEW}\n")).ok().errors(), &volume);
        }
    }
    let [keys, other] =
        [(65, "keys"), (64, "other")].map(|(lines, name)| scratch.file(name, key_file(lines)));
    let volume = written(&scratch, "--type loopaes", |run| run.arg("--key-file").arg(&keys));
    let run = keyway("copy -q --force --to raw --type loopaes --key-file")
        .arg(other)
        .arg(&volume)
        .arg(scratch.path("new"));
    warned(&run.ok().errors(), &volume);
}

#[test]
fn a_source_is_described_by_its_own_options_alone() {
    let scratch = Scratch::new();
    let (volume, new) = (scratch.file("volume", random(1, LEN)), scratch.path("new"));
    let key = scratch.file("key", random(9, 64));
    let whole = "--type plain --source-cipher aes-xts-plain64 --source-key-size 512";
    let keyed = format!("{whole} --key-file {}", key.display());
    let refused = |options: &str| {
        let run = keyway("copy -q").args(options).arg(&volume).arg(&new).stdin(format!("{OLD}\n{NEW}\n"));
        let said = run.fails(1).errors();
        assert!(!new.exists(), "{options}");
        said.strip_prefix("keyway: ").unwrap_or(&said).trim_end().to_owned()
    };
    let others = "Options that begin with --source describe a source of --type plain or loopaes; other \
                  volumes have a header that describes them.";
    for options in
        ["--source-cipher aes-xts-plain64", "--to raw --source-skip 1", "--type bitlk --source-hash sha256"]
    {
        assert_eq!(refused(options), others, "{options}");
    }
    for (options, said) in [
        (
            &*format!("{keyed} --source-hash sha256"),
            "--source-hash is for a passphrase; a plain volume's key file is the key itself.",
        ),
        (&*format!("{keyed} --header x"), "--header does not apply to plain volumes: they have no header."),
        (&*format!("{keyed} --source-offset 700"), "Device offset must be multiple of 512 bytes sector."),
        (
            &*format!("{keyed} --source-sector-size 0"),
            "--source-key-size, --source-size and --source-sector-size must be greater than 0.",
        ),
        (
            "--type loopaes --source-sector-size 4096",
            "--source-sector-size does not apply to loop-AES volumes.",
        ),
        ("--type loopaes --header x", "--header does not apply to loop-AES volumes."),
    ] {
        assert_eq!(refused(options), said, "{options}");
    }
    // The new volume's options stay its own.
    let container = scratch.path("container");
    let lines = "--to veracrypt --cipher serpent --hash sha256";
    let run = keyway("copy -q").args(lines).args(&keyed).arg(&volume).arg(&container);
    run.stdin(format!("{NEW}\n")).ok();
    keyway("read --type tcrypt --hash sha256 --cipher serpent").arg(container).stdin(NEW).ok();
    let luks1 = keyway("copy -q --to luks1 --key-size 256 --pbkdf-force-iterations 1000")
        .args(&keyed)
        .arg(&volume)
        .arg(&new);
    luks1.stdin(format!("{NEW}\n")).ok();
    cryptsetup("luksDump").arg(&new).ok().says("MK bits:       \t256");
}
