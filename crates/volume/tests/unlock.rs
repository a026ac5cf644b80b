//! Which keyslots are tried, in what order, at what cost, and what is said when none opens.

use keyway_crypto::kdf::Argon2Variant;
use keyway_crypto::{Secret, Stop};
use keyway_format::json;
use keyway_format::luks2::{Copy, HeaderSize, Kdf, KeyslotKind, Metadata, Priority};
use keyway_volume::change::create::{Luks1Params, Luks2Params, create_luks1, create_luks2};
use keyway_volume::change::edit::{self, AddKey};
use keyway_volume::device::storage::Memory;
use keyway_volume::unlock;
use keyway_volume::{
    Access, Admitted, Cost, Error, Header, KdfChoice, Luks, OsRandom, Random, Storage, Terms, UnlockOptions,
    verify_volume_key,
};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

fn pbkdf2() -> KdfChoice {
    KdfChoice::Pbkdf2 { hash: "sha256".into(), cost: Cost::Forced(1000) }
}

fn argon2(memory_kib: u32) -> KdfChoice {
    KdfChoice::Argon2 { variant: Argon2Variant::Argon2id, memory_kib, lanes: 2, cost: Cost::Forced(4) }
}

fn secret(text: &str) -> Secret {
    Secret::copy_from(text.as_bytes())
}

fn random_key(len: usize) -> Secret {
    let mut key = Secret::zeroed(len);
    OsRandom.fill(key.expose_mut()).unwrap();
    key
}

/// A LUKS2 volume with passphrase "slot 0" in slot 0.
fn volume(kdf: KdfChoice) -> (Arc<Memory>, Luks, Secret) {
    let storage = Arc::new(Memory::zeroed((3 << 20) + 4096));
    let params = Luks2Params { kdf, keyslots_size: Some(2 << 20), key_bits: 512, ..Luks2Params::default() };
    let key = random_key(64);
    let luks = create_luks2(storage.clone(), &params, &key, &secret("slot 0"), &mut OsRandom).unwrap();
    (storage, luks, key)
}

fn add(luks: &mut Luks, key: &Secret, passphrase: &str, kdf: KdfChoice) -> u32 {
    let options = AddKey { kdf, ..AddKey::default() };
    edit::add_key(luks, key, &secret(passphrase), &options, &mut OsRandom).unwrap()
}

/// Changes the metadata behind the library's back, in both copies.
fn tamper(storage: &Arc<Memory>, change: impl FnOnce(&mut Metadata)) -> Luks {
    let luks = Luks::open(storage.clone(), Access::Probe).unwrap();
    let Header::Luks2 { binary, metadata } = luks.header() else { panic!("not LUKS2") };
    let mut metadata = metadata.clone();
    change(&mut metadata);
    for (copy, offset) in [(Copy::Primary, 0), (Copy::Secondary, binary.size.bytes().0)] {
        let bytes = binary.as_copy(copy, [7; 64]).copy_to_bytes(&metadata.to_json()).unwrap();
        storage.write_at(&bytes, offset).unwrap();
    }
    Luks::open(storage.clone(), Access::Read).unwrap()
}

/// Gives a keyslot another KDF, and an area key of as many bytes.
fn set_kdf(metadata: &mut Metadata, slot: u32, new: &Kdf, key_bytes: u32) {
    let mut keyslot = metadata.keyslots[&slot].clone();
    let KeyslotKind::Luks2 { kdf, area_key_size, .. } = &mut keyslot.kind else { panic!("{keyslot:?}") };
    (*kdf, *area_key_size) = (new.clone(), key_bytes);
    metadata.replace_keyslot(slot, &keyslot).unwrap();
}

fn slot_of(luks: &Luks, passphrase: &str) -> Result<u32, Error> {
    unlock(luks, &secret(passphrase), &UnlockOptions::default()).map(|unlocked| unlocked.keyslot)
}

#[test]
fn every_keyslot_is_found_by_its_passphrase() {
    let (_, mut luks, key) = volume(pbkdf2());
    add(&mut luks, &key, "slot 1", argon2(64));
    add(&mut luks, &key, "slot 2", pbkdf2());
    for slot in 0..3 {
        let unlocked = unlock(&luks, &secret(&format!("slot {slot}")), &UnlockOptions::default()).unwrap();
        assert_eq!((unlocked.keyslot, unlocked.digest), (slot, 0));
        assert!(unlocked.volume_key.ct_eq(key.expose()));
    }
    assert!(matches!(slot_of(&luks, "wrong"), Err(Error::WrongPassphrase)));
}

