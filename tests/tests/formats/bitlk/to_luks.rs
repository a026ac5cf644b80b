//! `toLuks`: BitLocker volumes become LUKS2 where they are, and cryptsetup opens them from the beginning.

use super::plaintext;
use keyway_tests::background::killed;
use keyway_tests::bitlk::{Bitlk, LEN, PASSPHRASE, Protector, RECOVERY};
use keyway_tests::{Run, Scratch, cryptsetup, keyway, need};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

const NEW: &str = "secret";

fn to_luks(line: &str, volume: &Path, header: &Path) -> Run {
    let cheap = "--pbkdf pbkdf2 --pbkdf-force-iterations 1000";
    keyway(&format!("toLuks -q --type bitlk {cheap} {line}")).arg(volume).arg(header)
}

fn with_header(line: &str, volume: &Path, header: &Path) -> Run {
    keyway(&format!("{line} --header")).arg(header).arg(volume).stdin(NEW)
}

fn by_cryptsetup(line: &str, volume: &Path, header: &Path) -> Run {
    cryptsetup(&format!("{line} --header")).arg(header).arg(volume).stdin(NEW)
}

/// Puts the volume into a file, and names one that is not there for its header.
fn files(scratch: &Scratch, name: &str, volume: &Bitlk) -> (PathBuf, PathBuf) {
    (scratch.file(name, volume.make(&plaintext())), scratch.path(&format!("{name}.header")))
}

/// By each cipher; what BitLocker keeps for itself is zeros, as it was.
#[test]
fn a_volume_becomes_one_that_cryptsetup_opens() {
    need!("cryptsetup");
    let scratch = Scratch::new();
    let visible = Bitlk::visible(&plaintext());
    for method in [0x8000, 0x8001, 0x8002, 0x8003, 0x8004, 0x8005] {
        let made = Bitlk { method, ..Bitlk::default() };
        let (volume, header) = files(&scratch, &format!("{method:x}"), &made);
        let secret = if method == 0x8004 { RECOVERY } else { PASSPHRASE };
        to_luks("", &volume, &header).stdin(format!("{secret}\n{NEW}\n")).ok().quiet();
        assert!(with_header("read", &volume, &header).ok().stdout == visible, "method {method:x}");
        by_cryptsetup("open -q --test-passphrase", &volume, &header).ok();
        let shown = cryptsetup("luksDump").arg(&header).ok().text();
        assert!(shown.contains("  0: crypt\n\toffset: 0 [bytes]\n\tlength: (whole device)\n"), "{shown}");
        assert!(!shown.contains("Requirements") && shown.matches(": luks2\n").count() == 1, "{shown}");
        keyway("read --type bitlk").arg(&volume).stdin(PASSPHRASE).fails(1);
        let left = fs::read(&volume).unwrap();
        assert!(!left.windows(8).any(|bytes| bytes == b"-FVE-FS-"), "metadata are left");
    }
}

/// A file opens it, or a key in the clear; the new volume is what the options say.
#[test]
fn whatever_opens_it_converts_it() {
    need!("cryptsetup");
    let scratch = Scratch::new();
    let visible = Bitlk::visible(&plaintext());
    let new = scratch.file("new", NEW);
    let key = scratch.file("key.BEK", Bitlk::startup_key());
    for (name, protector) in [("file", Protector::StartupKey), ("clear", Protector::Clear)] {
        let (volume, header) =
            files(&scratch, name, &Bitlk { protectors: vec![protector], ..Bitlk::default() });
        let line = "--cipher serpent-xts-plain64 --sector-size 4096 --hash sha512";
        let run = to_luks(line, &volume, &header).arg("--new-keyfile").arg(&new);
        let run = if name == "file" { run.arg("-d").arg(&key) } else { run };
        run.ok().quiet();
        assert!(with_header("read", &volume, &header).ok().stdout == visible, "{name}");
        let shown = cryptsetup("luksDump").arg(&header).ok().text();
        assert!(shown.contains("cipher: serpent-xts-plain64\n\tsector: 4096 [bytes]"), "{shown}");
    }
}

/// As it stands when it has begun and when it was killed, by Keyway and by cryptsetup; both go on.
#[test]
fn cryptsetup_goes_on_with_it_from_the_beginning() {
    need!("cryptsetup");
    let scratch = Scratch::new();
    let visible = Bitlk::visible(&plaintext());
    let (volume, header) = files(&scratch, "volume", &Bitlk::default());
    to_luks("--init-only", &volume, &header).stdin(format!("{PASSPHRASE}\n{NEW}\n")).ok().quiet();
    let read = || with_header("read", &volume, &header).ok().stdout;
    assert!(read() == visible, "it has begun");
    keyway("read --type bitlk").arg(&volume).stdin(PASSPHRASE).fails(1);
    by_cryptsetup("open -q --test-passphrase", &volume, &header).ok();

    let before = fs::read(&volume).unwrap();
    let new = scratch.file("new", NEW);
    let slowly =
        format!("reencrypt -q --resume-only --limit-rate 2M --hotzone-size 64K -d {}", new.display());
    let has_begun = || fs::read(&volume).unwrap() != before;
    killed(&with_header(&slowly, &volume, &header), has_begun, Duration::from_millis(200));
    assert!(has_begun() && read() == visible, "it was killed");
    // What was killed in a zone has to be recovered before cryptsetup goes on.
    by_cryptsetup(&format!("repair -q -d {}", new.display()), &volume, &header).ok();
    assert!(read() == visible, "cryptsetup has recovered it");

    let line = format!("reencrypt -q --resume-only --force-offline-reencrypt -d {}", new.display());
    by_cryptsetup(&line, &volume, &header).ok();
    assert!(read() == visible, "cryptsetup has ended it");
    let shown = cryptsetup("luksDump").arg(&header).ok().text();
    assert!(!shown.contains("Requirements"), "{shown}");
}

