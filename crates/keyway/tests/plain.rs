//! Plain dm-crypt volumes: what opens them, what is refused and that nothing is written then; and
//! volumes that are opened on terms of their own.

use keyway::storage::{Memory, Storage};
use keyway::{Create, Device, Error, ErrorKind, Key, KeyFile, NewKdf, Plain, Secret, Unlock, Version};
use std::fs;
use std::sync::Arc;

/// SHA-256 of "correct horse" (`printf 'correct horse' | sha256sum`).
const HASHED: [u8; 32] = [
    0x41, 0x04, 0xd3, 0x6f, 0x8d, 0xa2, 0xc2, 0x54, 0x34, 0x9f, 0x85, 0x83, 0x67, 0x93, 0xeb, 0xe0, 0x29,
    0xe0, 0xc9, 0x57, 0x06, 0x3a, 0x34, 0xc9, 0x1c, 0x2e, 0x92, 0x03, 0x18, 0x7b, 0x56, 0x31,
];

fn device() -> Device {
    Device::from_storage(Arc::new(Memory::zeroed(1 << 20)))
}

fn plain() -> Plain {
    Plain::new("aes-xts-plain64", 256).unwrap()
}

fn passphrase() -> Key {
    Key::passphrase("correct horse")
}

fn kind<T>(result: Result<T, Error>) -> ErrorKind {
    result.map(drop).expect_err("this must not succeed").kind().clone()
}

fn open(device: &Device, plain: &Plain, key: &Key) -> Result<keyway::Volume, Error> {
    device.unlock_as(plain, key, &Unlock::new())
}

#[test]
fn a_passphrase_is_hashed_and_a_key_is_not() {
    let device = device();
    let volume = open(&device, &plain(), &passphrase()).unwrap();
    volume.write_at(b"content", 5000).unwrap();
    assert_eq!((volume.len(), volume.version(), volume.uuid(), volume.keyslot()), (1 << 20, None, "", None));
    drop(volume);
    let file = std::env::temp_dir().join(format!("keyway-plain-{}", std::process::id()));
    fs::write(&file, [&[7; 3], &HASHED[..], &[9; 9]].concat()).unwrap();
    let reads = |plain: &Plain, key: &Key| {
        let mut content = [0; 7];
        open(&device, plain, key).unwrap().read_at(&mut content, 5000).unwrap();
        &content == b"content"
    };
    assert!(reads(&plain(), &passphrase()));
    assert!(reads(&plain(), &Key::VolumeKey(Secret::copy_from(&HASHED))));
    // A key file is the key, whatever the hash is, and however long the file.
    assert!(reads(&plain(), &Key::KeyFile(KeyFile::new(&file).offset(3))));
    assert!(reads(&plain().hash("sha512").unwrap(), &Key::KeyFile(KeyFile::new(&file).offset(3))));
    assert!(!reads(&plain(), &Key::key_file(&file)));
    assert!(!reads(&plain().hash("plain").unwrap(), &passphrase()));
    assert!(!reads(&plain().skip(1), &passphrase()));
    assert!(reads(&plain().size(8192).unwrap(), &passphrase()));
    assert_eq!(
        kind(open(&device, &plain(), &Key::KeyFile(KeyFile::new(&file).offset(20)))),
        ErrorKind::KeyFile
    );
    assert_eq!(kind(open(&device, &plain(), &Key::VolumeKey(Secret::zeroed(31)))), ErrorKind::WrongVolumeKey);
    fs::remove_file(&file).unwrap();
}

#[test]
fn the_description_decides_where_the_data_is() {
    let bytes = Arc::new(Memory::zeroed(1 << 20));
    let device = Device::from_storage(Arc::clone(&bytes) as _);
    let part = plain().offset(8192).unwrap().size(4096).unwrap().sector_size(4096, true).unwrap();
    let volume = open(&device, &part, &passphrase()).unwrap();
    volume.write_at(&[1; 4096], 0).unwrap();
    assert_eq!(volume.len(), 4096);
    let mut all = vec![0; 1 << 20];
    bytes.read_at(&mut all, 0).unwrap();
    assert!(all[..8192].iter().chain(&all[12288..]).all(|byte| *byte == 0));
    assert!(all[8192..12288].iter().any(|byte| *byte != 0));
}

#[test]
fn what_cannot_be_is_refused() {
    let refused =
        |plain: Plain| matches!(kind(open(&device(), &plain, &passphrase())), ErrorKind::Refused { .. });
    assert!(refused(plain().offset(1 << 20).unwrap()), "beyond the end");
    assert!(refused(plain().size((1 << 20) + 512).unwrap()), "too long");
    assert!(refused(plain().sector_size(4096, false).unwrap().skip(1)), "an IV within a sector");
    assert!(
        refused(plain().sector_size(4096, false).unwrap().offset(512).unwrap()),
        "half a sector at the end"
    );
    assert!(matches!(kind(plain().offset(511)), ErrorKind::Refused { .. }));
    assert!(matches!(kind(plain().size(1)), ErrorKind::Refused { .. }));
    assert!(plain().sector_size(1000, false).is_err());
    assert!(plain().hash("sha257").is_err());
    assert!(Plain::new("aes-xts-plain65", 256).is_err());
    assert!(Plain::new("aes-xts-plain64", 257).is_err());
    assert!(Plain::new("aes-xts-plain64", 128).is_err());
}

