//! A damaged copy of a LUKS2 header is written again from the good
//! one: a new salt, the same sequence id.

use keyway_crypto::Secret;
use keyway_format::luks2::HeaderSize;
use keyway_volume::change::create::{Luks2Params, create_luks2};
use keyway_volume::change::edit::set_label;
use keyway_volume::change::repair::Repair;
use keyway_volume::device::storage::{Faulty, Memory};
use keyway_volume::unlock;
use keyway_volume::{Access, Cost, Header, KdfChoice, Locking, Luks, OsRandom, Storage, UnlockOptions};
use std::sync::Arc;

fn volume(metadata_size: u64) -> Vec<u8> {
    let storage = Arc::new(Memory::zeroed(10 << 20));
    let params = Luks2Params {
        kdf: KdfChoice::Pbkdf2 { hash: "sha256".into(), cost: Cost::Forced(1000) },
        metadata_size: Some(metadata_size),
        keyslots_size: Some(512 << 10),
        ..Luks2Params::default()
    };
    let key = Secret::copy_from(&[7; 64]);
    create_luks2(storage.clone(), &params, &key, &Secret::copy_from(b"one"), &mut OsRandom).unwrap();
    storage.to_vec()
}

fn sequence_id(luks: &Luks) -> u64 {
    match luks.header() {
        Header::Luks2 { binary, .. } => binary.sequence_id,
        Header::Luks1(_) => panic!("not LUKS2"),
    }
}

fn copies(image: &[u8], size: usize) -> (&[u8], &[u8]) {
    (&image[..size], &image[size..2 * size])
}

/// Offsets of the salt in the binary header.
const SALT: std::ops::Range<usize> = 104..168;

#[test]
fn the_secondary_is_found_at_each_of_the_nine_offsets() {
    for header_size in HeaderSize::ALL {
        let size = header_size.bytes().0 as usize;
        let sound = volume(size as u64);
        let mut image = sound.clone();
        image[..4096].fill(0);
        let storage = Arc::new(Memory::from(image));
        let probed = Luks::open(storage.clone(), Access::Probe).unwrap();
        assert_eq!(sequence_id(&probed), 1);
        assert!(storage.to_vec()[..4096].iter().all(|&byte| byte == 0), "a probe wrote");

        let luks = Luks::open(storage.clone(), Access::Read).unwrap();
        unlock(&luks, &Secret::copy_from(b"one"), &UnlockOptions::default()).unwrap();
        let recovered = storage.to_vec();
        let ((primary, secondary), (old_primary, old_secondary)) =
            (copies(&recovered, size), copies(&sound, size));
        assert_eq!(secondary, old_secondary);
        assert_eq!(primary[4096..], old_primary[4096..], "the JSON areas of the copies are the same");
        assert_eq!(primary[..SALT.start], old_primary[..SALT.start], "the sequence id did not change");
        assert_ne!(primary[SALT], old_primary[SALT]);
        assert_ne!(primary[SALT], secondary[SALT]);
        let undamaged = Arc::new(Faulty::new(recovered));
        Luks::open(undamaged.clone(), Access::Read).unwrap();
        assert!(undamaged.events().is_empty());
    }
}

#[test]
fn the_copy_with_the_higher_sequence_id_wins() {
    let old = volume(16 << 10);
    let storage = Arc::new(Memory::from(old.clone()));
    let mut luks = Luks::open(storage.clone(), Access::Write).unwrap();
    set_label(&mut luks, Some("newer"), None, None, &mut OsRandom).unwrap();
    let new = storage.to_vec();
    for newer_half in [0..(16 << 10), (16 << 10)..(32 << 10)] {
        let mut image = old.clone();
        image[newer_half.clone()].copy_from_slice(&new[newer_half.clone()]);
        let storage = Arc::new(Memory::from(image));
        let luks = Luks::open(storage.clone(), Access::Read).unwrap();
        assert_eq!(sequence_id(&luks), 2);
        let Header::Luks2 { binary, .. } = luks.header() else { panic!("not LUKS2") };
        assert_eq!(binary.label, "newer");
        let recovered = storage.to_vec();
        assert_eq!(recovered[newer_half.clone()], new[newer_half.clone()]);
        let (primary, secondary) = copies(&recovered, 16 << 10);
        assert_eq!(primary[4096..], secondary[4096..]);
    }
}

