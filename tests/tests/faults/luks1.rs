//! LUKS1: one header copy over two sectors.

use crate::cut::{Promise, cheap, every_breakdown, every_cut, random_key, secret};
use keyway_crypto::Secret;
use keyway_volume::change::create::{Luks1Params, create_luks1};
use keyway_volume::change::edit::{self, AddKey};
use keyway_volume::device::storage::{Faulty, Memory};
use keyway_volume::unlock;
use keyway_volume::{Access, Luks, OsRandom, UnlockOptions};
use std::sync::Arc;

pub(crate) fn params() -> Luks1Params {
    Luks1Params { key_bits: 256, kdf: cheap(), ..Luks1Params::default() }
}

/// A volume that "old" opens in slot 0 and "other" in slot 1.
pub(crate) fn volume(key: &Secret) -> Vec<u8> {
    let storage = Arc::new(Memory::zeroed((2 << 20) + 4096));
    let mut luks = create_luks1(storage.clone(), &params(), key, &secret("old"), &mut OsRandom).unwrap();
    edit::add_key(&mut luks, key, &secret("other"), &options(), &mut OsRandom).unwrap();
    storage.to_vec()
}

pub(crate) fn options() -> AddKey {
    AddKey { kdf: cheap(), ..AddKey::default() }
}

pub(crate) fn writable(storage: Arc<Faulty>) -> Luks {
    Luks::open(storage, Access::Write).unwrap()
}

#[test]
fn create() {
    let key = random_key(32);
    let promise = Promise { may_be_nothing: true, opens_after: &["new"], ..Promise::default() };
    every_cut("luks1 create", vec![0; (2 << 20) + 4096], &key, &promise, |storage| {
        create_luks1(storage, &params(), &key, &secret("new"), &mut OsRandom).unwrap();
    });
}

#[test]
fn add() {
    let key = random_key(32);
    let promise = Promise { always: &["old", "other"], opens_after: &["new"], ..Promise::default() };
    every_cut("luks1 add", volume(&key), &key, &promise, |storage| {
        edit::add_key(&mut writable(storage), &key, &secret("new"), &options(), &mut OsRandom).unwrap();
    });
}

/// Slot 6's descriptor is the one that spans the sector boundary.
#[test]
fn add_over_the_sector_boundary() {
    let key = random_key(32);
    let promise = Promise { always: &["old", "other"], opens_after: &["new"], ..Promise::default() };
    every_cut("luks1 add to slot 6", volume(&key), &key, &promise, |storage| {
        let options = AddKey { keyslot: Some(6), ..options() };
        edit::add_key(&mut writable(storage), &key, &secret("new"), &options, &mut OsRandom).unwrap();
    });
}

#[test]
fn change_to_a_free_slot() {
    let key = random_key(32);
    let promise = Promise {
        always: &["other"],
        one_of: &["old", "new"],
        opens_after: &["new"],
        gone_after: &["old"],
        ..Promise::default()
    };
    every_cut("luks1 change", volume(&key), &key, &promise, |storage| {
        let mut luks = writable(storage);
        let unlocked = unlock(&luks, &secret("old"), &UnlockOptions::default()).unwrap();
        edit::change_key(&mut luks, &unlocked, &secret("new"), &options(), &mut OsRandom).unwrap();
    });
}

#[test]
fn change_in_place() {
    let key = random_key(32);
    let promise = Promise {
        always: &["other"],
        one_of: &["old", "new"],
        opens_after: &["new"],
        gone_after: &["old"],
        ..Promise::default()
    };
    every_cut("luks1 change, number kept", volume(&key), &key, &promise, |storage| {
        let mut luks = writable(storage);
        let unlocked = unlock(&luks, &secret("old"), &UnlockOptions::default()).unwrap();
        let options = AddKey { keyslot: Some(0), ..options() };
        edit::change_key(&mut luks, &unlocked, &secret("new"), &options, &mut OsRandom).unwrap();
    });
}

#[test]
fn kill() {
    let key = random_key(32);
    let promise = Promise { always: &["other"], gone_after: &["old"], ..Promise::default() };
    every_cut("luks1 kill", volume(&key), &key, &promise, |storage| {
        edit::kill_slot(&mut writable(storage), 0, &mut OsRandom).unwrap();
    });
}

#[test]
fn erase() {
    let key = random_key(32);
    let promise = Promise { gone_after: &["old", "other"], ..Promise::default() };
    every_cut("luks1 erase", volume(&key), &key, &promise, |storage| {
        edit::erase(&mut writable(storage), &mut OsRandom).unwrap();
    });
}

#[test]
fn uuid() {
    let key = random_key(32);
    let promise = Promise { always: &["old", "other"], ..Promise::default() };
    every_cut("luks1 uuid", volume(&key), &key, &promise, |storage| {
        edit::set_uuid(&mut writable(storage), None, None, &mut OsRandom).unwrap();
    });
}

#[test]
fn breakdowns_are_told() {
    let key = random_key(32);
    let image = volume(&key);
    every_breakdown(&image, |storage| {
        let mut luks = Luks::open(storage, Access::Write)?;
        edit::kill_slot(&mut luks, 1, &mut OsRandom)?;
        edit::add_key(&mut luks, &key, &secret("new"), &options(), &mut OsRandom).map(|_| ())
    });
}

/// With every slot in use there is no room for the new key before the old one is removed.
#[test]
fn a_full_header_refuses_to_change() {
    let key = random_key(32);
    let storage = Arc::new(Faulty::new(volume(&key)));
    let mut luks = writable(storage.clone());
    for slot in 2..8 {
        edit::add_key(&mut luks, &key, &secret(&format!("slot {slot}")), &options(), &mut OsRandom).unwrap();
    }
    let unlocked = unlock(&luks, &secret("old"), &UnlockOptions::default()).unwrap();
    let before = storage.image();
    let error =
        edit::change_key(&mut luks, &unlocked, &secret("new"), &options(), &mut OsRandom).unwrap_err();
    assert!(error.to_string().starts_with("All key slots are in use"), "{error}");
    assert!(storage.image() == before, "a refused operation wrote");
}
