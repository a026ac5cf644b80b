//! Facts of headers made here, and of headers that were changed since.

use super::{Concern, Content, Copies, Facts, Keyslot, SealState, keyslots, keyslots_in_turn};
use crate::change::create::{Luks1Params, Luks2Params, create_luks1, create_luks2};
use crate::change::edit::{AddKey, add_key, add_unbound_key, set_priority};
use crate::change::seal;
use crate::device::storage::Memory;
use crate::trust::policy::Subject;
use crate::unlock;
use crate::{Access, Cost, DataDevice, KdfChoice, Luks, OsRandom, Storage, UnlockOptions, UnlockTimes};
use keyway_crypto::Secret;
use keyway_format::luks2::{Copy, Kdf, Priority};
use std::sync::Arc;

fn pbkdf2(iterations: u32) -> KdfChoice {
    KdfChoice::Pbkdf2 { hash: "sha256".into(), cost: Cost::Forced(iterations) }
}

fn passphrase() -> Secret {
    Secret::copy_from(b"x")
}

fn luks2() -> (Arc<Memory>, Luks) {
    let storage = Arc::new(Memory::zeroed(4 << 20));
    let keyslots_size = Some(2 << 20);
    let params = Luks2Params {
        kdf: pbkdf2(1000),
        label: Some("a disk".into()),
        keyslots_size,
        ..Luks2Params::default()
    };
    let key = Secret::copy_from(&[7; 64]);
    create_luks2(storage.clone(), &params, &key, &passphrase(), &mut OsRandom).unwrap();
    let luks = Luks::open(storage.clone(), Access::Write).unwrap();
    (storage, luks)
}

fn concerns(luks: &Luks, len: u64) -> Vec<Concern> {
    let facts = Facts::of(luks, len).unwrap();
    Concern::all(&facts, luks, DataDevice { len, holds_header: true })
}

#[test]
fn of_luks1() {
    let storage = Arc::new(Memory::zeroed(4 << 20));
    let params = Luks1Params { kdf: pbkdf2(1000), key_bits: 256, ..Luks1Params::default() };
    let key = Secret::copy_from(&[7; 32]);
    create_luks1(storage.clone(), &params, &key, &passphrase(), &mut OsRandom).unwrap();
    let luks = Luks::open(storage, Access::Probe).unwrap();
    let facts = Facts::of(&luks, 4 << 20).unwrap();
    assert_eq!((facts.version, facts.key_bits, facts.copies), (1, Some(256), Copies::Single));
    let [segment] = &facts.segments[..] else { panic!("LUKS1 has one segment") };
    assert_eq!(segment.content, Content::Encrypted { cipher: "aes-xts-plain64".into(), integrity: None });
    assert_eq!(segment.offset + segment.len, 4 << 20);
    let [keyslot] = &facts.keyslots[..] else { panic!("one keyslot was made") };
    assert_eq!(keyslot.derivation.as_ref().unwrap().len, 32);
    assert_eq!(keyslot.digest.as_ref().unwrap().len, 20);
    assert!(UnlockTimes::new(1).of_keyslot(keyslot).is_some());
}

#[test]
fn of_luks2_with_a_damaged_copy() {
    let (storage, luks) = luks2();
    let facts = Facts::of(&luks, 4 << 20).unwrap();
    assert_eq!((facts.version, facts.label.as_deref(), facts.subsystem), (2, Some("a disk"), None));
    assert!(matches!(facts.copies, Copies::Both { .. }));
    let derivation = facts.keyslots[0].derivation.as_ref().unwrap();
    assert!(matches!(&derivation.kdf, Kdf::Pbkdf2 { iterations: 1000, .. }));
    assert!(!concerns(&luks, 4 << 20).contains(&Concern::DamagedCopy(Copy::Secondary)));

    storage.write_at(b"broken", 16 << 10).unwrap();
    let luks = Luks::open(storage, Access::Probe).unwrap();
    let facts = Facts::of(&luks, 4 << 20).unwrap();
    assert!(matches!(facts.copies, Copies::Damaged { copy: Copy::Secondary, .. }));
    assert!(concerns(&luks, 4 << 20).contains(&Concern::DamagedCopy(Copy::Secondary)));
}

#[test]
fn the_keyslots_that_are_tried_first_come_first() {
    let (_, mut luks) = luks2();
    let key = unlock(&luks, &passphrase(), &UnlockOptions::default()).unwrap().volume_key;
    let options = AddKey { kdf: pbkdf2(2000), ..AddKey::default() };
    for _ in 0..2 {
        add_key(&mut luks, &key, &passphrase(), &options, &mut OsRandom).unwrap();
    }
    let other = Secret::copy_from(&[8; 64]);
    add_unbound_key(&mut luks, &other, &passphrase(), &options, &mut OsRandom).unwrap();
    set_priority(&mut luks, 2, Priority::Prefer, &mut OsRandom).unwrap();
    let in_turn = keyslots_in_turn(luks.header());
    assert_eq!(in_turn.iter().map(|keyslot| keyslot.number).collect::<Vec<_>>(), [2, 0, 1]);
    assert!(keyslots(luks.header()).iter().any(|keyslot| keyslot.number == 3 && keyslot.unbound));
}

#[test]
fn concerns_about_keyslots_and_length() {
    let (_, luks) = luks2();
    let cheap = |concern: &Concern| {
        matches!(concern, Concern::Cheap { keyslot: 0, least_iterations: Some(600_000), .. })
    };
    assert!(concerns(&luks, 4 << 20).iter().any(cheap));
    let facts = Facts::of(&luks, 4 << 20).unwrap();
    let start = facts.segments[0].offset;
    assert!(concerns(&luks, start).contains(&Concern::NoRoom));

    let keyslot = |memory_kib| Keyslot {
        derivation: Ok(super::Derivation {
            kdf: Kdf::Argon2id { time: 1, memory_kib, lanes: 1, salt: Vec::new() },
            len: 64,
        }),
        ..facts.keyslots[0].clone()
    };
    let concerned = |keyslot: Keyslot| {
        let facts = Facts { keyslots: vec![keyslot], ..facts.clone() };
        Concern::all(&facts, &luks, DataDevice { len: 4 << 20, holds_header: true })
    };
    assert!(matches!(concerned(keyslot(19 << 10))[..], [Concern::Cheap { least_iterations: None, .. }]));
    assert_eq!(concerned(keyslot(2 * (19 << 10))), []);
    let all_memory = Concern::Expensive { keyslot: 0, memory_kib: u32::MAX };
    assert_eq!(concerned(keyslot(u32::MAX)), [all_memory]);
    let foreign = Keyslot { derivation: Err("tpm".into()), ..keyslot(1) };
    assert_eq!(UnlockTimes::new(1).of_keyslot(&foreign), None);
    assert_eq!(concerned(foreign), [Concern::NoKeyslot]);
}

#[test]
fn a_seal_is_verified_by_the_key() {
    let (_, mut luks) = luks2();
    let state = |luks: &Luks, volume_key: Option<&Secret>, context| {
        let subject = Subject { header: luks.header(), data_len: Some(4 << 20), volume_key };
        SealState::of(subject, context)
    };
    let key = Secret::copy_from(&[7; 64]);
    assert_eq!(state(&luks, Some(&key), None), SealState::None);
    seal::seal(&mut luks, &key, 4 << 20, Some("here"), &mut OsRandom).unwrap();
    assert_eq!(state(&luks, None, None), SealState::Unverified);
    assert_eq!(state(&luks, Some(&key), Some("here")), SealState::Verified);
    assert!(matches!(state(&luks, Some(&key), Some("there")), SealState::Broken(_)));
}
