//! `toLuks`: TrueCrypt and VeraCrypt volumes become LUKS2 where they are, and cryptsetup opens them.

use super::tcplay::{Loop, create};
use keyway_tests::background::killed;
use keyway_tests::{Run, Scratch, cryptsetup, keyway, need, need_that, random};
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::time::Duration;

const OLD: &str = "correct horse battery staple";
const NEW: &str = "secret";
pub(super) const RESERVED: usize = 131_072;
const TO_LUKS: &str = "toLuks -q --type tcrypt --pbkdf pbkdf2 --pbkdf-force-iterations 1000";

/// A VeraCrypt volume that is full, and what is in it.
pub(super) fn made(scratch: &Scratch, line: &str, len: usize) -> (PathBuf, Vec<u8>) {
    let (file, plain) = (scratch.path("disk.hc"), random(5, len - 2 * RESERVED));
    let format = format!("tcryptFormat --quick --veracrypt-pim 1 --size {len} {line}");
    keyway(&format).arg(&file).stdin(OLD).ok().quiet();
    let content = scratch.file("plain", &plain);
    keyway("write -q --type tcrypt --veracrypt-pim 1 --password-command")
        .arg(format!("printf %s '{OLD}'"))
        .arg(&file)
        .arg(content)
        .ok();
    (file, plain)
}

pub(super) fn to_luks(line: &str, file: &Path, header: &Path) -> Run {
    keyway(&format!("{TO_LUKS} {line}")).arg(file).arg(header).stdin(format!("{OLD}\n{NEW}\n"))
}

fn with_header(line: &str, file: &Path, header: &Path) -> Run {
    keyway(&format!("{line} --header")).arg(header).arg(file).stdin(NEW)
}

/// Whether cryptsetup opens it.
fn by_cryptsetup(file: &Path, header: &Path) -> Run {
    cryptsetup("open -q --test-passphrase --header").arg(header).arg(file).stdin(NEW)
}

/// The old passphrase opens nothing, by either header.
fn check_old_is_gone(file: &Path) {
    for place in ["", "--tcrypt-backup"] {
        let line = format!("read --type tcrypt --hash sha512 --veracrypt-pim 1 {place}");
        keyway(&line).arg(file).stdin(OLD).fails(2);
    }
}

#[test]
fn a_volume_of_veracrypt_becomes_one_that_cryptsetup_opens() {
    need!("cryptsetup");
    let scratch = Scratch::new();
    for (number, old) in ["aes", "serpent", "twofish", "camellia"].iter().enumerate() {
        let (file, plain) = made(&scratch, &format!("--cipher {old}"), 4 << 20);
        let header = scratch.path(&format!("header-{number}"));
        let narrowed = "--veracrypt-pim 1";
        to_luks(narrowed, &file, &header).ok().quiet();
        let now = with_header("read", &file, &header).ok().stdout;
        assert_eq!(now.len(), 4 << 20, "the volume is all of its device");
        assert!(now[..plain.len()] == plain, "{old}");
        by_cryptsetup(&file, &header).ok();
        let shown = cryptsetup("luksDump").arg(&header).ok().text();
        assert!(shown.contains("  0: crypt\n\toffset: 0 [bytes]\n\tlength: (whole device)\n"), "{shown}");
        assert!(!shown.contains("Requirements") && shown.matches(": luks2\n").count() == 1, "{shown}");
        check_old_is_gone(&file);
        fs::remove_file(&file).unwrap();
    }
}

/// As it stands when it has begun, cut off and complete: by Keyway always, by cryptsetup in the end.
#[test]
fn what_is_half_done_is_whole_and_goes_on() {
    need!("cryptsetup");
    let scratch = Scratch::new();
    let (file, plain) = made(&scratch, "", 40 << 20);
    let header = scratch.path("header");
    to_luks("--veracrypt-pim 1 --init-only", &file, &header).ok().quiet();
    check_old_is_gone(&file);
    let read = || with_header("read", &file, &header).ok().stdout;
    assert!(read() == plain, "not a sector has moved");
    let refused = by_cryptsetup(&file, &header).outcome();
    assert_ne!(refused.code, Some(0), "cryptsetup would count its IVs from 0");
    to_luks("--veracrypt-pim 1", &file, &header)
        .fails(5)
        .says("already exists: name a new file for the header.")
        .says("keyway reencrypt --resume-only --header");
    // Killed in the middle, twice. What moves first is the start of the device.
    let start = || {
        let mut bytes = [0; 4096];
        fs::File::open(&file).unwrap().read_exact(&mut bytes).unwrap();
        bytes
    };
    let (new, before) = (scratch.file("new", NEW), start());
    let line = format!("reencrypt -q --resume-only --limit-rate 20M --hotzone-size 1M -d {}", new.display());
    for part in 1..=2 {
        killed(&with_header(&line, &file, &header), || start() != before, Duration::from_millis(300 * part));
        assert!(start() != before, "it has begun");
        assert!(read() == plain, "after kill {part}");
    }
    let (half, of_half) = (fs::read(&file).unwrap(), fs::read(&header).unwrap());
    let by_cryptsetup_too = |line: &str| {
        let run = cryptsetup(line).arg(&new).arg("--header").arg(&header).arg(&file);
        if line.starts_with("luksAddKey") { run.arg(&new) } else { run }
    };
    by_cryptsetup_too("reencrypt -q --resume-only -d").fails(1);
    by_cryptsetup_too("luksAddKey -q -d").fails(1).says("Unmet LUKS2 requirements detected.");
    assert!(fs::read(&file).unwrap() == half && fs::read(&header).unwrap() == of_half);
    // It is written to meanwhile.
    let page = random(6, 4096);
    let written = with_header("write -q --offset 39000000", &file, &header).arg(scratch.file("page", &page));
    written.ok();
    with_header("reencrypt -q --resume-only", &file, &header).ok();
    let now = read();
    assert!(now[..39_000_000] == plain[..39_000_000] && now[39_000_000..39_004_096] == page);
    assert!(now[39_004_096..plain.len()] == plain[39_004_096..]);
    by_cryptsetup(&file, &header).ok();
    check_old_is_gone(&file);
}

