//! Repair writes what a checksum or a passphrase proves, and nothing else: every damaged block, every
//! overwritten field, in one copy and in both.

#![allow(clippy::single_range_in_vec_init)]

mod bad_sectors;
mod luks1;

use keyway_crypto::{Hash, Secret};
use keyway_format::luks2::HeaderSize;
use keyway_volume::change::create::{Luks2Params, create_luks2};
use keyway_volume::change::edit::set_label;
use keyway_volume::change::repair::{Repair, State};
use keyway_volume::device::storage::{Faulty, Memory};
use keyway_volume::unlock;
use keyway_volume::{
    Access, Cost, Error, KdfChoice, Locking, Luks, OsRandom, Refusal, Storage, UnlockOptions,
};
use std::ops::Range;
use std::sync::Arc;

const BLOCK: usize = 4096;
const SALT: Range<usize> = 104..168;
const CHECKSUM: Range<usize> = 448..512;
/// All fields of the binary header but salt and checksum.
const FIELDS: [(&str, Range<usize>); 11] = [
    ("magic", 0..6),
    ("version", 6..8),
    ("size", 8..16),
    ("sequence id", 16..24),
    ("label", 24..72),
    ("checksum algorithm", 72..104),
    ("UUID", 168..208),
    ("subsystem", 208..256),
    ("offset", 256..264),
    ("padding", 264..448),
    ("padding", 512..4096),
];

fn cheap() -> KdfChoice {
    KdfChoice::Pbkdf2 { hash: "sha256".into(), cost: Cost::Forced(1000) }
}

fn volume(size: usize) -> Vec<u8> {
    let storage = Arc::new(Memory::zeroed(10 << 20));
    let params = Luks2Params {
        kdf: cheap(),
        metadata_size: Some(size as u64),
        keyslots_size: Some(512 << 10),
        label: Some("a label".into()),
        ..Luks2Params::default()
    };
    let key = Secret::copy_from(&[7; 64]);
    create_luks2(storage.clone(), &params, &key, &Secret::copy_from(b"one"), &mut OsRandom).unwrap();
    storage.to_vec()
}

/// What a repair of `image` says and leaves; `Err` with the reason where it is refused.
fn repaired(image: &[u8]) -> Result<(Repair, Vec<u8>), Error> {
    let storage = Arc::new(Memory::from(image.to_vec()));
    let shown = Repair::prepare(storage.clone(), Locking::Disabled)?;
    assert!(storage.to_vec() == image, "looking writes nothing");
    Repair::prepare(storage.clone(), Locking::Disabled)?.run()?;
    Ok((shown, storage.to_vec()))
}

/// The same apart from salt and checksum of a copy at `offset`, which both have.
fn is_rewritten(now: &[u8], before: &[u8], offset: usize) -> bool {
    let blank = |bytes: &[u8]| {
        let mut bytes = bytes.to_vec();
        for own in [SALT, CHECKSUM] {
            bytes[offset + own.start..offset + own.end].fill(0);
        }
        bytes
    };
    now != before && blank(now) == blank(before)
}

#[track_caller]
fn assert_refused(image: &[u8]) {
    let storage = Arc::new(Faulty::new(image.to_vec()));
    match Repair::prepare(storage.clone(), Locking::Disabled) {
        Err(Error::Refused { kind: Refusal::Unproven, why }) => {
            assert!(why.contains("Nothing was written."), "{why}");
        }
        Err(Error::Format(keyway_format::Error::NotLuks)) => {}
        other => panic!("{:?}", other.map(|repair| repair.changes().to_vec())),
    }
    assert!(storage.events().is_empty());
}

fn noise(bytes: &mut [u8], seed: u8) {
    let mut at = 0;
    while at < bytes.len() {
        let digest = Hash::Sha256.digest(&[&[seed], &at.to_le_bytes()]);
        let len = digest.len().min(bytes.len() - at);
        bytes[at..at + len].copy_from_slice(&digest[..len]);
        at += len;
    }
}

fn with_noise(image: &[u8], ranges: &[Range<usize>]) -> Vec<u8> {
    let mut image = image.to_vec();
    for (seed, range) in ranges.iter().enumerate() {
        noise(&mut image[range.clone()], seed as u8);
    }
    image
}

