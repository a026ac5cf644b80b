//! Keyslots of LUKS1: material, descriptor and active word, each in its turn.

use super::*;

/// Asserts that steps write a LUKS1 descriptor's parts in this order,
/// each flushed, and nothing else.
fn descriptor(steps: &[Step], slot: u64, word_first: bool) {
    let start = 208 + 48 * slot;
    let (word, rest) = ((start, 4), (start + 4, 44));
    let parts: Vec<(u64, usize)> = steps
        .chunks(2)
        .map(|step| match step {
            [Write(offset, bytes), Flush] => (*offset, bytes.len()),
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(parts, if word_first { [word, rest] } else { [rest, word] });
}

/// Where LUKS1's material is for keys of 64 bytes: 4000 stripes, from
/// the eighth sector in steps of 504.
pub(super) fn material(slot: u64) -> Range<u64> {
    let start = 512 * (8 + 504 * slot);
    start..start + 4000 * 64
}

#[test]
fn luks1_keys_are_added_material_first_and_killed_material_first() {
    let (storage, mut luks) = luks1_volume();
    assert_eq!(add(&mut luks, "slot 1", None), Ok(1));
    let steps = storage.steps();
    let Write(offset, bytes) = &steps[0] else { panic!() };
    assert_eq!((*offset..*offset + bytes.len() as u64, &steps[1]), (material(1), &Flush));
    descriptor(&steps[2..], 1, false);
    assert_eq!((slot(&storage, &luks, "slot 0"), slot(&storage, &luks, "slot 1")), (Some(0), Some(1)));
    edit::kill_slot(&mut luks, 1, &mut OsRandom).unwrap();
    descriptor(wiped(&storage.steps(), material(1)), 1, true);
    assert_eq!((slot(&storage, &luks, "slot 0"), slot(&storage, &luks, "slot 1")), (Some(0), None));
    let refused = |slot| edit::kill_slot(&mut luks1_volume().1, slot, &mut OsRandom).unwrap_err().to_string();
    assert_eq!(refused(1), "Keyslot 1 is not active.");
    assert_eq!(refused(8), "Key slot 8 is invalid, please select keyslot between 0 and 7.");
}

#[test]
fn luks1_slots_that_cannot_be_had() {
    let (storage, mut luks) = luks1_volume();
    assert_eq!(add(&mut luks, "x", Some(0)).unwrap_err(), "Key slot 0 is full, please select another one.");
    let invalid = "Key slot 8 is invalid, please select keyslot between 0 and 7.";
    assert_eq!(add(&mut luks, "x", Some(8)).unwrap_err(), invalid);
    assert_eq!(storage.steps(), [], "what is refused writes nothing");
    assert_eq!(add(&mut luks, "slot 7", Some(7)), Ok(7));
    assert_eq!(slot(&storage, &luks, "slot 7"), Some(7));
    let unlocked = opened(&luks, "slot 7").unwrap();
    edit::kill_slot(&mut luks, 7, &mut OsRandom).unwrap();
    let gone = edit::change_key(&mut luks, &unlocked, &secret("x"), &options(None), &mut OsRandom);
    assert_eq!(gone.unwrap_err().to_string(), "Keyslot 7 is not active.");
    for number in 1..8 {
        assert_eq!(add(&mut luks, &format!("slot {number}"), None), Ok(number));
    }
    assert_eq!(add(&mut luks, "x", None).unwrap_err(), "All key slots full.");
    assert!(change(&mut luks, "slot 0", "x", None).unwrap_err().starts_with("All key slots are in use"));
}

#[test]
fn a_full_header_of_luks1_changes_a_key_in_place_where_that_is_wanted() {
    for (old, kept) in [("slot 0", None), ("slot 5", Some(5))] {
        let (storage, mut luks) = luks1_volume();
        for number in 1..8 {
            add(&mut luks, &format!("slot {number}"), None).unwrap();
        }
        let (unlocked, options) = (opened(&luks, old).unwrap(), AddKey { in_place: true, ..options(kept) });
        storage.steps();
        let changed =
            edit::change_key(&mut luks, &unlocked, &secret("new"), &options, &mut OsRandom).unwrap();
        assert_eq!((changed, slot(&storage, &luks, "new")), (unlocked.keyslot, Some(unlocked.keyslot)));
        // The old key is wiped before the new one takes its place.
        descriptor(&wiped(&storage.steps(), material(changed.into()))[..4], changed.into(), true);
        for number in 0..8 {
            let passphrase = format!("slot {number}");
            let expected = (number != changed).then_some(number);
            assert_eq!(slot(&storage, &luks, &passphrase), expected, "{passphrase}");
        }
        let elsewhere = AddKey { keyslot: Some(3), ..options };
        let unlocked = opened(&luks, "new").unwrap();
        let refused = edit::change_key(&mut luks, &unlocked, &secret("x"), &elsewhere, &mut OsRandom);
        assert_eq!(refused.unwrap_err().to_string(), "Key slot 3 is full, please select another one.");
    }
}

#[test]
fn luks1_a_changed_key_moves_or_comes_back() {
    let (storage, mut luks) = luks1_volume();
    assert_eq!(change(&mut luks, "slot 0", "moved", None), Ok(1));
    descriptor(wiped(&storage.steps()[6..], material(0)), 0, true);
    assert_eq!((slot(&storage, &luks, "slot 0"), slot(&storage, &luks, "moved")), (None, Some(1)));
    assert_eq!(change(&mut luks, "moved", "chosen", Some(5)), Ok(5));
    assert_eq!((slot(&storage, &luks, "moved"), slot(&storage, &luks, "chosen")), (None, Some(5)));
    storage.steps();
    assert_eq!(change(&mut luks, "chosen", "same", Some(5)), Ok(5));
    let steps = storage.steps();
    // To the first free slot, the old one goes, back to it, and the first free one is wiped too.
    descriptor(&wiped(&steps[6..], material(5))[..4], 5, true);
    descriptor(wiped(&steps[28..], material(0)), 0, true);
    assert_eq!((slot(&storage, &luks, "chosen"), slot(&storage, &luks, "same")), (None, Some(5)));
    add(&mut luks, "other", Some(3)).unwrap();
    let full = "Key slot 3 is full, please select another one.";
    assert_eq!(change(&mut luks, "same", "x", Some(3)).unwrap_err(), full);
}

#[test]
fn luks1_erase_takes_damaged_slots_too() {
    let (storage, mut luks) = luks1_volume();
    add(&mut luks, "slot 2", Some(2)).unwrap();
    add(&mut luks, "slot 4", Some(4)).unwrap();
    // A torn write of slot 4's active word.
    storage.memory.write_at(&[0, 0xac, 0x71, 0], 208 + 48 * 4).unwrap();
    let mut luks = Luks::open(storage.clone(), Access::Write).unwrap();
    storage.steps();
    edit::erase(&mut luks, &mut OsRandom).unwrap();
    // All areas first: a word alone says which ones hold keys.
    let steps = storage.steps();
    let rest = (0..8).map(material).fold(&steps[..], wiped);
    for (steps, slot) in rest.chunks(4).zip([0, 2, 4]) {
        descriptor(steps, slot, true);
    }
    assert_eq!(rest.len(), 3 * 4);
    for passphrase in ["slot 0", "slot 2", "slot 4"] {
        assert_eq!(slot(&storage, &luks, passphrase), None);
    }
}
