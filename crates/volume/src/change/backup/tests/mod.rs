//! Backups and restores on storage that records, forgets or changes writes.

mod differences;
mod midway;

use super::*;
use crate::change::create::{Luks1Params, Luks2Params, create_luks1, create_luks2};
use crate::change::edit;
use crate::device::storage::faulty::Event;
use crate::device::storage::{Faulty, File, Memory};
use crate::unlock;
use crate::{Access, Cost, KdfChoice, OsRandom, UnlockOptions};
use keyway_crypto::Secret;
use keyway_format::luks2::{Copy, HeaderSize, Metadata};
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::time::Duration;

fn cheap() -> KdfChoice {
    KdfChoice::Pbkdf2 { hash: "sha256".into(), cost: Cost::Forced(1000) }
}

fn secret(text: &str) -> Secret {
    Secret::copy_from(text.as_bytes())
}

fn key(bits: u32) -> Secret {
    Secret::copy_from(&vec![7; bits as usize / 8])
}

fn params1() -> Luks1Params {
    Luks1Params { kdf: cheap(), key_bits: 256, uuid: Some(UUID.into()), ..Luks1Params::default() }
}

fn params2() -> Luks2Params {
    Luks2Params {
        kdf: cheap(),
        key_bits: 256,
        keyslots_size: Some(512 << 10),
        uuid: Some(UUID.into()),
        ..Luks2Params::default()
    }
}

/// Storage full of noise, with a volume created on it.
fn luks1(params: &Luks1Params) -> Vec<u8> {
    let storage = Arc::new(Memory::from(vec![0xa5; (2 << 20) + 4096]));
    create_luks1(storage.clone(), params, &key(params.key_bits), &secret("old"), &mut OsRandom).unwrap();
    storage.to_vec()
}

fn luks2(params: &Luks2Params) -> Vec<u8> {
    let storage = Arc::new(Memory::from(vec![0xa5; (2 << 20) + 4096]));
    create_luks2(storage.clone(), params, &key(params.key_bits), &secret("old"), &mut OsRandom).unwrap();
    storage.to_vec()
}

fn header(image: &[u8]) -> Header {
    read_header(&Memory::from(image.to_vec())).unwrap().0
}

fn prepare(target: Vec<u8>, backup: &[u8]) -> Result<Restore> {
    Restore::prepare(
        Arc::new(Memory::from(target)),
        &Memory::from(backup.to_vec()),
        Locking::default(),
        Midway::Refuse,
    )
}

fn refused(target: Vec<u8>, backup: &[u8]) -> String {
    prepare(target, backup).err().unwrap().to_string()
}

fn warnings(target: Vec<u8>, backup: &[u8]) -> Vec<String> {
    prepare(target, backup).unwrap().warnings().iter().map(ToString::to_string).collect()
}

/// A LUKS2 image with other metadata in both copies.
fn with_metadata(image: &[u8], change: impl FnOnce(&mut Metadata)) -> Vec<u8> {
    let Header::Luks2 { binary, mut metadata } = header(image) else { panic!("not LUKS2") };
    change(&mut metadata);
    let mut image = image.to_vec();
    for (copy, at) in [(Copy::Primary, 0), (Copy::Secondary, binary.size.bytes().0 as usize)] {
        let bytes = binary.as_copy(copy, [7; 64]).copy_to_bytes(&metadata.to_json()).unwrap();
        image[at..at + bytes.len()].copy_from_slice(&bytes);
    }
    image
}

/// A backup file of `image`, and the result of `backup`.
fn backed_up(name: &str, image: &[u8]) -> (PathBuf, Result<()>) {
    let path = std::env::temp_dir().join(format!("keyway-backup-{name}-{}", std::process::id()));
    let _ = fs::remove_file(&path);
    let luks = Luks::open(Arc::new(Memory::from(image.to_vec())), Access::Read).unwrap();
    let result = backup(&luks, &path);
    (path, result)
}