#[test]
fn what_only_a_header_can_meet_is_not_met() {
    let sealed = Unlock::new().policy("fleet", "sealed = true").unwrap();
    let header = ErrorKind::Policy { rule: "header" };
    for terms in [sealed, Unlock::new().seal_context("boot")] {
        assert_eq!(kind(device().admit_as(&plain(), &terms)), header);
    }
    let weak = Plain::new("aes-ecb", 256).unwrap();
    assert_eq!(kind(device().admit_as(&weak, &Unlock::new())), ErrorKind::Policy { rule: "weak-cipher" });
    device().admit_as(&weak, &Unlock::new().weak_ciphers()).unwrap();
}

#[test]
fn other_content_is_not_overwritten_unasked() {
    let device = Create::luks2().kdf(NewKdf::pbkdf2(1000)).in_memory(1 << 20, &passphrase()).unwrap();
    let far = plain().offset(16 << 20).unwrap();
    for (plain, terms, result) in [
        (plain(), Unlock::new(), Some(ErrorKind::Exists)),
        (plain().overwrite(), Unlock::new(), None),
        (plain(), Unlock::new().read_only(), None),
        (far, Unlock::new(), None),
    ] {
        assert_eq!(device.admit_as(&plain, &terms).err().map(|error| error.kind().clone()), result);
    }
}

#[test]
fn a_plain_volume_is_claimed_as_any_other() {
    let device = device();
    let admitted = device.admit_as(&plain(), &Unlock::new()).unwrap();
    let second = || device.admit_as(&plain(), &Unlock::new());
    assert!(matches!(kind(second()), ErrorKind::InUse { .. }));
    let looking = device.unlock_as(&plain(), &passphrase(), &Unlock::new().unclaimed()).unwrap();
    assert_eq!(kind(looking.write_at(&[1], 0)), ErrorKind::ReadOnly);
    let volume = admitted.unlock(&passphrase()).unwrap();
    assert!(second().is_err());
    drop(volume);
    second().unwrap();
}

#[test]
fn a_look_without_a_claim_keeps_nobody_away() {
    let device = Create::luks2().kdf(NewKdf::pbkdf2(1000)).in_memory(1 << 20, &passphrase()).unwrap();
    let writer = device.unlock(&passphrase()).unwrap();
    assert!(matches!(kind(device.unlock(&passphrase())), ErrorKind::InUse { .. }));
    let looking = device.unlock_with(&passphrase(), &Unlock::new().unclaimed()).unwrap();
    assert!(looking.is_read_only() && !writer.is_read_only());
    assert_eq!(kind(looking.write_at(&[1], 0)), ErrorKind::ReadOnly);
    drop(writer);
    device.unlock(&passphrase()).unwrap();
}

#[test]
fn another_version_is_no_such_volume() {
    for (create, version, other) in
        [(Create::luks1(), Version::Luks1, Version::Luks2), (Create::luks2(), Version::Luks2, Version::Luks1)]
    {
        let device = create.kdf(NewKdf::pbkdf2(1000)).in_memory(1 << 20, &passphrase()).unwrap();
        assert_eq!(kind(device.admit(&Unlock::new().version(other))), ErrorKind::NotLuks);
        let admitted = device.admit(&Unlock::new().version(version)).unwrap();
        assert_eq!(admitted.version(), Some(version));
        assert_eq!(admitted.uuid(), device.header().unwrap().uuid());
    }
}

#[test]
fn what_is_admitted_is_shown_without_its_key() {
    let admitted = device().admit_as(&plain(), &Unlock::new()).unwrap();
    assert_eq!(format!("{admitted:?}"), "Admitted { place: Location(Storage), .. }");
}

#[cfg(feature = "parts")]
#[test]
fn a_plain_volume_can_be_taken_apart() {
    let bytes = Arc::new(Memory::zeroed(1 << 20));
    let device = Device::options().write(true).over("a test", bytes.clone(), bytes);
    let admitted = || device.admit_as(&plain().offset(8192).unwrap(), &Unlock::new()).unwrap();
    let admitted_here = admitted();
    let key = admitted_here.try_key(&passphrase()).unwrap();
    let parts = admitted_here.into_parts(key).unwrap();
    assert_eq!(parts.volume_key.expose(), HASHED);
    assert_eq!((parts.layout.segments.len(), parts.layout.segments[0].storage_offset), (1, 8192));
    assert_eq!((parts.data.len(), parts.header.is_none()), (1 << 20, true));
    assert!(device.admit_as(&plain(), &Unlock::new()).is_err(), "the parts hold the claim");
    drop(parts);
    let error = admitted().try_key(&Key::VolumeKey(Secret::zeroed(31))).unwrap_err();
    assert_eq!((error.kind(), error.place()), (&ErrorKind::WrongVolumeKey, Some("a test")));
}