#[test]
fn without_locks_nothing_is_recovered_by_itself() {
    let mut image = volume(16 << 10);
    image[..4096].fill(0);
    let storage = Arc::new(Faulty::new(image));
    Luks::open_with(storage.clone(), Access::Read, Locking::Disabled).unwrap();
    assert!(storage.events().is_empty());
}

#[test]
fn a_device_that_was_given_to_another_format_is_left_alone() {
    let protective = b"\0\0\xee\0\0\0\x01\0\0\0\xff\0\0\0";
    for (name, offset, magic) in [
        ("XFS", 0, &b"XFSB"[..]),
        ("ext2", 1080, b"\x53\xef"),
        ("EROFS", 1024, b"\xe2\xe1\xf5\xe0"),
        ("protective MBR", 446, &[&[0, 0], &protective[..], &[0; 48], &[0x55, 0xaa]].concat()),
        ("LVM2 physical volume", 512, b"LABELONE\x01"),
    ] {
        let mut image = volume(16 << 10);
        image[..4096].fill(0);
        image[offset..offset + magic.len()].copy_from_slice(magic);
        let storage = Arc::new(Faulty::new(image));
        for access in [Access::Read, Access::Write, Access::Probe] {
            let error = Luks::open(storage.clone(), access).err().unwrap().to_string();
            assert!(error.starts_with("Device contains ambiguous signatures"), "{error}");
            assert!(error.contains(name), "{error}");
        }
        assert!(storage.events().is_empty());
    }
}

#[test]
fn with_both_copies_lost_there_is_no_header() {
    let mut image = volume(16 << 10);
    image[5000] ^= 1;
    image[(16 << 10) + 5000] ^= 1;
    let storage = Arc::new(Faulty::new(image));
    let error = Luks::open(storage.clone(), Access::Read).err().unwrap();
    assert_eq!(error.to_string(), "header checksum does not match");
    assert!(storage.events().is_empty());
    let empty = Luks::open(Arc::new(Memory::zeroed(0)), Access::Read).err().unwrap();
    assert_eq!(empty.to_string(), "not a LUKS header");
}

#[test]
fn a_device_that_shrank_is_refused_with_the_figures() {
    let image = volume(16 << 10);
    let storage = Arc::new(Memory::from(image[..500_000].to_vec()));
    let error = Luks::open(storage.clone(), Access::Read).err().unwrap();
    assert_eq!(error.to_string(), "truncated: needs 557056 bytes, has 500000");
    assert_eq!(storage.len(), 500_000);
}

/// A header of a later version is none of ours to recover, though a
/// secondary of version 2 stands behind it.
#[test]
fn a_later_version_is_never_overwritten() {
    let mut image = volume(16384);
    image[7] = 3;
    image[448..512].fill(0);
    let checksum = keyway_crypto::Hash::Sha256.digest(&[&image[..16384]]);
    image[448..480].copy_from_slice(&checksum);
    let storage = Arc::new(Memory::from(image.clone()));
    for access in [Access::Probe, Access::Read, Access::Write] {
        let error = Luks::open(storage.clone(), access).err().unwrap();
        assert_eq!(error.to_string(), "unsupported LUKS version 3", "{access:?}");
    }
    let error = Repair::prepare(storage.clone(), Locking::default()).err().unwrap();
    assert_eq!(error.to_string(), "unsupported LUKS version 3");
    assert_eq!(storage.to_vec(), image);
}