fn bytes_of_backup(name: &str, image: &[u8]) -> Vec<u8> {
    let (path, result) = backed_up(name, image);
    result.unwrap();
    assert_eq!(fs::metadata(&path).unwrap().mode() & 0o7777, 0o400);
    let bytes = fs::read(&path).unwrap();
    fs::remove_file(path).unwrap();
    bytes
}

#[test]
fn a_luks1_backup_holds_nothing_of_what_was_there_before() {
    let mut image = luks1(&params1());
    let Header::Luks1(parsed) = header(&image) else { panic!() };
    let end = luks1_disk::areas_end(&parsed) as usize;
    assert!(!end.is_multiple_of(PAGE) && parsed.slots[0].offset.0 == 8, "{end}");
    image[luks1::HEADER_LEN..PAGE].fill(0x5a);
    image[end..].fill(0x5a);
    let bytes = bytes_of_backup("luks1", &image);
    assert_eq!(bytes.len(), end.next_multiple_of(PAGE));
    assert!(bytes[..luks1::HEADER_LEN] == image[..luks1::HEADER_LEN]);
    assert!(bytes[luks1::HEADER_LEN..PAGE].iter().all(|byte| *byte == 0), "the gap is somebody's");
    assert!(bytes[PAGE..end] == image[PAGE..end]);
    assert!(bytes[end..].iter().all(|byte| *byte == 0), "data is in the backup");
    // The whole backup opens.
    let luks = Luks::open(Arc::new(Memory::from(bytes)), Access::Probe).unwrap();
    unlock(&luks, &secret("old"), &UnlockOptions::default()).unwrap();
}

/// If key material is elsewhere than directly after the header, the gap may hold key material, too.
#[test]
fn a_luks1_backup_with_another_geometry_keeps_the_gap() {
    let mut image = luks1(&Luks1Params { payload_offset: Some(4096), ..params1() });
    // Slots 0 and 7 are swapped in the header: offset at 40, 48 bytes per slot, from byte 208 on.
    let offset = |slot: usize| 208 + 48 * slot + 40..208 + 48 * slot + 44;
    let (first, last) = (image[offset(0)].to_vec(), image[offset(7)].to_vec());
    image[offset(0)].copy_from_slice(&last);
    image[offset(7)].copy_from_slice(&first);
    image[luks1::HEADER_LEN..PAGE].fill(0x5a);
    let bytes = bytes_of_backup("luks1-geometry", &image);
    assert!(bytes[luks1::HEADER_LEN..PAGE].iter().all(|byte| *byte == 0x5a));
}

#[test]
fn a_luks2_backup_is_both_copies_and_the_keyslots() {
    let image = luks2(&params2());
    let bytes = bytes_of_backup("luks2", &image);
    assert_eq!(bytes.len(), (2 * 16 + 512) << 10);
    assert!(bytes == image[..bytes.len()]);
}

#[test]
fn a_backup_never_replaces_a_file() {
    let image = luks1(&params1());
    let (path, first) = backed_up("exists", &image);
    first.unwrap();
    let before = fs::read(&path).unwrap();
    let luks = Luks::open(Arc::new(Memory::from(luks2(&params2()))), Access::Read).unwrap();
    let error = backup(&luks, &path).unwrap_err();
    assert!(matches!(&error, Error::Refused { why, .. } if why.ends_with("already exists.")), "{error}");
    assert!(fs::read(&path).unwrap() == before);
    fs::remove_file(&path).unwrap();
    let error = backup(&luks, Path::new("/proc/no such directory/backup")).unwrap_err();
    assert!(matches!(&error, Error::Io { .. }), "{error}");
}