/// What it would take is known without a secret.
#[test]
fn an_estimate_asks_for_nothing() {
    let scratch = Scratch::new();
    let (volume, header) = files(&scratch, "volume", &Bitlk::default());
    let before = fs::read(&volume).unwrap();
    let found =
        to_luks("--estimate --json --hotzone-size 1M", &volume, &header).stdin("").ok().quiet().text();
    let found: serde_json::Value = serde_json::from_str(&found).unwrap();
    for (path, value) in [
        ("/length", LEN.into()),
        ("/read", (2 * LEN).into()),
        ("/written/data", LEN.into()),
        ("/written/protection", LEN.into()),
        ("/hot_zone/count", 4.into()),
        ("/resilience", "journal".into()),
        ("/measured/old_cipher/name", serde_json::Value::from("aes-xts-plain64")),
    ] {
        assert_eq!(found.pointer(path), Some(&value), "{path} in {found:#}");
    }
    to_luks("--estimate", &volume, &header).stdin("").ok().lacks("only the passphrase reveals");
    let large = scratch.file("large", Bitlk { sector_size: 4096, ..Bitlk::default() }.make(&plaintext()));
    to_luks("--estimate", &large, &header).stdin("").fails(1).says("sectors of more than 512 bytes");
    assert!(fs::read(&volume).unwrap() == before && !header.exists());
}

/// Nothing is changed, and no header left.
#[test]
fn what_cannot_be_converted_is_refused() {
    let scratch = Scratch::new();
    let large = Bitlk { sector_size: 4096, ..Bitlk::default() };
    let partly = Bitlk { state: [2, 4], encrypted: 2 << 20, ..Bitlk::default() };
    let paused = Bitlk { state: [5, 4], encrypted: 2 << 20, ..Bitlk::default() };
    let whole = Bitlk::default();
    let suspended = Bitlk { protectors: vec![Protector::Clear], ..Bitlk::default() };
    for (name, made, code, words) in [
        ("large", &large, 1, "Its IVs count sectors of more than 512 bytes, which LUKS2 does not describe."),
        ("partly", &partly, 1, "let Windows finish or pause it (manage-bde -pause)."),
        ("paused", &paused, 1, "he volume is only partly encrypted"),
        ("wrong", &whole, 2, "No key available with this passphrase."),
        (
            "suspended",
            &suspended,
            1,
            "no old passphrase is asked for.\nGive the new passphrase in a file with",
        ),
    ] {
        let (volume, header) = files(&scratch, name, made);
        let before = fs::read(&volume).unwrap();
        let old = if name == "wrong" { "another" } else { PASSPHRASE };
        to_luks("", &volume, &header).stdin(format!("{old}\n{NEW}\n")).fails(code).says(words);
        assert!(fs::read(&volume).unwrap() == before && !header.exists(), "{name}");
    }
    // Somebody changed the boot sector, for which nobody vouches.
    let (volume, header) = files(&scratch, "forged", &large);
    let mut forged = fs::read(&volume).unwrap();
    forged[11..13].copy_from_slice(&512_u16.to_le_bytes());
    fs::write(&volume, &forged).unwrap();
    let refused = to_luks("", &volume, &header).stdin(format!("{PASSPHRASE}\n{NEW}\n")).fails(1);
    refused.says("2 sectors, 8192 bytes, were moved, but its sectors have 512 bytes by its boot sector.");
    assert!(fs::read(&volume).unwrap() == forged && !header.exists());
}

/// A volume key that is given vouches for nothing: another one would make noise of everything.
#[test]
fn a_volume_key_converts_nothing() {
    let scratch = Scratch::new();
    let made = Bitlk::default();
    let (volume, header) = files(&scratch, "volume", &made);
    let before = fs::read(&volume).unwrap();
    let admitted = keyway::Device::open_rw(&volume).unwrap();
    let admitted = admitted.admit_as(&keyway::Bitlk::new(), &keyway::Unlock::new()).unwrap();
    let found = admitted.try_key(&keyway::Key::VolumeKey(made.volume_key())).unwrap();
    let create = keyway::Create::luks2().header(&header);
    let new = keyway::Key::passphrase(NEW);
    let refused = admitted.begin_conversion(found, &create, &new, &keyway::Reencrypt::new()).unwrap_err();
    assert!(refused.to_string().contains("a volume key proves nothing here"), "{refused}");
    assert!(fs::read(&volume).unwrap() == before && !header.exists());
}
