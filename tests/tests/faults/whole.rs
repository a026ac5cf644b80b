//! Operations on whole headers: conversion both ways, restore, repair.

use crate::cut::{Promise, every_breakdown, every_cut, random_key, secret};
use crate::luks1::{options, writable};
use crate::{luks1, luks2};
use keyway_volume::change::backup::{Midway, Restore};
use keyway_volume::change::convert::{to_luks1, to_luks2};
use keyway_volume::change::create::{Luks1Params, create_luks1};
use keyway_volume::change::edit;
use keyway_volume::change::repair::Repair;
use keyway_volume::device::storage::{Faulty, Memory};
use keyway_volume::unlock;
use keyway_volume::{Access, Locking, Luks, OsRandom, UnlockOptions};
use std::sync::Arc;

const BOTH: Promise<'_> = Promise {
    always: &["old", "other"],
    one_of: &[],
    opens_after: &[],
    gone_after: &[],
    may_be_nothing: false,
};

fn version(image: &[u8]) -> u8 {
    Luks::open(Arc::new(Memory::from(image.to_vec())), Access::Probe).unwrap().version()
}

/// Slot 0 is where LUKS2's header copies go, so its material moves first. Then back, and forth
/// again.
#[test]
fn convert_there_and_back() {
    let key = random_key(32);
    let image = luks1::volume(&key);
    let luks2 = every_cut("luks1 to luks2", image, &key, &BOTH, |storage| {
        to_luks2(&mut writable(storage), &mut OsRandom).unwrap();
    });
    assert_eq!(version(&luks2), 2);
    let luks1 = every_cut("luks2 to luks1", luks2, &key, &BOTH, |storage| {
        to_luks1(&mut writable(storage), &mut OsRandom).unwrap();
    });
    assert_eq!(version(&luks1), 1);
    let luks2 = every_cut("luks1 to luks2 again", luks1, &key, &BOTH, |storage| {
        to_luks2(&mut writable(storage), &mut OsRandom).unwrap();
    });
    let luks = Luks::open(Arc::new(Memory::from(luks2)), Access::Read).unwrap();
    for (slot, passphrase) in [(0, "old"), (1, "other")] {
        assert_eq!(unlock(&luks, &secret(passphrase), &UnlockOptions::default()).unwrap().keyslot, slot);
    }
}

/// With 512-bit keys the areas are larger, and QEMU's payload starts right after the last.
#[test]
fn convert_large_keys() {
    let key = random_key(64);
    let storage = Arc::new(Memory::zeroed(4040 * 512 + 4096));
    let params = Luks1Params { key_bits: 512, payload_offset: Some(4040), ..luks1::params() };
    let mut luks = create_luks1(storage.clone(), &params, &key, &secret("old"), &mut OsRandom).unwrap();
    edit::add_key(&mut luks, &key, &secret("other"), &options(), &mut OsRandom).unwrap();
    let luks2 = every_cut("luks1 to luks2, 512 bits", storage.to_vec(), &key, &BOTH, |storage| {
        to_luks2(&mut writable(storage), &mut OsRandom).unwrap();
    });
    let luks1 = every_cut("luks2 to luks1, 512 bits", luks2, &key, &BOTH, |storage| {
        to_luks1(&mut writable(storage), &mut OsRandom).unwrap();
    });
    assert_eq!(version(&luks1), 1);
}

#[test]
fn breakdowns_are_told() {
    let key = random_key(32);
    every_breakdown(&luks1::volume(&key), |storage| {
        let mut luks = Luks::open(storage, Access::Write)?;
        to_luks2(&mut luks, &mut OsRandom)?;
        to_luks1(&mut luks, &mut OsRandom)
    });
    let backup = Memory::from(luks2::volume(&key));
    every_breakdown(&luks2::volume(&key), |storage| {
        Restore::prepare(storage, &backup, Locking::default(), Midway::Refuse)?.run()
    });
}

/// Every keyslot in use: the one that must move has nowhere to go.
#[test]
fn a_full_luks1_header_is_not_converted() {
    let key = random_key(32);
    let storage = Arc::new(Faulty::new(luks1::volume(&key)));
    let mut luks = writable(storage.clone());
    for slot in 2..8 {
        edit::add_key(&mut luks, &key, &secret(&format!("slot {slot}")), &options(), &mut OsRandom).unwrap();
    }
    let before = storage.image();
    let error = to_luks2(&mut luks, &mut OsRandom).unwrap_err();
    assert!(error.to_string().starts_with("Unable to move keyslot area"), "{error}");
    assert!(storage.image() == before, "a refused operation wrote");
}