fn at(offset: usize, range: &Range<usize>) -> Range<usize> {
    offset + range.start..offset + range.end
}

#[test]
fn what_both_checksums_confirm_becomes_what_it_was_at_every_size() {
    for size in HeaderSize::ALL.map(|size| size.bytes().0 as usize) {
        let sound = volume(size);
        let both = |range: Range<usize>| [range.clone(), at(size, &range)];
        let (label, uuid) = (24..72, 168..208);
        let damages: [(&str, Vec<Range<usize>>); 6] = [
            ("both magics", both(0..6).into()),
            ("both magics, versions and sizes", both(0..16).into()),
            ("both offsets", both(256..264).into()),
            (
                "metadata in one, the binary header in the other",
                vec![BLOCK..size, size..size + 104, at(size, &(168..448))],
            ),
            ("the other way round", vec![0..104, 168..448, size + BLOCK..2 * size]),
            ("fields crosswise", vec![label, at(size, &uuid)]),
        ];
        for (what, ranges) in damages {
            let (repair, now) =
                repaired(&with_noise(&sound, &ranges)).unwrap_or_else(|e| panic!("{size} {what}: {e}"));
            assert!(now == sound, "{size} {what}: {:?}", repair.changes());
            assert_eq!(repair.lost(), [""; 0], "{size} {what}");
            assert!(repair.found().iter().any(|found| matches!(found.state, State::Confirmed(_))));
        }
        if ![16 << 10, 4 << 20].contains(&size) {
            continue;
        }
        // Of what only one copy has, nothing is confirmed.
        for lost in [SALT, CHECKSUM] {
            assert_refused(&with_noise(&sound, &both(lost)));
        }
        // What was the same in both and is lost in both is known to nobody.
        for (name, range) in &FIELDS {
            let lost = with_noise(&sound, &both(range.clone()));
            match *name {
                "sequence id" | "label" | "UUID" | "subsystem" => assert_refused(&lost),
                _ => assert!(repaired(&lost).unwrap().1 == sound, "{name}"),
            }
        }
    }
}

#[test]
fn every_field_overwritten_in_one_copy() {
    let size = 16 << 10;
    let sound = volume(size);
    for copy in [0, size] {
        for (name, range) in &FIELDS {
            for byte in [0x00, 0x01, 0xff, b'A'] {
                let mut image = sound.clone();
                image[at(copy, range)].fill(byte);
                let now = repaired(&image).unwrap_or_else(|e| panic!("{name} {byte:#x}: {e}")).1;
                assert!(now == sound, "{copy} {name} {byte:#x}");
            }
        }
        for (name, range) in [("salt", SALT), ("checksum", CHECKSUM)] {
            let (repair, now) = repaired(&with_noise(&sound, &[at(copy, &range)])).unwrap();
            assert!(is_rewritten(&now, &sound, copy), "{copy} {name}");
            assert_eq!(repair.lost().len(), 1);
        }
    }
}

#[test]
fn every_block_damaged_in_one_copy_or_both() {
    for size in [16 << 10, 64 << 10] {
        let sound = volume(size);
        let blocks = size / BLOCK;
        let block = |copy: usize, index: usize| copy + index * BLOCK..copy + (index + 1) * BLOCK;
        for copy in [0, size] {
            for index in 0..blocks {
                let now = repaired(&with_noise(&sound, &[block(copy, index)])).unwrap().1;
                match index {
                    0 => assert!(is_rewritten(&now, &sound, copy), "{copy}"),
                    _ => assert!(now == sound, "{copy} {index}"),
                }
            }
        }
        for first in 0..blocks {
            for second in 0..blocks {
                let image = with_noise(&sound, &[block(0, first), block(size, second)]);
                let is_text = |index| sound[block(0, index)].iter().any(|&byte| byte != 0);
                match (first, second) {
                    (0, 0) => assert_refused(&image),
                    (first, second) if first == second && is_text(first) => assert_refused(&image),
                    (0, _) => assert!(is_rewritten(&repaired(&image).unwrap().1, &sound, 0)),
                    (_, 0) => assert!(is_rewritten(&repaired(&image).unwrap().1, &sound, size)),
                    _ => assert!(repaired(&image).unwrap().1 == sound, "{first} {second}"),
                }
            }
        }
    }
}