#[test]
fn eight_keyslots_are_tried_together() {
    let storage = Arc::new(Memory::zeroed(4 << 20));
    let params = Luks1Params { kdf: pbkdf2(), hash: "sha512".into(), ..Luks1Params::default() };
    let key = random_key(64);
    let mut luks = create_luks1(storage, &params, &key, &secret("slot 0"), &mut OsRandom).unwrap();
    for slot in 1..8 {
        let kdf = KdfChoice::Pbkdf2 { hash: "sha512".into(), cost: Cost::Forced(1000 + 777 * slot) };
        assert_eq!(add(&mut luks, &key, &format!("slot {slot}"), kdf), slot);
    }
    for threads in 1..4 {
        let options = UnlockOptions { threads, ..UnlockOptions::default() };
        for slot in 0..8 {
            let unlocked = unlock(&luks, &secret(&format!("slot {slot}")), &options).unwrap();
            assert_eq!(unlocked.keyslot, slot);
            assert!(unlocked.volume_key.ct_eq(key.expose()));
        }
        assert!(matches!(unlock(&luks, &secret("wrong"), &options), Err(Error::WrongPassphrase)));
    }
}

/// Twenty minutes of PBKDF2 in the first keyslot, beside a quick one.
#[test]
fn a_keyslot_that_opens_does_not_wait_for_a_long_one() {
    let (storage, mut luks, key) = volume(pbkdf2());
    add(&mut luks, &key, "slot 1", pbkdf2());
    let luks = tamper(&storage, |metadata| {
        let kdf = Kdf::Pbkdf2 { hash: "sha256".into(), iterations: u32::MAX, salt: vec![1; 32] };
        set_kdf(metadata, 0, &kdf, 64);
    });
    for threads in 1..4 {
        let time_limit = Duration::from_secs(1 << 20);
        let options = UnlockOptions { threads, time_limit, ..UnlockOptions::default() };
        assert_eq!(unlock(&luks, &secret("slot 1"), &options).unwrap().keyslot, 1);
    }
}

#[test]
fn the_first_of_two_slots_with_one_passphrase_wins() {
    let (_, mut luks, key) = volume(pbkdf2());
    add(&mut luks, &key, "same", pbkdf2());
    add(&mut luks, &key, "same", pbkdf2());
    let one_thread = UnlockOptions { threads: 1, ..UnlockOptions::default() };
    assert_eq!(unlock(&luks, &secret("same"), &one_thread).unwrap().keyslot, 1);
    // Side by side the first may be late by more than it is given, but seldom.
    let firsts = (0..20).filter(|_| slot_of(&luks, "same").unwrap() == 1).count();
    assert!(firsts > 10, "{firsts} of 20");
}

#[test]
fn an_ignored_keyslot_opens_only_when_named() {
    let (_, mut luks, _) = volume(pbkdf2());
    edit::set_priority(&mut luks, 0, Priority::Ignore, &mut OsRandom).unwrap();
    assert!(matches!(slot_of(&luks, "slot 0"), Err(Error::NoUsableKeyslot)));
    let named = UnlockOptions { keyslot: Some(0), ..UnlockOptions::default() };
    assert_eq!(unlock(&luks, &secret("slot 0"), &named).unwrap().keyslot, 0);
}

#[test]
fn an_unbound_keyslot_is_not_for_the_volume() {
    let (_, mut luks, key) = volume(pbkdf2());
    let unbound = random_key(20);
    let options = AddKey { kdf: pbkdf2(), ..AddKey::default() };
    let slot =
        edit::add_unbound_key(&mut luks, &unbound, &secret("unbound"), &options, &mut OsRandom).unwrap();
    assert!(matches!(slot_of(&luks, "unbound"), Err(Error::WrongPassphrase)));
    let named = UnlockOptions { keyslot: Some(slot), ..UnlockOptions::default() };
    assert!(matches!(unlock(&luks, &secret("unbound"), &named), Err(Error::NoUsableKeyslot)));
    let any = UnlockOptions { unbound_too: true, ..UnlockOptions::default() };
    let unlocked = unlock(&luks, &secret("unbound"), &any).unwrap();
    assert_eq!((unlocked.keyslot, unlocked.digest), (slot, 1));
    assert!(unlocked.volume_key.ct_eq(unbound.expose()));
    assert!(matches!(verify_volume_key(&luks, &unbound), Err(Error::WrongVolumeKey)));
    assert_eq!(verify_volume_key(&luks, &key).unwrap(), 0);
}

