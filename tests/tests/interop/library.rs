//! The library's edits, step by step: after each, cryptsetup opens
//! what should open and nothing else.

use keyway_crypto::Secret;
use keyway_tests::{Scratch, cryptsetup, need};
use keyway_volume::change::create::{Luks1Params, Luks2Params, create_luks1, create_luks2};
use keyway_volume::change::edit::{self, AddKey};
use keyway_volume::device::storage::File;
use keyway_volume::unlock;
use keyway_volume::{Access, Cost, KdfChoice, Luks, OsRandom, Random, UnlockOptions};
use std::path::Path;
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

fn storage(path: &Path) -> Arc<File> {
    Arc::new(File::open_rw(path).unwrap())
}

fn check(path: &Path, works: &[&str], fails: &[&str]) {
    let open = |passphrase: &str| {
        let luks = Luks::open(storage(path), Access::Read).unwrap();
        unlock(&luks, &secret(passphrase), &UnlockOptions::default())
    };
    let theirs = |passphrase: &str| {
        cryptsetup("open --test-passphrase -q -d -").arg(path).stdin(passphrase.as_bytes())
    };
    for passphrase in works {
        theirs(passphrase).ok();
        open(passphrase).unwrap();
    }
    for passphrase in fails {
        theirs(passphrase).fails(2);
        assert!(open(passphrase).is_err());
    }
}

fn edit_round(path: &Path) {
    check(path, &["one"], &["two"]);
    let mut luks = Luks::open(storage(path), Access::Write).unwrap();
    let unlocked = unlock(&luks, &secret("one"), &UnlockOptions::default()).unwrap();
    let options = AddKey { kdf: fast(), ..AddKey::default() };
    let added =
        edit::add_key(&mut luks, &unlocked.volume_key, &secret("two"), &options, &mut OsRandom).unwrap();
    assert_eq!(added, 1);
    check(path, &["one", "two"], &["three"]);
    let changed = edit::change_key(&mut luks, &unlocked, &secret("three"), &options, &mut OsRandom).unwrap();
    assert_eq!(changed, if luks.version() == 1 { 2 } else { 0 });
    check(path, &["two", "three"], &["one"]);
    let unlocked = unlock(&luks, &secret("three"), &UnlockOptions::default()).unwrap();
    let stay = AddKey { keyslot: Some(changed), ..options.clone() };
    assert_eq!(
        edit::change_key(&mut luks, &unlocked, &secret("four"), &stay, &mut OsRandom).unwrap(),
        changed
    );
    check(path, &["two", "four"], &["one", "three"]);
    edit::kill_slot(&mut luks, 1, &mut OsRandom).unwrap();
    check(path, &["four"], &["one", "two", "three"]);
    edit::set_uuid(&mut luks, Some("12345678-1234-4234-8234-123456789abc"), None, &mut OsRandom).unwrap();
    check(path, &["four"], &[]);
    edit::erase(&mut luks, &mut OsRandom).unwrap();
    let luks = Luks::open(storage(path), Access::Read).unwrap();
    let error = unlock(&luks, &secret("four"), &UnlockOptions::default()).err().unwrap();
    assert_eq!(error.to_string(), "No usable keyslot is available.");
}

#[test]
fn luks1_is_edited_step_by_step() {
    need!("cryptsetup");
    let scratch = Scratch::new();
    let path = scratch.sized("volume", 4 << 20);
    let params = Luks1Params { kdf: fast(), ..Luks1Params::default() };
    create_luks1(storage(&path), &params, &random_key(64), &secret("one"), &mut OsRandom).unwrap();
    edit_round(&path);
}

#[test]
fn luks2_is_edited_step_by_step() {
    need!("cryptsetup");
    let scratch = Scratch::new();
    let path = scratch.sized("volume", 18 << 20);
    let params = Luks2Params { kdf: fast(), ..Luks2Params::default() };
    create_luks2(storage(&path), &params, &random_key(64), &secret("one"), &mut OsRandom).unwrap();
    edit_round(&path);
}