#[test]
fn a_backup_waits_for_who_edits() {
    let path = std::env::temp_dir().join(format!("keyway-backup-lock-{}", std::process::id()));
    fs::write(&path, luks1(&params1())).unwrap();
    let soon = Locking::Wait(Duration::from_millis(50));
    let storage = Arc::new(File::open_rw(&path).unwrap());
    let luks = Luks::open_with(storage.clone(), Access::Read, soon).unwrap();
    let editor = HeaderLock::acquire(&*storage, LockMode::Exclusive, soon).unwrap();
    let to = path.with_extension("backup");
    assert!(matches!(backup(&luks, &to), Err(Error::Busy(_))));
    let backup = Memory::from(luks1(&params1()));
    let restore = Restore::prepare(storage.clone(), &backup, soon, Midway::Refuse);
    assert!(matches!(restore, Err(Error::Busy(_))));
    drop(editor);
    let restore = Restore::prepare(storage.clone(), &backup, soon, Midway::Refuse).unwrap();
    let reader = HeaderLock::acquire(&*storage, LockMode::Shared, soon).unwrap();
    assert!(matches!(restore.run(), Err(Error::Busy(_))));
    drop(reader);
    fs::remove_file(path).unwrap();
}

#[test]
fn a_restore_is_alone_from_the_question_to_the_last_write() {
    let path = std::env::temp_dir().join(format!("keyway-backup-claim-{}", std::process::id()));
    let image = luks1(&params1());
    fs::write(&path, &image).unwrap();
    let open = || Arc::new(File::open_rw(&path).unwrap());
    let other = Exclusive::claim(open()).unwrap();
    let backup = Memory::from(image);
    let refused = Restore::prepare(open(), &backup, Locking::default(), Midway::Refuse);
    assert!(matches!(refused, Err(Error::InUse(_))));
    drop(other);
    let restore = Restore::prepare(open(), &backup, Locking::default(), Midway::Refuse).unwrap();
    assert!(matches!(Exclusive::claim(open()), Err(Error::InUse(_))));
    restore.run().unwrap();
    Exclusive::claim(open()).unwrap();
    fs::remove_file(path).unwrap();
}

/// Where the writes of `events` begin, each piece followed by a flush.
fn writes(events: &[Event]) -> Vec<u64> {
    let offsets = events.iter().filter_map(|event| match event {
        Event::Write { offset, .. } => Some(*offset),
        Event::Flush => None,
    });
    offsets.collect()
}

#[test]
fn a_restore_writes_what_differs_and_the_header_last() {
    for (image, pieces) in [(luks1(&params1()), 2), (luks2(&params2()), 3)] {
        let end = header_len(&header(&image)) as usize;
        // Nothing differs: nothing is written.
        let same = Arc::new(Faulty::new(image.clone()));
        let backup = Memory::from(image.clone());
        Restore::prepare(same.clone(), &backup, Locking::default(), Midway::Refuse).unwrap().run().unwrap();
        assert_eq!(same.events(), vec![Event::Flush; pieces]);

        // Key material and header of the device differ; so does the data after them, which must
        // stay.
        let mut other = image.clone();
        for at in [700, PAGE * 40, end - 1, end] {
            other[at] ^= 1;
        }
        let target = Arc::new(Faulty::new(other.clone()));
        Restore::prepare(target.clone(), &backup, Locking::default(), Midway::Refuse).unwrap().run().unwrap();
        let now = target.image();
        assert!(now[..end] == image[..end] && now[end..] == other[end..]);
        let events = target.events();
        let expected: Vec<u64> = match pieces {
            2 => vec![512, 40 * PAGE as u64, (end as u64 - 1) / 512 * 512],
            _ => vec![40 * PAGE as u64, (end as u64 - 1) / 512 * 512, 512],
        };
        assert_eq!(writes(&events), expected);
        assert_eq!(events.iter().filter(|event| **event == Event::Flush).count(), pieces);
        assert_eq!(events.last(), Some(&Event::Flush));
        let longest = events.iter().map(|event| match event {
            Event::Write { bytes, .. } => bytes.len(),
            Event::Flush => 0,
        });
        assert!(longest.max() <= Some(512));
    }
}