/// PBKDF2 pads its key with zeros: a key that differs in trailing zeros only has the same digest.
#[test]
fn a_volume_key_of_another_length_is_wrong() {
    let (_, luks, key) = volume(pbkdf2());
    let mut longer = Secret::zeroed(65);
    longer.expose_mut()[..64].copy_from_slice(key.expose());
    assert!(matches!(verify_volume_key(&luks, &longer), Err(Error::WrongVolumeKey)));

    let storage = Arc::new(Memory::zeroed(4 << 20));
    let params = Luks1Params { kdf: pbkdf2(), ..Luks1Params::default() };
    let luks = create_luks1(storage, &params, &key, &secret("one"), &mut OsRandom).unwrap();
    assert!(matches!(verify_volume_key(&luks, &longer), Err(Error::WrongVolumeKey)));
    assert_eq!(verify_volume_key(&luks, &key).unwrap(), 0);
}

#[test]
fn a_kdf_beyond_the_memory_budget_is_refused_with_the_figure() {
    let (_, mut luks, key) = volume(argon2(4096));
    let small = UnlockOptions { memory_budget_kib: 4095, ..UnlockOptions::default() };
    let error = unlock(&luks, &secret("slot 0"), &small).err().unwrap();
    assert_eq!(error.to_string(), "keyslot 0 needs 4096 KiB of memory, the budget is 4095 KiB");
    // Another keyslot that fits is tried all the same; only when it
    // does not open the first one is in the way.
    add(&mut luks, &key, "slot 1", pbkdf2());
    assert_eq!(unlock(&luks, &secret("slot 1"), &small).unwrap().keyslot, 1);
    let error = unlock(&luks, &secret("slot 0"), &small).err().unwrap();
    assert!(matches!(error, Error::MemoryBudget { slot: 0, needs_kib: 4096, budget_kib: 4095 }), "{error}");
    let enough = UnlockOptions { memory_budget_kib: 4096, ..UnlockOptions::default() };
    assert_eq!(unlock(&luks, &secret("slot 0"), &enough).unwrap().keyslot, 0);
}

#[test]
fn a_kdf_that_would_take_a_year_is_refused_with_the_figure() {
    let (storage, _, _) = volume(pbkdf2());
    let endless = |kdf: Kdf| tamper(&storage, |metadata| set_kdf(metadata, 0, &kdf, 64));
    let salt = vec![1; 32];
    let luks = endless(Kdf::Argon2id { time: u32::MAX, memory_kib: 1 << 20, lanes: 4, salt: salt.clone() });
    let Err(Error::TimeLimit { slot: 0, needs_seconds, limit_seconds: 3600 }) = slot_of(&luks, "slot 0")
    else {
        panic!("an endless Argon2 was not refused");
    };
    assert!(needs_seconds > 30 * 24 * 3600, "{needs_seconds}");
    let luks = endless(Kdf::Pbkdf2 { hash: "sha1".into(), iterations: u32::MAX, salt });
    let brief = UnlockOptions { time_limit: Duration::from_secs(10), ..UnlockOptions::default() };
    let error = unlock(&luks, &secret("slot 0"), &brief).err().unwrap();
    assert!(matches!(error, Error::TimeLimit { slot: 0, limit_seconds: 10, .. }), "{error}");
}

/// The digest costs as much as a KDF: a header can make it endless too.
#[test]
fn an_endless_digest_is_refused_with_the_figure() {
    let storage = Arc::new(Memory::zeroed(4 << 20));
    let params = Luks1Params { kdf: pbkdf2(), ..Luks1Params::default() };
    create_luks1(storage.clone(), &params, &random_key(64), &secret("one"), &mut OsRandom).unwrap();
    storage.write_at(&u32::MAX.to_be_bytes(), 164).unwrap();
    let luks = Luks::open(storage, Access::Read).unwrap();
    let brief = UnlockOptions { time_limit: Duration::from_secs(5), ..UnlockOptions::default() };
    let error = unlock(&luks, &secret("one"), &brief).err().unwrap();
    assert!(matches!(error, Error::TimeLimit { slot: 0, limit_seconds: 5, .. }), "{error}");
}

