//! Keyslots of LUKS2: material to a free area, both copies of the metadata, the old area wiped.

use super::*;
use keyway_format::luks2::Priority;
use keyway_volume::Header;

/// The area of a keyslot.
pub(super) fn area(luks: &Luks, keyslot: u32) -> Range<u64> {
    let Header::Luks2 { metadata, .. } = luks.header() else { panic!() };
    let area = metadata.keyslots[&keyslot].area;
    area.offset.0..area.end().0
}

pub(super) fn keyslots(luks: &Luks) -> Vec<u32> {
    let Header::Luks2 { metadata, .. } = luks.header() else { panic!() };
    metadata.keyslots.keys().copied().collect()
}

/// Asserts that these steps write both copies of the metadata, the
/// primary first, each flushed, and nothing else.
fn committed(steps: &[Step]) {
    let places: Vec<(u64, usize)> = steps
        .chunks(2)
        .map(|step| match step {
            [Write(offset, bytes), Flush] => (*offset, bytes.len()),
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(places, [(0, 16384), (16384, 16384)]);
}

#[test]
fn luks2_keys_are_added_material_first_and_killed_material_first() {
    let (storage, mut luks) = luks2_volume();
    assert_eq!(add(&mut luks, "slot 3", Some(3)), Ok(3));
    let steps = storage.steps();
    let Write(offset, bytes) = &steps[0] else { panic!() };
    let place = area(&luks, 3);
    assert_eq!((*offset, bytes.len(), &steps[1]), (place.start, 64 * 4000, &Flush));
    committed(&steps[2..]);
    assert_eq!((slot(&storage, &luks, "slot 0"), slot(&storage, &luks, "slot 3")), (Some(0), Some(3)));
    edit::kill_slot(&mut luks, 3, &mut OsRandom).unwrap();
    committed(wiped(&storage.steps(), place));
    assert_eq!((slot(&storage, &luks, "slot 0"), slot(&storage, &luks, "slot 3")), (Some(0), None));
    let refused = edit::kill_slot(&mut luks, 3, &mut OsRandom).unwrap_err().to_string();
    assert_eq!((&refused[..], storage.steps()), ("Keyslot 3 is not active.", Vec::new()));
}

#[test]
fn luks2_slots_that_cannot_be_had() {
    let (storage, mut luks) = luks2_volume();
    assert_eq!(add(&mut luks, "x", Some(0)).unwrap_err(), "Key slot 0 is full, please select another one.");
    let invalid = "Key slot 32 is invalid, please select keyslot between 0 and 31.";
    assert_eq!(add(&mut luks, "x", Some(32)).unwrap_err(), invalid);
    assert_eq!(storage.steps(), [], "what is refused writes nothing");
    assert_eq!(add(&mut luks, "slot 31", Some(31)), Ok(31));
    assert_eq!(add(&mut luks, "slot 1", None), Ok(1));
    let unlocked = opened(&luks, "slot 31").unwrap();
    edit::kill_slot(&mut luks, 31, &mut OsRandom).unwrap();
    let gone = edit::change_key(&mut luks, &unlocked, &secret("x"), &options(None), &mut OsRandom);
    assert_eq!(gone.unwrap_err().to_string(), "Keyslot 31 is not active.");
    let full = "Key slot 1 is full, please select another one.";
    assert_eq!(change(&mut luks, "slot 0", "x", Some(1)).unwrap_err(), full);
}

#[test]
fn luks2_a_changed_key_is_taken_over_by_one_write() {
    let (storage, mut luks) = luks2_volume();
    edit::set_priority(&mut luks, 0, Priority::Prefer, &mut OsRandom).unwrap();
    edit::token_import(&mut luks, Some(2), KEYRING, &[0], false, &mut OsRandom).unwrap();
    for (number, passphrases) in [(0, ["slot 0", "second"]), (4, ["second", "third"])] {
        let (before, old) = (area(&luks, 0), passphrases[0]);
        storage.steps();
        assert_eq!(change(&mut luks, old, passphrases[1], Some(number)), Ok(number));
        let steps = storage.steps();
        let Write(offset, bytes) = &steps[0] else { panic!() };
        assert_eq!((*offset, bytes.len(), &steps[1]), (area(&luks, number).start, 64 * 4000, &Flush));
        assert_ne!(area(&luks, number), before, "never over the only copy of a key");
        committed(&steps[2..6]);
        assert_eq!(wiped(&steps[6..], before), []);
        assert_eq!((slot(&storage, &luks, old), slot(&storage, &luks, passphrases[1])), (None, Some(number)));
        let Header::Luks2 { metadata, .. } = luks.header() else { panic!() };
        assert_eq!(metadata.keyslots[&number].priority, Priority::Prefer);
        assert_eq!(metadata.tokens[&2].keyslots, [number]);
        assert_eq!(keyslots(&luks), [number]);
    }
    // Without a number it keeps its own.
    assert_eq!(change(&mut luks, "third", "fourth", None), Ok(4));
    let unlocked = opened(&luks, "fourth").unwrap();
    let converted =
        edit::convert_key(&mut luks, &unlocked, &secret("fourth"), &options(Some(9)), &mut OsRandom);
    assert_eq!((converted.unwrap(), slot(&storage, &luks, "fourth")), (4, Some(4)));
}

#[test]
fn a_full_area_of_luks2_changes_a_key_in_place_where_that_is_wanted() {
    let (storage, mut luks) = luks2_volume();
    edit::token_import(&mut luks, Some(2), KEYRING, &[0], false, &mut OsRandom).unwrap();
    let added = (1..).take_while(|number| add(&mut luks, &format!("slot {number}"), None).is_ok()).count();
    assert_eq!(added, 7);
    assert!(change(&mut luks, "slot 0", "x", None).unwrap_err().starts_with("No space for new keyslot"));
    let old = area(&luks, 0);
    for (from, to, number) in [("slot 0", "second", None), ("second", "third", Some(0))] {
        let (unlocked, options) =
            (opened(&luks, from).unwrap(), AddKey { in_place: true, ..options(number) });
        storage.steps();
        assert_eq!(edit::change_key(&mut luks, &unlocked, &secret(to), &options, &mut OsRandom).unwrap(), 0);
        let steps = storage.steps();
        let rest = wiped(&steps, old.clone());
        let Write(offset, bytes) = &rest[0] else { panic!() };
        assert_eq!((*offset, bytes.len(), &rest[1]), (old.start, 64 * 4000, &Flush));
        committed(&rest[2..]);
        assert_eq!((slot(&storage, &luks, from), slot(&storage, &luks, to)), (None, Some(0)));
        assert_eq!((area(&luks, 0), slot(&storage, &luks, "slot 7")), (old.clone(), Some(7)));
    }
    let Header::Luks2 { metadata, .. } = luks.header() else { panic!() };
    assert_eq!(metadata.tokens[&2].keyslots, [0]);
    // Under another number it would lie over the old one for a moment.
    let (unlocked, elsewhere) =
        (opened(&luks, "third").unwrap(), AddKey { in_place: true, ..options(Some(9)) });
    let refused =
        edit::change_key(&mut luks, &unlocked, &secret("x"), &elsewhere, &mut OsRandom).unwrap_err();
    assert!(refused.to_string().starts_with("No space for new keyslot"), "{refused}");
}

#[test]
fn luks2_erase_and_keys_of_nothing() {
    let (storage, mut luks) = luks2_volume();
    add(&mut luks, "slot 5", Some(5)).unwrap();
    let unbound = Secret::copy_from(&[9; 32]);
    let mut add_unbound = |key: &Secret, keyslot| {
        edit::add_unbound_key(&mut luks, key, &secret("unbound"), &options(keyslot), &mut OsRandom)
    };
    let why = add_unbound(&Secret::zeroed(0), None).unwrap_err().to_string();
    assert_eq!(why, "an unbound key cannot be empty");
    assert_eq!(add_unbound(&unbound, Some(7)).unwrap(), 7);
    let options = UnlockOptions { keyslot: Some(7), unbound_too: true, ..UnlockOptions::default() };
    assert!(unlock(&luks, &secret("unbound"), &options).unwrap().volume_key.ct_eq(unbound.expose()));
    assert_eq!(keyslots(&luks), [0, 5, 7]);
    let areas: Vec<_> = keyslots(&luks).into_iter().map(|number| area(&luks, number)).collect();
    storage.steps();
    edit::erase(&mut luks, &mut OsRandom).unwrap();
    // All areas first, and the header once.
    let steps = storage.steps();
    committed(areas.into_iter().fold(&steps[..], wiped));
    assert_eq!(keyslots(&luks), []);
}

/// Cipher and key size of a keyslot's area.
fn sealed_by(luks: &Luks, keyslot: u32) -> (String, u32) {
    use keyway_format::luks2::KeyslotKind::Luks2;
    let Header::Luks2 { metadata, .. } = luks.header() else { panic!() };
    let Luks2 { area_cipher, area_key_size, .. } = &metadata.keyslots[&keyslot].kind else { panic!() };
    (area_cipher.clone(), *area_key_size)
}

#[test]
fn luks2_areas_are_sealed_by_what_was_asked_for_or_the_datas_cipher() {
    let (_, mut luks) =
        luks2_of(Luks2Params { cipher: "serpent-xts-plain64".into(), ..Luks2Params::default() });
    // An unbound key of another length, in front of the volume's.
    edit::kill_slot(&mut luks, 0, &mut OsRandom).unwrap();
    let short = Secret::copy_from(&[9; 32]);
    edit::add_unbound_key(&mut luks, &short, &secret("unbound"), &options(Some(0)), &mut OsRandom).unwrap();
    assert_eq!(add(&mut luks, "one", Some(1)), Ok(1));
    assert_eq!(sealed_by(&luks, 1), ("serpent-xts-plain64".into(), 64));
    let mut asked = |number, cipher: Option<&str>, bits| {
        let (keyslot_cipher, keyslot_key_bits) = (cipher.map(str::to_owned), bits);
        let options = AddKey { keyslot_cipher, keyslot_key_bits, ..options(Some(number)) };
        edit::add_key(&mut luks, &key(), &secret("x"), &options, &mut OsRandom)
            .map_err(|why| why.to_string())?;
        Ok::<_, String>(sealed_by(&luks, number))
    };
    assert_eq!(asked(2, Some("aes-xts-plain64"), None), Ok(("aes-xts-plain64".into(), 64)));
    assert_eq!(asked(3, Some("aes-cbc-essiv:sha256"), Some(256)), Ok(("aes-cbc-essiv:sha256".into(), 32)));
    assert_eq!(asked(4, None, Some(256)), Ok(("serpent-xts-plain64".into(), 32)));
    assert!(asked(5, Some("aes-cbc-essiv:sha256"), None).is_err(), "no key of 512 bits");
}

/// A token as cryptsetup makes it.
const KEYRING: &[u8] = br#"{"type":"luks2-keyring","keyslots":[],"key_description":"a key"}"#;
