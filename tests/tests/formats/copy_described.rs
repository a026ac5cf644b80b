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

/// Nothing tells a wrong passphrase; what it makes of the volume is copied, and said to be noise.
#[test]
fn noise_is_copied_with_a_warning() {
    let scratch = Scratch::new();
    let kind = "--type plain --source-cipher aes-xts-plain64 --source-key-size 512 --source-hash sha256";
    let volume =
        written(&scratch, kind, |run| run.arg("--password-command").arg(format!("printf '%s' '{OLD}'")));
    let luks = scratch.path("new.luks");
    let run = keyway("copy -q").args(CHEAP).args(kind).arg(&volume).arg(&luks);
    let said = run.stdin(format!("wrong\n{NEW}\n")).ok().errors();
    let warning =
        "begins with noise under this key and these options, which may not be its own: nothing on it tells.";
    assert!(said.starts_with("WARNING: ") && said.contains(warning), "{said}");
    assert_eq!(read_new(&luks).len(), 2 * LEN);
}