#[test]
fn what_luks1_cannot_express_is_refused() {
    let key = random_key(32);
    let storage = Arc::new(Faulty::new(luks2::volume(&key)));
    let mut luks = writable(storage.clone());
    let error = to_luks1(&mut luks, &mut OsRandom).unwrap_err().to_string();
    assert_eq!(
        error,
        "Cannot convert to LUKS1 format - the encryption sector size is 4096, LUKS1 supports only 512."
    );
    edit::token_import(&mut luks, None, br#"{"type":"test","keyslots":[]}"#, &[], false, &mut OsRandom)
        .unwrap();
    let before = storage.image();
    let error = to_luks1(&mut luks, &mut OsRandom).unwrap_err().to_string();
    assert_eq!(error, "Cannot convert to LUKS1 format - LUKS2 header contains 1 token(s).");
    assert!(storage.image() == before, "a refused operation wrote");
}

/// A backup of the same keys: whatever the state, they always open.
#[test]
fn restore_of_the_same_keys() {
    let key = random_key(32);
    for (name, image) in [("luks1", luks1::volume(&key)), ("luks2", luks2::volume(&key))] {
        let backup = Memory::from(image.clone());
        // The UUID was changed in the meantime.
        let changed = Arc::new(Memory::from(image));
        let mut luks = Luks::open(changed.clone(), Access::Write).unwrap();
        edit::set_uuid(&mut luks, None, None, &mut OsRandom).unwrap();
        every_cut(&format!("{name} restore"), changed.to_vec(), &key, &BOTH, |storage| {
            let restore = Restore::prepare(storage, &backup, Locking::default(), Midway::Refuse).unwrap();
            assert!(restore.warnings().contains(&keyway_volume::change::backup::Warning::OtherUuid));
            restore.run().unwrap();
        });
    }
}

/// A backup of other keys, interrupted anywhere: running it again completes it.
#[test]
fn restore_can_be_run_again() {
    let key = random_key(32);
    for image in [luks1::volume(&key), luks2::volume(&key)] {
        let backup = Memory::from(image.clone());
        let changed = Arc::new(Memory::from(image));
        let mut luks = Luks::open(changed.clone(), Access::Write).unwrap();
        edit::kill_slot(&mut luks, 0, &mut OsRandom).unwrap();
        edit::add_key(&mut luks, &key, &secret("new"), &options(), &mut OsRandom).unwrap();
        let faulty = Arc::new(Faulty::new(changed.to_vec()));
        Restore::prepare(faulty.clone(), &backup, Locking::default(), Midway::Refuse).unwrap().run().unwrap();
        for cut in faulty.cuts() {
            let storage = Arc::new(Memory::from(faulty.image_at(cut)));
            Restore::prepare(storage.clone(), &backup, Locking::default(), Midway::Refuse)
                .unwrap()
                .run()
                .unwrap();
            let luks = Luks::open(storage, Access::Read).unwrap();
            unlock(&luks, &secret("old"), &UnlockOptions::default()).unwrap();
        }
    }
}

#[test]
fn restore_refuses_another_geometry() {
    let key = random_key(32);
    let target = Arc::new(Faulty::new(luks1::volume(&key)));
    let backup = Arc::new(Memory::zeroed(8 << 20));
    let params = Luks1Params { payload_offset: Some(8192), ..luks1::params() };
    create_luks1(backup.clone(), &params, &key, &secret("old"), &mut OsRandom).unwrap();
    let error = Restore::prepare(target.clone(), &*backup, Locking::default(), Midway::Refuse).err().unwrap();
    assert_eq!(error.to_string(), "Data offset or key size differs on device and backup, restore failed.");
    // Only the user knows which of two versions the data belongs to.
    let other = Memory::from(luks2::volume(&key));
    let restore = Restore::prepare(target.clone(), &other, Locking::default(), Midway::Refuse).unwrap();
    assert_eq!(
        restore.warnings()[0].to_string(),
        "Device does not contain LUKS2 header, it contains LUKS1 header. Replacing header can destroy data on that \
         device."
    );
    let error = Restore::prepare(target.clone(), &Memory::zeroed(4096), Locking::default(), Midway::Refuse)
        .err()
        .unwrap();
    assert!(error.to_string().starts_with("Backup file does not contain valid LUKS header"), "{error}");
    assert!(target.events().is_empty());
}

/// A partition table written over LUKS1's unused slots, and a lost LUKS2 copy beside a foreign
/// signature.
#[test]
fn repair() {
    let key = random_key(32);
    let mut image = luks1::volume(&key);
    image[510..512].copy_from_slice(&[0x55, 0xaa]);
    let complete = every_cut("luks1 repair", image, &key, &BOTH, |storage| {
        let repair = Repair::prepare(storage, Locking::default()).unwrap();
        assert_eq!(repair.changes(), ["Keyslot 6: salt wiped."]);
        repair.run().unwrap();
    });
    let sound = Repair::prepare(Arc::new(Memory::from(complete)), Locking::default()).unwrap();
    assert!(sound.changes().is_empty());

    let mut image = luks2::volume(&key);
    image[..4096].fill(0);
    image[..4].copy_from_slice(b"XFSB");
    let storage = Arc::new(Memory::from(image));
    let error = Luks::open(storage.clone(), Access::Read).err().unwrap();
    assert!(error.to_string().contains("ambiguous signatures (XFS"), "{error}");
    Repair::prepare(storage.clone(), Locking::default()).unwrap().run().unwrap();
    Luks::open(storage, Access::Read).unwrap();
}
