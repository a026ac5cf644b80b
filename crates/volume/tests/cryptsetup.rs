//! Headers made and edited here, opened by cryptsetup, and the other way round.

use keyway_crypto::Secret;
use keyway_volume::create::{Luks1Params, Luks2Params, create_luks1, create_luks2};
use keyway_volume::edit::{self, AddKey};
use keyway_volume::storage::File;
use keyway_volume::{Access, Cost, KdfChoice, Luks, OsRandom, Random, UnlockOptions, unlock};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

fn fast() -> KdfChoice {
    KdfChoice::Pbkdf2 { hash: "sha256".into(), cost: Cost::Forced(1000) }
}

fn secret(text: &str) -> Secret {
    Secret::copy_from(text.as_bytes())
}

fn random_key(len: usize) -> Secret {
    let mut key = Secret::zeroed(len);
    OsRandom.fill(key.expose_mut()).unwrap();
    key
}

fn scratch(name: &str, len: u64) -> PathBuf {
    let path = std::env::temp_dir().join(format!("keyway-volume-{}-{name}", std::process::id()));
    std::fs::File::create(&path).unwrap().set_len(len).unwrap();
    path
}

fn storage(path: &Path) -> Arc<File> {
    Arc::new(File::open_rw(path).unwrap())
}

/// cryptsetup's exit code, or `None` when it is not installed.
fn opens(path: &Path, passphrase: &str) -> Option<i32> {
    let key = path.with_extension("key");
    std::fs::write(&key, passphrase).unwrap();
    let status = Command::new("cryptsetup")
        .args(["open", "--test-passphrase", "-q", "-d"])
        .arg(&key)
        .arg(path)
        .stderr(std::process::Stdio::null())
        .status()
        .ok()?;
    status.code()
}

fn check_with_cryptsetup(path: &Path, works: &[&str], fails: &[&str]) {
    for passphrase in works {
        if let Some(code) = opens(path, passphrase) {
            assert_eq!(code, 0, "{passphrase} at {path:?}");
        } else {
            eprintln!("skipped: cryptsetup is missing");
        }
        let luks = Luks::open(storage(path), Access::Read).unwrap();
        unlock(&luks, &secret(passphrase), &UnlockOptions::default()).unwrap();
    }
    for passphrase in fails {
        if let Some(code) = opens(path, passphrase) {
            assert_eq!(code, 2, "{passphrase} at {path:?}");
        }
        let luks = Luks::open(storage(path), Access::Read).unwrap();
        assert!(unlock(&luks, &secret(passphrase), &UnlockOptions::default()).is_err());
    }
}

fn edit_round(path: &Path) {
    check_with_cryptsetup(path, &["one"], &["two"]);
    let mut luks = Luks::open(storage(path), Access::Write).unwrap();
    let unlocked = unlock(&luks, &secret("one"), &UnlockOptions::default()).unwrap();
    let options = AddKey { kdf: fast(), ..AddKey::default() };
    let added =
        edit::add_key(&mut luks, &unlocked.volume_key, &secret("two"), &options, &mut OsRandom).unwrap();
    assert_eq!(added, 1);
    check_with_cryptsetup(path, &["one", "two"], &["three"]);
    let changed = edit::change_key(&mut luks, &unlocked, &secret("three"), &options, &mut OsRandom).unwrap();
    assert_eq!(changed, if luks.version() == 1 { 2 } else { 0 });
    check_with_cryptsetup(path, &["two", "three"], &["one"]);
    let unlocked = unlock(&luks, &secret("three"), &UnlockOptions::default()).unwrap();
    let stay = AddKey { keyslot: Some(changed), ..options.clone() };
    assert_eq!(
        edit::change_key(&mut luks, &unlocked, &secret("four"), &stay, &mut OsRandom).unwrap(),
        changed
    );
    check_with_cryptsetup(path, &["two", "four"], &["one", "three"]);
    edit::kill_slot(&mut luks, 1, &mut OsRandom).unwrap();
    check_with_cryptsetup(path, &["four"], &["one", "two", "three"]);
    edit::set_uuid(&mut luks, Some("12345678-1234-4234-8234-123456789abc"), &mut OsRandom).unwrap();
    check_with_cryptsetup(path, &["four"], &[]);
    edit::erase(&mut luks, &mut OsRandom).unwrap();
    let luks = Luks::open(storage(path), Access::Read).unwrap();
    let error = unlock(&luks, &secret("four"), &UnlockOptions::default()).err().unwrap();
    assert_eq!(error.to_string(), "No usable keyslot is available.");
}

#[test]
fn luks1_is_edited_step_by_step() {
    let path = scratch("luks1", 4 << 20);
    let params = Luks1Params { kdf: fast(), ..Luks1Params::default() };
    create_luks1(storage(&path), &params, &random_key(64), &secret("one"), &mut OsRandom).unwrap();
    edit_round(&path);
}

#[test]
fn luks2_is_edited_step_by_step() {
    let path = scratch("luks2", 18 << 20);
    let params = Luks2Params { kdf: fast(), ..Luks2Params::default() };
    create_luks2(storage(&path), &params, &random_key(64), &secret("one"), &mut OsRandom).unwrap();
    edit_round(&path);
}
