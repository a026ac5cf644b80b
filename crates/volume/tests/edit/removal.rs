//! Keys that go although something is in the way: a sector that cannot be written, a number that cannot
//! grow, a word or name in the header that says there is no key.

use super::luks1::material;
use super::luks2::{area, keyslots};
use super::*;
use keyway_format::luks2::{BinaryHeader, Copy};
use keyway_volume::Header;

fn luks2_with(slots: &[u32]) -> (Arc<Noted>, Luks) {
    let (storage, mut luks) = luks2_volume();
    for number in slots {
        add(&mut luks, &format!("slot {number}"), Some(*number)).unwrap();
    }
    storage.steps();
    (storage, luks)
}

fn bytes(storage: &Noted, range: &Range<u64>) -> Vec<u8> {
    storage.memory.to_vec()[range.start as usize..range.end as usize].to_vec()
}

/// How many bytes of a range are as they were. (One in 256 is by chance.)
fn kept(before: &[u8], storage: &Noted, range: &Range<u64>) -> usize {
    bytes(storage, range).iter().zip(&before[range.start as usize..]).filter(|(now, was)| now == was).count()
}

/// Rewrites both copies, as whoever can write the storage.
fn rewritten(
    storage: &Arc<Noted>,
    luks: &Luks,
    change: impl Fn(&mut BinaryHeader, String) -> String,
) -> Luks {
    let Header::Luks2 { binary, metadata } = luks.header() else { panic!() };
    let mut binary = binary.clone();
    let json = change(&mut binary, String::from_utf8(metadata.to_json()).unwrap());
    for (copy, offset) in [(Copy::Primary, 0), (Copy::Secondary, binary.size.bytes().0)] {
        let bytes = binary.as_copy(copy, [9; 64]).copy_to_bytes(json.as_bytes()).unwrap();
        storage.memory.write_at(&bytes, offset).unwrap();
    }
    Luks::open(storage.clone(), Access::Write).unwrap()
}

#[test]
fn a_bad_sector_keeps_no_other_key_and_is_named() {
    let (storage, mut luks) = luks2_with(&[3, 5]);
    let (areas, before) = ([0, 3, 5].map(|number| area(&luks, number)), storage.memory.to_vec());
    let bad = areas[1].start + 4096 + 100..areas[1].start + 4096 + 612;
    storage.broken.lock().unwrap().push(bad.clone());
    let why = edit::erase(&mut luks, &mut OsRandom).unwrap_err();
    let (start, end) = (areas[1].start + 4096, areas[1].start + 8191);
    let said =
        format!("key material could not be overwritten: keyslot 3 (bytes {start} to {end}: bad sector)");
    assert_eq!(why.to_string(), said);
    let Error::NotWiped { areas: left, header: None } = &why else { panic!("{why:?}") };
    assert_eq!((left.len(), left[0].keyslot, left[0].places.len()), (1, 3, 1));
    assert_eq!(left[0].places[0], start..end + 1);
    for range in &areas {
        let len = (range.end - range.start) as usize;
        let whole = if *range == areas[1] { 4096 } else { 0 };
        assert!(kept(&before, &storage, range) < whole + len / 128, "{range:?}");
    }
    assert_eq!(kept(&before, &storage, &(start..end + 1)), 4096);
    assert_eq!(keyslots(&luks), []);
    assert_eq!(slot(&storage, &luks, "slot 0"), None);
    // One keyslot goes in the same way.
    let (storage, mut luks) = luks2_with(&[3, 5]);
    storage.broken.lock().unwrap().push(bad);
    let why = edit::kill_slot(&mut luks, 3, &mut OsRandom).unwrap_err().to_string();
    assert_eq!((why, keyslots(&luks)), (said, vec![0, 5]));
    assert_eq!(slot(&storage, &luks, "slot 5"), Some(5));
}

#[test]
fn several_places_and_the_end_of_an_area_are_named() {
    let (storage, mut luks) = luks2_with(&[]);
    let range = area(&luks, 0);
    let (at, end) = (range.start, range.end);
    let mut bad = vec![at..at + 1, at + 4095..at + 4097, at + 40960..at + 40961, end - 1..end];
    storage.broken.lock().unwrap().append(&mut bad);
    let Error::NotWiped { areas, .. } = edit::erase(&mut luks, &mut OsRandom).unwrap_err() else { panic!() };
    let last = (end - 1 - at) / 4096 * 4096 + at;
    assert_eq!(areas[0].places, [at..at + 8192, at + 40960..at + 45056, last..end]);
}

#[test]
fn what_is_not_flushed_counts_as_left() {
    let (storage, mut luks) = luks2_with(&[]);
    let range = area(&luks, 0);
    storage.flushes.store(0, Ordering::Relaxed);
    let why = edit::erase(&mut luks, &mut OsRandom).unwrap_err();
    let (start, end) = (range.start, range.end - 1);
    let said = format!(
        "key material could not be overwritten: keyslot 0 (bytes {start} to {end}: no flush); the header could not be \
         written: flushing the LUKS2 header at offset 0: no flush"
    );
    assert_eq!(why.to_string(), said);
    // A single pattern that has landed is enough.
    let (storage, mut luks) = luks2_with(&[]);
    storage.flushes.store(1, Ordering::Relaxed);
    let why = edit::erase(&mut luks, &mut OsRandom).unwrap_err().to_string();
    assert_eq!(why, "the header could not be written: flushing the LUKS2 header at offset 0: no flush");
}

