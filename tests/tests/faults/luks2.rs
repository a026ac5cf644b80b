//! LUKS2: two header copies, and areas that move.

use crate::cut::{Promise, cheap, every_breakdown, every_cut, random_key, secret};
use crate::luks1::{options, writable};
use keyway_crypto::Secret;
use keyway_format::luks2::{Copy, Priority};
use keyway_volume::change::create::{Luks2Params, create_luks2};
use keyway_volume::change::edit::{self, AddKey};
use keyway_volume::device::storage::{Faulty, Memory};
use keyway_volume::keyslot::kdf_cost::Cost;
use keyway_volume::unlock;
use keyway_volume::{Access, Header, KdfChoice, Luks, OsRandom, Storage, UnlockOptions};
use std::sync::Arc;

pub(crate) fn params() -> Luks2Params {
    Luks2Params { key_bits: 256, kdf: cheap(), keyslots_size: Some(512 << 10), ..Luks2Params::default() }
}

/// A volume that "old" opens in slot 0 and "other" in slot 1; there is room for two more.
pub(crate) fn volume(key: &Secret) -> Vec<u8> {
    let storage = Arc::new(Memory::zeroed((1 << 20) + 4096));
    let mut luks = create_luks2(storage.clone(), &params(), key, &secret("old"), &mut OsRandom).unwrap();
    edit::add_key(&mut luks, key, &secret("other"), &options(), &mut OsRandom).unwrap();
    storage.to_vec()
}

/// An edit that leaves all keys as they are.
fn harmless(name: &str, edit: impl FnOnce(&mut Luks) -> keyway_volume::Result<()>) {
    let key = random_key(32);
    let promise = Promise { always: &["old", "other"], ..Promise::default() };
    every_cut(&format!("luks2 {name}"), volume(&key), &key, &promise, |storage| {
        edit(&mut writable(storage)).unwrap();
    });
}

#[test]
fn create() {
    let key = random_key(32);
    let promise = Promise { may_be_nothing: true, opens_after: &["new"], ..Promise::default() };
    every_cut("luks2 create", vec![0; (1 << 20) + 4096], &key, &promise, |storage| {
        create_luks2(storage, &params(), &key, &secret("new"), &mut OsRandom).unwrap();
    });
}

#[test]
fn add() {
    let key = random_key(32);
    let promise = Promise { always: &["old", "other"], opens_after: &["new"], ..Promise::default() };
    every_cut("luks2 add", volume(&key), &key, &promise, |storage| {
        edit::add_key(&mut writable(storage), &key, &secret("new"), &options(), &mut OsRandom).unwrap();
    });
}

#[test]
fn add_unbound() {
    let unbound = random_key(16);
    harmless("add unbound", |luks| {
        edit::add_unbound_key(luks, &unbound, &secret("third"), &options(), &mut OsRandom).map(|_| ())
    });
}

#[test]
fn change() {
    let key = random_key(32);
    let promise = Promise {
        always: &["other"],
        one_of: &["old", "new"],
        opens_after: &["new"],
        gone_after: &["old"],
        ..Promise::default()
    };
    every_cut("luks2 change", volume(&key), &key, &promise, |storage| {
        let mut luks = writable(storage);
        let unlocked = unlock(&luks, &secret("old"), &UnlockOptions::default()).unwrap();
        let slot = edit::change_key(&mut luks, &unlocked, &secret("new"), &options(), &mut OsRandom).unwrap();
        assert_eq!(slot, 0);
    });
}

#[test]
fn convert_key() {
    let argon2 = KdfChoice::Argon2 {
        variant: keyway_crypto::kdf::Argon2Variant::Argon2id,
        memory_kib: 32,
        lanes: 1,
        cost: Cost::Forced(4),
    };
    harmless("convert key", |luks| {
        let unlocked = unlock(luks, &secret("old"), &UnlockOptions::default())?;
        let options = AddKey { kdf: argon2, ..AddKey::default() };
        edit::convert_key(luks, &unlocked, &secret("old"), &options, &mut OsRandom).map(|_| ())
    });
}

#[test]
fn kill() {
    let key = random_key(32);
    let promise = Promise { always: &["other"], gone_after: &["old"], ..Promise::default() };
    every_cut("luks2 kill", volume(&key), &key, &promise, |storage| {
        edit::kill_slot(&mut writable(storage), 0, &mut OsRandom).unwrap();
    });
}

#[test]
fn erase() {
    let key = random_key(32);
    let promise = Promise { gone_after: &["old", "other"], ..Promise::default() };
    every_cut("luks2 erase", volume(&key), &key, &promise, |storage| {
        edit::erase(&mut writable(storage), &mut OsRandom).unwrap();
    });
}