/// What docs/FORMATS.md says of it, of a volume on 40 MiB.
#[test]
fn the_header_says_meanwhile_that_only_keyway_goes_on() {
    let scratch = Scratch::new();
    let (file, _) = made(&scratch, "", 40 << 20);
    let header = scratch.path("header");
    to_luks("--veracrypt-pim 1 --init-only", &file, &header).ok();
    let json = keyway("luksDump --dump-json-metadata").arg(&header).ok().text();
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    let mandatory = &json["config"]["requirements"]["mandatory"];
    assert_eq!(mandatory, &serde_json::json!(["online-reencrypt-v2", "keyway-conversion"]));
    let segments = json["segments"].as_object().unwrap();
    let place = |flag: &str| {
        let flags = serde_json::json!([flag]);
        let found = segments.values().find(|segment| segment["flags"] == flags).unwrap();
        ["offset", "size", "iv_tweak"].map(|member| found[member].as_str().unwrap().to_owned())
    };
    assert_eq!(place("backup-previous"), ["131072", "41680896", "256"]);
    assert_eq!(place("backup-final"), ["0", "dynamic", "0"]);
}

/// The power failed when the header had appeared, before the old ones were noise.
#[test]
fn a_repair_proves_that_it_is_genuine_and_writes_nothing() {
    let scratch = Scratch::new();
    let (file, plain) = made(&scratch, "", 1 << 20);
    let (before, header) = (fs::read(&file).unwrap(), scratch.path("header"));
    to_luks("--veracrypt-pim 1 --init-only", &file, &header).ok();
    fs::write(&file, &before).unwrap();
    let of_header = fs::read(&header).unwrap();
    with_header("repair -q", &file, &header).ok().quiet();
    assert!(fs::read(&file).unwrap() == before && fs::read(&header).unwrap() == of_header);
    keyway("repair -q --header").arg(&header).arg(&file).stdin("wrong").fails(2);
    with_header("reencrypt -q --resume-only", &file, &header).ok();
    check_old_is_gone(&file);
    assert!(with_header("read", &file, &header).ok().stdout[..plain.len()] == plain);
}

/// Of tcplay's making, with one cipher.
#[test]
fn a_volume_of_tcplays_becomes_luks() {
    need!("tcplay", "losetup", "setsid", "cryptsetup");
    need_that!(Loop::is_there(), "loop devices cannot be had here");
    let scratch = Scratch::new();
    let volume = create(&scratch, "-a whirlpool -b TWOFISH-256-XTS", &[OLD]);
    let plain = keyway("read --type tcrypt").arg(&volume).stdin(OLD).ok().stdout;
    let header = scratch.path("header");
    to_luks("", &volume, &header).ok();
    let now = with_header("read", &volume, &header).ok().stdout;
    assert!(now[..plain.len()] == plain);
    by_cryptsetup(&volume, &header).ok();
}

/// Nothing is changed, and no header left.
#[test]
fn what_luks_cannot_describe_is_refused() {
    let scratch = Scratch::new();
    let header = scratch.path("header");
    let (file, _) = made(&scratch, "--cipher twofish-aes", 1 << 20);
    let format = "tcryptFormat --tcrypt-hidden --veracrypt-pim 1 --outer-pim 1 --size 256K";
    keyway(format).arg(&file).stdin(format!("{OLD}\nanother passphrase, longer\n")).ok();
    let before = fs::read(&file).unwrap();
    to_luks("--veracrypt-pim 1", &file, &header)
        .fails(1)
        .says("It is encrypted by a chain of ciphers (twofish-aes), and LUKS2 describes one.");
    let hidden = keyway(&format!("{TO_LUKS} --veracrypt-pim 1 --tcrypt-hidden")).arg(&file).arg(&header);
    hidden
        .stdin(format!("another passphrase, longer\n{NEW}\n"))
        .fails(1)
        .says("only an outer volume in XTS can be converted, as a whole.");
    let wrong = keyway(&format!("{TO_LUKS} --hash sha512 --veracrypt-pim 1")).arg(&file).arg(&header);
    wrong.stdin(format!("wrong\n{NEW}\n")).fails(2);
    let untyped = keyway("toLuks -q").arg(&file).arg(&header).stdin(OLD).fails(1);
    let types =
        "toLuks needs --type tcrypt or --type bitlk. \"keyway copy\" moves other kinds of volumes to LUKS.";
    untyped.says(types);
    keyway("toLuks -q --type fvault2").arg(&file).arg(&header).stdin(OLD).fails(1).says(types);
    to_luks("--offset 8", &file, &header).fails(1).says("toLuks takes neither --offset nor --align-payload.");
    assert!(fs::read(&file).unwrap() == before && !header.exists());

    // VeraCrypt has it open, say.
    let opened = fs::File::open(&file).unwrap();
    to_luks("--veracrypt-pim 1", &file, &header).fails(5).says("which is in use (open in ");
    drop(opened);

    // Without a second passphrase, too.
    let (file, _) = made(&scratch, "--force", 1 << 20);
    let before = fs::read(&file).unwrap();
    let alone = keyway(&format!("{TO_LUKS} --veracrypt-pim 1")).arg(&file).arg(&header).stdin(OLD);
    alone.fails(1).says("--new-keyfile FILE");
    assert!(fs::read(&file).unwrap() == before && !header.exists());
}