#[test]
fn an_unknown_requirement_forbids_opening_and_editing_by_name() {
    let (storage, _, key) = volume(pbkdf2());
    let luks = tamper(&storage, |metadata| {
        let mut document = json::parse(&metadata.to_json()).unwrap();
        let config = document.as_object_mut().unwrap().get_mut("config").unwrap().as_object_mut().unwrap();
        config.set("requirements", json::parse(br#"{"mandatory":["time-travel"]}"#).unwrap());
        *metadata = Metadata::parse(document.to_compact().as_bytes(), HeaderSize::ALL[0]).unwrap();
    });
    assert!(!luks.uuid().is_empty());
    let expected = "requirement \"time-travel\" is unknown";
    assert_eq!(slot_of(&luks, "slot 0").err().unwrap().to_string(), expected);
    assert_eq!(verify_volume_key(&luks, &key).err().unwrap().to_string(), expected);
    let judged = Admitted::judge(luks, None, &Terms::default());
    assert_eq!(judged.err().unwrap().to_string(), expected);
    let mut luks = Luks::open(storage.clone(), Access::Write).unwrap();
    let before = storage.to_vec();
    assert_eq!(edit::kill_slot(&mut luks, 0, &mut OsRandom).err().unwrap().to_string(), expected);
    assert_eq!(edit::set_uuid(&mut luks, None, None, &mut OsRandom).err().unwrap().to_string(), expected);
    let options = AddKey { kdf: pbkdf2(), ..AddKey::default() };
    let added = edit::add_key(&mut luks, &key, &secret("new"), &options, &mut OsRandom);
    assert_eq!(added.err().unwrap().to_string(), expected);
    assert!(storage.to_vec() == before);
}

/// Two edits of one header that do not know of each other: the second must not undo the first.
#[test]
fn an_edit_of_a_header_that_changed_meanwhile_is_refused() {
    let (storage, mut first, _) = volume(pbkdf2());
    let mut second = Luks::open(storage, Access::Write).unwrap();
    edit::set_label(&mut first, Some("first"), None, None, &mut OsRandom).unwrap();
    let error = edit::set_label(&mut second, Some("second"), None, None, &mut OsRandom).err().unwrap();
    assert!(error.to_string().starts_with("Detected attempt for concurrent LUKS metadata update"), "{error}");
    edit::set_label(&mut first, Some("again"), None, None, &mut OsRandom).unwrap();
}

#[test]
fn a_header_opened_for_reading_is_not_edited() {
    let (storage, _, _) = volume(pbkdf2());
    let mut luks = Luks::open(storage, Access::Read).unwrap();
    assert!(edit::set_label(&mut luks, Some("label"), None, None, &mut OsRandom).is_err());
}

/// Nothing derives a key that no cipher takes: a mebibyte of PBKDF2 would be days of work.
#[test]
fn an_area_key_of_impossible_length_is_refused_before_it_is_derived() {
    let (storage, ..) = volume(pbkdf2());
    let luks = tamper(&storage, |metadata| {
        let kdf = Kdf::Pbkdf2 { hash: "sha256".into(), iterations: 999_999, salt: vec![1; 32] };
        set_kdf(metadata, 0, &kdf, 1 << 20);
    });
    assert!(matches!(slot_of(&luks, "slot 0"), Err(Error::Crypto(_))));
}

#[test]
fn whoever_waits_may_end_it() {
    let (storage, mut luks, key) = volume(pbkdf2());
    add(&mut luks, &key, "slot 1", pbkdf2());
    drop(luks);
    // An hour of work each, side by side, so that only the stop can end it.
    let luks = tamper(&storage, |metadata| {
        for slot in 0..2 {
            let endless = Kdf::Pbkdf2 { hash: "sha256".into(), iterations: u32::MAX, salt: vec![1; 32] };
            set_kdf(metadata, slot, &endless, 64);
        }
    });
    let stop = Arc::new(Stop::new());
    let options = UnlockOptions {
        time_limit: Duration::MAX,
        stop: Some(Arc::clone(&stop)),
        ..UnlockOptions::default()
    };
    let stopped = || unlock(&luks, &secret("nobody's"), &options).err();
    thread::scope(|scope| {
        let waiting = scope.spawn(stopped);
        thread::sleep(Duration::from_millis(50));
        stop.stop();
        let error = waiting.join().unwrap();
        assert!(matches!(error, Some(Error::Crypto(keyway_crypto::Error::Stopped))), "{error:?}");
    });
    let before = stopped();
    assert!(matches!(before, Some(Error::Crypto(keyway_crypto::Error::Stopped))), "{before:?}");
}