/// At the highest sequence id the ids begin again: until both copies are written, the old header wins.
#[test]
fn edits_at_the_highest_sequence_id() {
    let key = random_key(32);
    let at_the_end = || {
        let storage = Arc::new(Memory::from(volume(&key)));
        let luks = Luks::open(storage.clone(), Access::Read).unwrap();
        let Header::Luks2 { binary, metadata } = luks.header() else { panic!() };
        let mut binary = binary.clone();
        binary.set_sequence_id(u64::MAX);
        for (copy, offset) in [(Copy::Primary, 0), (Copy::Secondary, binary.size.bytes().0)] {
            let bytes = binary.as_copy(copy, [9; 64]).copy_to_bytes(&metadata.to_json()).unwrap();
            storage.write_at(&bytes, offset).unwrap();
        }
        storage.to_vec()
    };
    let promise = Promise { always: &["old", "other"], ..Promise::default() };
    every_cut("luks2 label, last id", at_the_end(), &key, &promise, |storage| {
        edit::set_label(&mut writable(storage), Some("label"), None, None, &mut OsRandom).unwrap();
    });
    let promise = Promise { always: &["other"], gone_after: &["old"], ..Promise::default() };
    every_cut("luks2 kill, last id", at_the_end(), &key, &promise, |storage| {
        edit::kill_slot(&mut writable(storage), 0, &mut OsRandom).unwrap();
    });
    let promise = Promise {
        always: &["other"],
        one_of: &["old", "new"],
        opens_after: &["new"],
        gone_after: &["old"],
        ..Promise::default()
    };
    every_cut("luks2 change, last id", at_the_end(), &key, &promise, |storage| {
        let mut luks = writable(storage);
        let unlocked = unlock(&luks, &secret("old"), &UnlockOptions::default()).unwrap();
        edit::change_key(&mut luks, &unlocked, &secret("new"), &options(), &mut OsRandom).unwrap();
    });
    let promise = Promise { gone_after: &["old", "other"], ..Promise::default() };
    every_cut("luks2 erase, last id", at_the_end(), &key, &promise, |storage| {
        edit::erase(&mut writable(storage), &mut OsRandom).unwrap();
    });
}

#[test]
fn label_and_uuid() {
    harmless("label", |luks| edit::set_label(luks, Some("label"), Some("subsystem"), None, &mut OsRandom));
    harmless("uuid", |luks| edit::set_uuid(luks, None, None, &mut OsRandom));
}

#[test]
fn flags_and_priority() {
    harmless("flags", |luks| edit::set_persistent_flags(luks, &["allow-discards"], None, &mut OsRandom));
    harmless("priority", |luks| edit::set_priority(luks, 1, Priority::Prefer, &mut OsRandom));
}

#[test]
fn tokens() {
    harmless("token add", |luks| {
        edit::token_import(luks, None, br#"{"type":"test","keyslots":[]}"#, &[0], false, &mut OsRandom)
            .map(|_| ())
    });
    harmless("token import and remove", |luks| {
        let json = br#"{"type":"foreign","keyslots":["1"],"kept":1.50}"#;
        let token = edit::token_import(luks, Some(3), json, &[], false, &mut OsRandom)?;
        edit::token_remove(luks, token, &mut OsRandom)
    });
}

/// A lost copy is rewritten when the header is opened: wherever that stops, the other copy is still
/// intact.
#[test]
fn recovery_of_either_copy() {
    let key = random_key(32);
    for (name, damage) in
        [("primary", 0..4096), ("secondary", (16 << 10)..(20 << 10)), ("primary's JSON", 5000..5001)]
    {
        let mut image = volume(&key);
        image[damage].fill(0xa5);
        let promise = Promise { always: &["old", "other"], ..Promise::default() };
        let complete = every_cut(&format!("luks2 recovery, {name}"), image, &key, &promise, |storage| {
            Luks::open(storage, Access::Read).unwrap();
        });
        let again = Arc::new(Faulty::new(complete));
        Luks::open(again.clone(), Access::Read).unwrap();
        assert!(again.events().is_empty(), "recovered already, but written again");
    }
}

/// An edit while one copy is damaged: it must be recovered before the good one is overwritten.
#[test]
fn edit_with_a_damaged_secondary() {
    let key = random_key(32);
    let mut image = volume(&key);
    image[(16 << 10)..(20 << 10)].fill(0);
    let promise = Promise { always: &["old", "other"], ..Promise::default() };
    every_cut("luks2 label, secondary damaged", image, &key, &promise, |storage| {
        let locking = keyway_volume::Locking::Disabled;
        let mut luks = Luks::open_with(storage, Access::Write, locking).unwrap();
        edit::set_label(&mut luks, Some("label"), None, None, &mut OsRandom).unwrap();
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

/// Without a free area there is no room for the new key before the old one is removed.
#[test]
fn a_full_keyslots_area_refuses_to_change() {
    let key = random_key(32);
    let storage = Arc::new(Faulty::new(volume(&key)));
    let mut luks = writable(storage.clone());
    for number in 2..4 {
        edit::add_key(&mut luks, &key, &secret(&format!("slot {number}")), &options(), &mut OsRandom)
            .unwrap();
    }
    let unlocked = unlock(&luks, &secret("old"), &UnlockOptions::default()).unwrap();
    let before = storage.image();
    let error =
        edit::change_key(&mut luks, &unlocked, &secret("new"), &options(), &mut OsRandom).unwrap_err();
    assert!(error.to_string().starts_with("No space for new keyslot"), "{error}");
    assert!(storage.image() == before, "a refused operation wrote");
}
