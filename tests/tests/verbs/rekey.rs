//! The mark of an image whose clones get volume keys of their own: made by `build`, kept by cryptsetup,
//! removed with the key that it is for.

use crate::{CHEAP, plaintext};
use keyway_tests::{Scratch, cryptsetup, keyway, need, random};
use std::fs;
use std::path::{Path, PathBuf};

const FIRST_BOOT: &str = "  First boot to come: \"keyway unlock\" will give it a volume key of its own";

struct Images {
    scratch: Scratch,
    key: PathBuf,
    plain: PathBuf,
}

impl Images {
    fn new() -> Self {
        let scratch = Scratch::new();
        let (key, plain) = (scratch.file("key", "secret"), scratch.file("plain", random(410, 2 << 20)));
        Self { scratch, key, plain }
    }

    fn build(&self, options: &str) -> keyway_tests::Run {
        keyway("build -q --force").args(CHEAP).args(options).arg("-d").arg(&self.key).arg(&self.plain)
    }

    fn marked(&self) -> PathBuf {
        let volume = self.scratch.path("volume");
        self.build("--rekey-at-first-boot").arg(&volume).ok().quiet();
        volume
    }

    fn reencrypt(&self, volume: &Path) -> keyway_tests::Run {
        let run = keyway("reencrypt -q --no-header-backup --if-marked -d").arg(&self.key);
        run.args(CHEAP).arg(volume)
    }
}

/// Whether it is said of the volume, in all places alike.
#[track_caller]
fn waits(volume: &Path) -> bool {
    let waits = keyway("inspect").arg(volume).ok().text().lines().any(|line| line == FIRST_BOOT);
    keyway("inspect --json").arg(volume).ok().says(&format!("\"awaits_first_boot\":{waits},"));
    waits
}

fn token(volume: &Path) -> Vec<u8> {
    cryptsetup("token export --token-id 0").arg(volume).ok().stdout
}

#[test]
fn cryptsetup_keeps_a_mark_through_its_edits() {
    need!("cryptsetup");
    let images = Images::new();
    let (volume, other) = (images.marked(), images.scratch.file("other", "another"));
    assert!(waits(&volume));
    let before = token(&volume);
    let text = String::from_utf8_lossy(&before).into_owned();
    assert!(text.contains("keyway-rekey") && text.contains("digest_salt"), "{text}");
    cryptsetup("luksDump").arg(&volume).ok().says("  0: keyway-rekey");
    keyway("luksDump").arg(&volume).ok().says("  0: keyway-rekey");

    cryptsetup("luksAddKey").args(CHEAP).arg("-d").arg(&images.key).arg(&volume).arg(&other).ok();
    cryptsetup("luksChangeKey").args(CHEAP).arg("-d").arg(&other).arg(&volume).arg(&images.key).ok();
    cryptsetup("luksKillSlot -q").arg(&volume).arg("0").ok();
    cryptsetup("config --label clone").arg(&volume).ok();
    cryptsetup("token add --key-description nothing").arg(&volume).ok();
    cryptsetup("luksUUID -q --uuid 11111111-2222-3333-4444-555555555555").arg(&volume).ok();
    assert!(token(&volume) == before && waits(&volume));
    assert!(plaintext(&volume, &images.key) == random(410, 2 << 20));
}

#[test]
fn the_mark_goes_with_its_key_and_asks_once() {
    need!("cryptsetup");
    let images = Images::new();
    let volume = images.marked();
    let key = || keyway("luksDump -q --dump-volume-key -d").arg(&images.key).arg(&volume).ok().text();
    let old = key();
    images.reencrypt(&volume).ok();
    assert!(key() != old && !waits(&volume));
    cryptsetup("luksDump").arg(&volume).ok().lacks("keyway-rekey");
    cryptsetup("open --test-passphrase -d").arg(&images.key).arg(&volume).ok();
    assert!(plaintext(&volume, &images.key) == random(410, 2 << 20));

    // Nothing is left to do, and nothing is done.
    let bytes = fs::read(&volume).unwrap();
    images.reencrypt(&volume).ok().quiet();
    images.reencrypt(&volume).args("-v").ok().says("is not marked for a first boot: nothing was changed.");
    assert!(fs::read(&volume).unwrap() == bytes);
    let luks1 = images.scratch.path("luks1");
    images.build("--type luks1").arg(&luks1).ok();
    images.reencrypt(&luks1).ok().quiet();
}

/// A program that knows no marks replaced the key.
#[test]
fn a_mark_for_a_key_that_is_gone_asks_for_nothing() {
    need!("cryptsetup");
    let images = Images::new();
    let volume = images.marked();
    cryptsetup("reencrypt -q --force-offline-reencrypt")
        .args(CHEAP)
        .arg("-d")
        .arg(&images.key)
        .arg(&volume)
        .ok();
    cryptsetup("luksDump").arg(&volume).ok().says("  0: keyway-rekey");
    assert!(!waits(&volume));
    let bytes = fs::read(&volume).unwrap();
    images.reencrypt(&volume).ok().quiet();
    assert!(fs::read(&volume).unwrap() == bytes);
}

#[test]
fn what_cannot_be_marked_is_refused_before_anything_is_written() {
    let images = Images::new();
    let volume = images.scratch.path("none");
    let build =
        |options: &str| images.build(&format!("--rekey-at-first-boot {options}")).arg(&volume).fails(1);
    build("--type luks1").says("a LUKS1 header has no room for a mark; nothing was written.");
    build("--seal").says("--rekey-at-first-boot and --seal cannot be combined");
    assert!(!volume.exists());
    let volume = images.marked();
    let other = images.reencrypt(&volume).args("--keep-key").fails(1);
    other.says("Options --if-marked and --keep-key cannot be combined.");
    assert!(waits(&volume));
}

#[test]
fn a_marked_image_is_reproducible() {
    let images = Images::new();
    let seed = images.scratch.file("seed", random(411, 32));
    let build = |name: &str| {
        let volume = images.scratch.path(name);
        let options = format!("--rekey-at-first-boot --reproducible {}", seed.display());
        images.build(&options).arg(&volume).ok();
        fs::read(volume).unwrap()
    };
    assert!(build("one") == build("two"));
}

/// How long a keyslot takes is not all that its first boot takes.
#[test]
fn the_passport_of_a_marked_volume_says_what_its_first_boot_does() {
    let images = Images::new();
    let marked = images.marked();
    let line = "  First boot to come: \"keyway unlock\" will reencrypt all of it under its own volume key, \
                which adds to the times below; other commands that open it leave it as it is";
    let says = |marked: bool, volume: &Path| {
        let text = keyway("passport --target linux").arg(volume).ok().text();
        assert_eq!(text.lines().any(|found| found == line), marked, "{text}");
        let json = keyway("passport --target linux --json").arg(volume).ok();
        json.says(&format!("\"awaits_first_boot\":{marked},"));
    };
    says(true, &marked);
    images.reencrypt(&marked).ok();
    assert!(!waits(&marked));
    says(false, &marked);
}