#[test]
fn copies_damaged_in_sectors_side_by_side() {
    let size = 16 << 10;
    let sound = volume(size);
    let sector = |copy: usize, index: usize| copy + BLOCK + 512 * index..copy + BLOCK + 512 * (index + 1);
    let image = with_noise(&sound, &[sector(0, 0), sector(size, 1), sector(0, 2)]);
    let (repair, now) = repaired(&image).unwrap();
    assert!(now == sound);
    assert_eq!(
        repair.changes(),
        [
            "Primary LUKS2 header is damaged: put back as it was: JSON area (bytes 4096 to 5632).",
            "Secondary LUKS2 header is damaged: put back as it was: JSON area (bytes 20992 to 21504).",
        ]
    );
    assert_eq!(
        repair.found()[1].to_string(),
        "Secondary LUKS2 header at byte 16384: damaged, but its checksum is right after restoring: JSON area \
         (from the primary); sequence id 1."
    );
}

/// A repair that is cut off leaves as much to be confirmed as there was.
#[test]
fn a_cut_at_any_byte_leaves_what_the_next_repair_needs() {
    let size = 16 << 10;
    let sound = volume(size);
    let damages = [
        vec![0..16, size..size + 16],
        vec![BLOCK..BLOCK + 512, size + BLOCK + 512..size + BLOCK + 1024, 16..72],
        vec![BLOCK..size, size..size + 104],
        vec![0..4096, size + BLOCK..size + BLOCK + 700],
        vec![24..72, size + BLOCK..2 * size],
    ];
    for ranges in damages {
        let storage = Arc::new(Faulty::new(with_noise(&sound, &ranges)));
        Repair::prepare(storage.clone(), Locking::Disabled).unwrap().run().unwrap();
        for cut in storage.cuts() {
            let left = storage.image_at(cut);
            let now = match repaired(&left) {
                Ok((_, now)) => now,
                Err(error) => panic!("{ranges:?} {cut:?}: {error}"),
            };
            let is_same = now == sound || is_rewritten(&now, &sound, 0) || is_rewritten(&now, &sound, size);
            assert!(is_same, "{ranges:?} {cut:?}");
        }
    }
}

#[test]
fn of_what_is_confirmed_the_newest_counts() {
    let size = 16 << 10;
    let old = volume(size);
    let storage = Arc::new(Memory::from(old.clone()));
    let mut luks = Luks::open(storage.clone(), Access::Write).unwrap();
    set_label(&mut luks, Some("newer"), None, None, &mut OsRandom).unwrap();
    let new = storage.to_vec();
    // The primary was written, the secondary not yet; then both magics were lost.
    let torn = [&new[..size], &old[size..]].concat();
    let (repair, now) = repaired(&with_noise(&torn, &[0..6, size..size + 6])).unwrap();
    assert!(now[..size] == new[..size]);
    assert!(is_rewritten(&now, &new, size));
    assert_eq!(
        repair.lost(),
        ["The secondary header, which is older than sequence id 2: an edit was interrupted."]
    );
    // Nothing of the newer one is confirmed: the older one stands, and the loss is told.
    let lost = with_noise(&torn, &[0..4096]);
    let (repair, now) = repaired(&lost).unwrap();
    assert!(is_rewritten(&now, &old, 0));
    assert_eq!(
        repair.lost(),
        [
            "The primary header. It equals sequence id 1, unless an edit was interrupted after writing it; then \
             that edit is lost."
        ]
    );
}

#[test]
fn secondaries_of_several_volumes_are_not_chosen_between() {
    let (small, large) = (volume(16 << 10), volume(4 << 20));
    let mut image = large;
    image[..32 << 10].copy_from_slice(&small[..32 << 10]);
    image[..4096].fill(0);
    let storage = Arc::new(Faulty::new(image));
    let error = Repair::prepare(storage.clone(), Locking::Disabled).err().unwrap().to_string();
    assert!(
        error.starts_with("It has secondary LUKS2 headers of several volumes, and no primary. Looked at"),
        "{error}"
    );
    assert!(error.contains("at byte 16384: sound") && error.contains("at byte 4194304: sound"), "{error}");
    assert!(storage.events().is_empty());
}

