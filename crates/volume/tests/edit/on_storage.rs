//! Headers on storage that forgets, that is too short, or damaged.

use super::*;
use keyway_volume::change::repair::Repair;
use keyway_volume::{Header, Locking};

#[test]
fn what_storage_forgot_is_noticed() {
    for (storage, mut luks) in [luks1_volume(), luks2_volume()] {
        storage.lies.store(true, Ordering::Relaxed);
        let why = add(&mut luks, "x", None).unwrap_err();
        assert!(why.contains("not what was written"), "{why}");
        assert_eq!(storage.steps().len(), 2, "only material, which nothing names");
        let before = storage.memory.to_vec();
        let why = edit::kill_slot(&mut luks, 0, &mut OsRandom).unwrap_err().to_string();
        assert!(why.contains("not what was written"), "{why}");
        assert!(storage.memory.to_vec() == before);
    }
}

#[test]
fn luks1_repair_writes_what_differs() {
    let (storage, _) = luks1_volume();
    let sound = storage.memory.to_vec();
    assert_eq!(Repair::prepare(storage.clone(), Locking::Disabled).unwrap().changes(), [""; 0]);
    // Two unused slots, one in each of the header's sectors.
    let (second, eighth) = (208 + 48 + 40, 208 + 48 * 7 + 44);
    storage.memory.write_at(&[0, 0, 0, 9], second).unwrap();
    storage.memory.write_at(&[0, 0, 0, 1], eighth).unwrap();
    let repair = Repair::prepare(storage.clone(), Locking::Disabled).unwrap();
    assert_eq!(
        repair.changes(),
        [
            "Keyslot 1: offset repaired (9 -> 512).",
            "Keyslot 1: salt wiped.",
            "Keyslot 7: stripes repaired (1 -> 4000).",
            "Keyslot 7: salt wiped."
        ]
    );
    assert_eq!(storage.steps(), [], "looking writes nothing");
    repair.run().unwrap();
    assert!(storage.memory.to_vec() == sound);
    let (one, other) = (Write(second + 2, vec![2, 0]), Write(eighth + 2, vec![0x0f, 0xa0]));
    assert_eq!(storage.steps(), [one, other, Flush]);
    // What was forgotten is noticed.
    storage.memory.write_at(&[0, 0, 0, 1], eighth).unwrap();
    let repair = Repair::prepare(storage.clone(), Locking::Disabled).unwrap();
    storage.lies.store(true, Ordering::Relaxed);
    assert!(repair.run().unwrap_err().to_string().contains("not what was written"));
    storage.memory.write_at(b"ecb-x\0", 40).unwrap();
    let mode = Repair::prepare(storage, Locking::Disabled).unwrap();
    assert_eq!(mode.changes()[0], "Cipher mode repaired (ecb).");
}

#[test]
fn luks2_repair_names_the_copy() {
    for (offset, said) in [
        (110, "Primary LUKS2 header is damaged or out of date: rewritten from the secondary."),
        (16384 + 110, "Secondary LUKS2 header is damaged or out of date: rewritten from the primary."),
        (5000, "Primary LUKS2 header is damaged: put back as it was: JSON area (bytes 5000 to 5006)."),
        (
            16384 + 5000,
            "Secondary LUKS2 header is damaged: put back as it was: JSON area (bytes 21384 to 21390).",
        ),
    ] {
        let (storage, _) = luks2_volume();
        storage.memory.write_at(b"damage", offset).unwrap();
        let repair = Repair::prepare(storage.clone(), Locking::Disabled).unwrap();
        assert_eq!(repair.changes(), [said]);
        repair.run().unwrap();
        assert_eq!(Repair::prepare(storage, Locking::Disabled).unwrap().changes(), [""; 0]);
    }
}

/// What `Luks::open` says of a volume's first bytes; `None` when it opens.
fn cut(image: &[u8], len: u64) -> Option<String> {
    let storage = Noted::of(Memory::from(image[..len as usize].to_vec()));
    Luks::open(storage, Access::Probe).err().map(|why| why.to_string())
}

#[test]
fn headers_that_do_not_fit_their_storage() {
    let (storage, luks) = luks1_volume();
    let image = storage.memory.to_vec();
    let Header::Luks1(header) = luks.header() else { panic!() };
    let end = 512 * header.end_of_areas().0;
    assert_eq!(end, 512 * (8 + 504 * 7) + 4000 * 64);
    assert_eq!(cut(&image, end), None);
    let needs =
        |needs: u64, has: u64| Error::from(keyway_format::Error::Truncated { needs, has }).to_string();
    assert_eq!(cut(&image, end - 1), Some(needs(end, end - 1)));
    assert_eq!(cut(&image, 592), Some(needs(end, 592)));
    assert_eq!(cut(&image, 591), Some(needs(592, 591)));
    let (storage, _) = luks2_volume();
    let image = storage.memory.to_vec();
    let end = 32768 + (2 << 20);
    assert_eq!(cut(&image, end), None);
    assert_eq!(cut(&image, end - 1), Some(needs(end, end - 1)));
    // With the primary lost, the other copy is all that is read, and
    // no further than the storage goes.
    let mut lost = image.clone();
    lost[..4096].fill(0);
    assert_eq!(cut(&lost, 32768), Some(needs(end, 32768)), "the secondary is there");
    let not_luks = Error::from(keyway_format::Error::NotLuks).to_string();
    assert_eq!(cut(&lost, 32767), Some(not_luks.clone()), "and here in part");
    assert_eq!(cut(&[0; 100], 100), Some(not_luks));
}