#[test]
fn a_header_that_cannot_be_written_keeps_no_key() {
    let (storage, mut luks) = luks2_with(&[3]);
    let areas = [0, 3].map(|number| area(&luks, number));
    let before = storage.memory.to_vec();
    storage.broken.lock().unwrap().push(4096..4097);
    let why = edit::erase(&mut luks, &mut OsRandom).unwrap_err().to_string();
    assert_eq!(why, "the header could not be written: writing the LUKS2 header at offset 0: bad sector");
    assert!(areas.iter().all(|range| kept(&before, &storage, range) < 4000));
    assert_eq!(opened(&luks, "slot 0").err().unwrap().to_string(), Error::WrongPassphrase.to_string());
    let (storage, mut luks) = luks1_volume();
    add(&mut luks, "slot 3", Some(3)).unwrap();
    // The second sector of the header, with the descriptors from the sixth on.
    storage.broken.lock().unwrap().push(208..209);
    let why = edit::erase(&mut luks, &mut OsRandom).unwrap_err().to_string();
    assert_eq!(why, "the header could not be written: writing the LUKS1 header: bad sector");
    assert_eq!((luks.active_keyslots(), opened(&luks, "slot 0").is_err()), (vec![0], true), "slot 3 is gone");
}

/// The highest sequence id, which whoever writes the storage once can put there.
#[test]
fn a_sequence_id_that_cannot_grow_stops_nothing() {
    type Edit = fn(&mut Luks) -> keyway_volume::Result<()>;
    let edits: [(Edit, &[u32]); 4] = [
        (|luks| edit::erase(luks, &mut OsRandom), &[]),
        (|luks| edit::kill_slot(luks, 3, &mut OsRandom), &[0]),
        (|luks| edit::set_label(luks, Some("x"), None, None, &mut OsRandom), &[0, 3]),
        (|luks| add(luks, "slot 5", Some(5)).map(drop).map_err(Error::Busy), &[0, 3, 5]),
    ];
    for (edit, left) in edits {
        for (id, next) in [(u64::MAX, 1), (u64::MAX - 1, u64::MAX)] {
            let (storage, luks) = luks2_with(&[3]);
            let mut luks = rewritten(&storage, &luks, |binary, json| {
                binary.set_sequence_id(id);
                json
            });
            edit(&mut luks).unwrap();
            assert_eq!(keyslots(&luks), left);
            let again = Luks::open(storage.clone(), Access::Write).unwrap();
            assert!(again.is_same(&luks) && again.damaged_copy().unwrap().is_none());
            let Header::Luks2 { binary, .. } = again.header() else { panic!() };
            assert_eq!(binary.sequence_id, next);
        }
    }
}

/// A keyslot that is not called one is wiped all the same.
#[test]
fn no_name_in_the_header_hides_a_key_from_erase() {
    for (from, to) in [
        ("\"type\":\"luks2\"", "\"type\":\"luks3\""),
        ("\"kdf\":{\"type\":\"pbkdf2\"", "\"kdf\":{\"type\":\"unheard\""),
        ("\"config\":{", "\"config\":{\"requirements\":{\"mandatory\":[\"unheard-of\"]},"),
        ("\"tokens\":{}", "\"tokens\":{\"0\":{\"type\":\"unheard-of\",\"keyslots\":[\"0\"]}}"),
    ] {
        let (storage, luks) = luks2_with(&[]);
        let range = area(&luks, 0);
        let mut luks = rewritten(&storage, &luks, |_, json| {
            assert!(json.contains(from), "{from} in {json}");
            json.replacen(from, to, 1)
        });
        let before = storage.memory.to_vec();
        edit::erase(&mut luks, &mut OsRandom).unwrap_or_else(|why| panic!("{to}: {why}"));
        assert!(kept(&before, &storage, &range) < 4000, "{to}");
        assert_eq!(keyslots(&luks), [], "{to}");
    }
}

#[test]
fn luks1_erase_wipes_what_is_said_to_be_disabled() {
    let (storage, _) = luks1_volume();
    storage.memory.write_at(&[0, 0, 0xde, 0xad], 208).unwrap();
    let mut luks = Luks::open(storage.clone(), Access::Write).unwrap();
    assert_eq!(luks.active_keyslots(), []);
    let before = storage.memory.to_vec();
    edit::erase(&mut luks, &mut OsRandom).unwrap();
    assert!(kept(&before, &storage, &material(0)) < 4000);
}

#[test]
fn luks1_keys_go_around_a_bad_sector() {
    let (storage, mut luks) = luks1_volume();
    add(&mut luks, "slot 2", Some(2)).unwrap();
    let (range, before) = (material(2), storage.memory.to_vec());
    storage.broken.lock().unwrap().push(range.start..range.start + 512);
    let said = format!(
        "key material could not be overwritten: keyslot 2 (bytes {} to {}: bad sector)",
        range.start,
        range.start + 4095
    );
    assert_eq!(edit::kill_slot(&mut luks, 2, &mut OsRandom).unwrap_err().to_string(), said);
    assert_eq!(luks.active_keyslots(), [0]);
    assert!(kept(&before, &storage, &range) < 4096 + 4000);
    assert_eq!(edit::erase(&mut luks, &mut OsRandom).unwrap_err().to_string(), said);
    assert_eq!(luks.active_keyslots(), []);
    let again = Luks::open(storage.clone(), Access::Read).unwrap();
    assert_eq!(again.active_keyslots(), []);
}