#[test]
fn a_version_that_only_looks_later_is_put_back() {
    let mut image = volume(16 << 10);
    let sound = image.clone();
    image[7] = 3;
    assert!(repaired(&image).unwrap().1 == sound);
    image[16 << 10] ^= 1;
    assert!(repaired(&image).unwrap().1 == sound);
    // Called LUKS1, it is still none.
    image[7] = 1;
    assert!(repaired(&image).unwrap().1 == sound);
}

#[test]
fn other_signatures_are_named_before_they_are_overwritten() {
    let sound = volume(16 << 10);
    let mut image = sound.clone();
    image[1080..1082].copy_from_slice(b"\x53\xef");
    image[0..4].copy_from_slice(b"XFSB");
    let (repair, now) = repaired(&image).unwrap();
    assert!(now == sound);
    let warnings = repair.warnings().join("\n");
    assert!(warnings.contains("signature of XFS, at byte 0, which is overwritten."), "{warnings}");
    assert!(warnings.contains("at byte 1080, which is overwritten."), "{warnings}");
}

#[test]
fn a_header_that_changed_since_it_was_shown_is_left_alone() {
    let mut image = volume(16 << 10);
    image[0] ^= 1;
    let storage = Arc::new(Memory::from(image));
    let repair = Repair::prepare(storage.clone(), Locking::Disabled).unwrap();
    storage.write_at(b"other", 5000).unwrap();
    let now = storage.to_vec();
    assert!(matches!(repair.run(), Err(Error::Refused { kind: Refusal::ChangedMeanwhile, .. })));
    assert!(storage.to_vec() == now);
    // What was only looked at is not written.
    let repair = Repair::look(storage.clone(), Locking::Disabled).unwrap();
    assert!(matches!(repair.run(), Err(Error::Refused { kind: Refusal::ReadOnly, .. })));
    assert!(storage.to_vec() == now);
}

#[test]
fn damaged_key_material_is_named_by_its_bytes() {
    let mut image = volume(16 << 10);
    let storage = |image: &[u8]| Arc::new(Memory::from(image.to_vec()));
    let sound = Repair::look(storage(&image), Locking::Disabled).unwrap();
    let area = &sound.keyslots()[0];
    assert_eq!((sound.keyslots().len(), area.number, area.offset, area.len), (1, 0, 32768, 256_000));
    assert!(area.is_sound());
    assert_eq!(area.bar(64), "#".repeat(63));
    image[32768 + 51_200..32768 + 51_712].fill(0);
    // After the material, and in the areas of no keyslot, anything may stand.
    image[32768 + 256_000..32768 + 512_000].fill(0);
    let found = Repair::look(storage(&image), Locking::Disabled).unwrap();
    assert_eq!(found.keyslots()[0].suspicious, [83_968..84_480]);
    assert_eq!(found.changes(), [""; 0], "the header is sound");
}

#[test]
fn a_volume_opens_after_its_repair() {
    let sound = volume(128 << 10);
    let image = with_noise(&sound, &[0..104, 200_000..262_144]);
    let storage = Arc::new(Memory::from(image));
    Repair::prepare(storage.clone(), Locking::Disabled).unwrap().run().unwrap();
    let luks = Luks::open(storage, Access::Read).unwrap();
    unlock(&luks, &Secret::copy_from(b"one"), &UnlockOptions::default()).unwrap();
}

#[test]
fn what_was_never_luks_is_not_luks() {
    let mut noisy = vec![0; 10 << 20];
    noise(&mut noisy, 1);
    for image in [vec![0; 10 << 20], noisy, vec![], vec![b'L'; 700]] {
        let error = Repair::prepare(Arc::new(Memory::from(image)), Locking::Disabled).err().unwrap();
        assert!(matches!(error, Error::Format(keyway_format::Error::NotLuks)), "{error}");
    }
}