#[test]
fn a_restore_brings_the_old_passphrase_back() {
    let image = luks2(&params2());
    let storage = Arc::new(Memory::from(image.clone()));
    let mut luks = Luks::open(storage.clone(), Access::Write).unwrap();
    edit::kill_slot(&mut luks, 0, &mut OsRandom).unwrap();
    let opens = || {
        let luks = Luks::open(storage.clone(), Access::Read).unwrap();
        unlock(&luks, &secret("old"), &UnlockOptions::default()).is_ok()
    };
    assert!(!opens());
    Restore::prepare(storage.clone(), &Memory::from(image), Locking::default(), Midway::Refuse)
        .unwrap()
        .run()
        .unwrap();
    assert!(opens());
}

#[test]
fn a_device_grows_where_it_can_and_is_refused_where_not() {
    for image in [luks1(&params1()), luks2(&params2())] {
        let end = header_len(&header(&image)) as usize;
        let short = Arc::new(Faulty::new(vec![0; end - 1]));
        let backup = Memory::from(image.clone());
        let error = Restore::prepare(short.clone(), &backup, Locking::default(), Midway::Refuse)
            .err()
            .unwrap()
            .to_string();
        assert_eq!(
            error,
            format!(
                "Device is too small for the backup: it has {} bytes, header and keyslots take {end}.",
                end - 1
            )
        );
        assert!(short.events().is_empty());
        let enough = Arc::new(Faulty::new(vec![0; end]));
        Restore::prepare(enough.clone(), &backup, Locking::default(), Midway::Refuse).unwrap().run().unwrap();
        assert!(enough.image() == image[..end]);
        let path = std::env::temp_dir().join(format!("keyway-backup-grows-{}-{end}", std::process::id()));
        fs::write(&path, b"short").unwrap();
        let file = Arc::new(File::open_rw(&path).unwrap());
        Restore::prepare(file, &backup, Locking::default(), Midway::Refuse).unwrap().run().unwrap();
        assert!(fs::read(&path).unwrap() == image[..end]);
        fs::remove_file(path).unwrap();
    }
}

/// Storage that loses writes to its first sector.
struct Forgetful(Memory);

impl Storage for Forgetful {
    fn len(&self) -> u64 {
        self.0.len()
    }

    fn read_at(&self, buf: &mut [u8], offset: u64) -> std::io::Result<()> {
        self.0.read_at(buf, offset)
    }

    fn write_at(&self, buf: &[u8], offset: u64) -> std::io::Result<()> {
        if offset == 0 { Ok(()) } else { self.0.write_at(buf, offset) }
    }

    fn flush(&self) -> std::io::Result<()> {
        Ok(())
    }

    fn discard(&self, _: std::ops::Range<u64>) -> std::io::Result<()> {
        Ok(())
    }
}

#[test]
fn what_did_not_land_is_noticed() {
    let image = luks1(&params1());
    let other = luks1(&Luks1Params { uuid: None, ..params1() });
    let target = Arc::new(Forgetful(Memory::from(other)));
    let restore =
        Restore::prepare(target, &Memory::from(image.clone()), Locking::default(), Midway::Refuse).unwrap();
    assert_eq!(restore.run().unwrap_err().to_string(), "reading back the header: not what was written");

    // Failures are reported.
    let broken = Arc::new(Faulty::breaking_at(vec![0; image.len()], 0, 0));
    let restore =
        Restore::prepare(broken, &Memory::from(image.clone()), Locking::default(), Midway::Refuse).unwrap();
    let error = restore.run().unwrap_err().to_string();
    assert!(error.starts_with("writing the header: the storage broke down"), "{error}");
    let broken = Arc::new(Faulty::breaking_at(image.clone(), 0, 0));
    let restore = Restore::prepare(broken, &Memory::from(image), Locking::default(), Midway::Refuse).unwrap();
    let error = restore.run().unwrap_err().to_string();
    assert!(error.starts_with("flushing the header: "), "{error}");
}

const GEOMETRY: &str = "Data offset or key size differs on device and backup, restore failed.";

const UUID: &str = "6e2b0c27-4ef6-4bd4-b92e-a1ca1c1a6aa1";
