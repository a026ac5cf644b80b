//! Headers that are written only when it is known what opens then, and what is lost.

use super::change::{HIDDEN, LEN, NEW, OLD, bytes, change, made, narrow, opened, opens, secret};
use super::place;
use super::restore::{backup_file, restore};
use keyway_volume::device::storage::{File, Memory, NewFile};
use keyway_volume::device::stream::Meter;
use keyway_volume::kind::tcrypt::{NewKey, NewVolume, Outer, Restore, Tcrypt};
use keyway_volume::{Error, OsRandom, Storage, UnlockOptions};
use std::io::{self, Write};
use std::ops::Range;
use std::os::fd::AsRawFd;
use std::path::PathBuf;

/// A folder of the test's own.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("keyway-careful-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    fn file(&self, name: &str, content: &[u8]) -> PathBuf {
        let path = self.0.join(name);
        std::fs::write(&path, content).unwrap();
        path
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// The volume is sealed with what opened it, whatever the file has become.
#[test]
fn key_files_are_read_once() {
    let folder = Folder::new("once");
    let disk = File::open_rw(folder.file("disk.hc", &made())).unwrap();
    let key = folder.file("key", b"a key file");
    let new = NewKey { key_files: Some(vec![key.clone()]), ..NewKey::default() };
    change(&disk, &narrow(false, false), (OLD, NEW), &new).unwrap();
    let of = Tcrypt { key_files: vec![key.clone()], ..narrow(false, false) };
    let header = opened(&disk, &of, NEW).unwrap();
    folder.file("key", b"another content");
    let options = UnlockOptions::default();
    header.change_key(&disk, &NewKey::default(), &secret(OLD), (&mut OsRandom, &options)).unwrap();
    assert!(!opens(&bytes(&disk), &of, OLD));
    folder.file("key", b"a key file");
    assert!(opens(&bytes(&disk), &of, OLD));

    // A pipe has its content once.
    let (reader, mut writer) = io::pipe().unwrap();
    writer.write_all(b"from a program").unwrap();
    drop(writer);
    let pipe = PathBuf::from(format!("/proc/self/fd/{}", reader.as_raw_fd()));
    let new = NewKey { key_files: Some(vec![pipe]), ..NewKey::default() };
    change(&disk, &of, (OLD, NEW), &new).unwrap();
    folder.file("key", b"from a program");
    assert!(opens(&bytes(&disk), &of, NEW));
}

/// By its name, by a link's, and in a folder, for changes and new volumes.
#[test]
fn the_volume_is_no_key_file_of_itself() {
    let folder = Folder::new("itself");
    let path = folder.file("disk.hc", &made());
    let links = Folder::new("links");
    std::os::unix::fs::symlink(&path, links.0.join("a link")).unwrap();
    let disk = File::open_rw(&path).unwrap();
    let before = bytes(&disk);
    for named in [&path, &folder.0, &links.0] {
        let key_files = vec![named.clone()];
        let new = NewKey { key_files: Some(key_files.clone()), ..NewKey::default() };
        let change = change(&disk, &narrow(false, false), (OLD, NEW), &new);
        let new = NewVolume { pim: Some(1), key_files, quick: true, ..NewVolume::default() };
        let make = new.make(&disk, &secret(NEW), &mut OsRandom, &Meter::new());
        let options = UnlockOptions::default();
        let outer = Outer::open(&disk, &narrow(false, false), &secret(OLD), &options).unwrap();
        let hide = outer.hide(&disk, 65536, &new, &secret(NEW), (&mut OsRandom, &options));
        for refused in [change, make, hide] {
            let why = refused.unwrap_err().to_string();
            assert!(why.contains(" is the volume itself: "), "{why}");
            assert!(bytes(&disk) == before);
        }
    }
}

/// The outer volume is tried first by every hash: the hidden one would be written over.
#[test]
fn another_hash_is_no_way_around_the_hidden_volume() {
    let (before, sha256) = (made(), NewKey { hash: Some("sha256".into()), ..NewKey::default() });
    for (hidden, keys, whose) in [(false, (OLD, HIDDEN), "a hidden"), (true, (HIDDEN, OLD), "the outer")] {
        let device = Memory::from(before.clone());
        let why = change(&device, &narrow(hidden, false), keys, &sha256).unwrap_err().to_string();
        assert_eq!(why, format!("{whose} volume opens with this passphrase already"));
        assert!(bytes(&device) == before);
    }
}

/// What a hidden volume opens with hides no other one over it, by whatever hash.
#[test]
fn another_hash_hides_no_second_volume_over_the_first() {
    let before = made();
    let (device, options) = (Memory::from(before.clone()), UnlockOptions::default());
    let outer = Outer::open(&device, &narrow(false, false), &secret(OLD), &options).unwrap();
    let hash = Some("whirlpool".to_owned());
    let new = NewVolume { pim: Some(1), hash, quick: true, ..NewVolume::default() };
    let hidden = outer.hide(&device, 65536, &new, &secret(HIDDEN), (&mut OsRandom, &options));
    assert_eq!(hidden.unwrap_err().to_string(), "a hidden volume opens with this passphrase already");
    assert!(bytes(&device) == before);
}

/// The same number costs something else with Argon2id: nobody chose that.
#[test]
fn a_pim_does_not_stay_from_pbkdf2_to_argon2id_and_back() {
    let argon2id = |pim| NewKey { hash: Some("argon2id".into()), pim, ..NewKey::default() };
    let (before, of) = (made(), narrow(false, false));
    let device = Memory::from(before.clone());
    let why = change(&device, &of, (OLD, NEW), &argon2id(None)).unwrap_err().to_string();
    assert!(why.starts_with("a PIM means something else with argon2id than with other hashes"), "{why}");
    assert!(bytes(&device) == before);
    change(&device, &of, (OLD, NEW), &argon2id(Some(Some(2)))).unwrap();
    let of = Tcrypt { pim: Some(2), hash: Some("argon2id".into()), ..of };
    assert!(opens(&bytes(&device), &of, NEW));
    let sha256 = NewKey { hash: Some("sha256".into()), ..NewKey::default() };
    assert!(change(&device, &of, (NEW, OLD), &sha256).is_err());
}

/// The folder would have one key file more from then on.
#[test]
fn a_new_file_does_not_go_into_its_own_folder_of_key_files() {
    let (folder, links) = (Folder::new("own"), Folder::new("own-links"));
    folder.file("key", b"a key file");
    let (link, file_link) = (links.0.join("a link"), links.0.join("disk.hc"));
    std::os::unix::fs::symlink(&folder.0, &link).unwrap();
    std::os::unix::fs::symlink(folder.0.join("disk.hc"), &file_link).unwrap();
    let check = |new: &NewVolume, path: PathBuf| new.check_new_file(&NewFile::create(&path, true).unwrap());
    for named in [&folder.0, &link] {
        let new = NewVolume { key_files: vec![named.clone()], ..NewVolume::default() };
        for path in [folder.0.join("disk.hc"), link.join("disk.hc"), file_link.clone()] {
            let why = check(&new, path).unwrap_err().to_string();
            assert!(why.ends_with("the volume would become one of them: nothing would open it"), "{why}");
        }
        // Hidden files are no key files, nor are those of other folders.
        for path in [folder.0.join(".disk.hc"), links.0.join("other.hc")] {
            check(&new, path).unwrap();
        }
    }
    let new = NewVolume { key_files: vec![folder.0.join("key")], ..NewVolume::default() };
    check(&new, folder.0.join("disk.hc")).unwrap();
}

/// The end of an older volume, or its start, with the same passphrase.
#[test]
fn a_stale_header_replaces_none_that_opens() {
    let (one, other) = (made(), made());
    let mixed = [&one[..LEN / 2], &other[LEN / 2..]].concat();
    for (hidden, key) in [(false, OLD), (true, HIDDEN)] {
        for copy in [false, true] {
            let device = Memory::from(mixed.clone());
            let why = change(&device, &narrow(hidden, copy), (key, NEW), &NewKey::default()).unwrap_err();
            assert!(why.to_string().contains("belong to different volumes"), "{why}");
            assert!(bytes(&device) == mixed);
        }
    }
}

fn backup_of(image: &[u8], name: &str) -> Memory {
    let file = backup_file(name);
    let device = Memory::from(image.to_vec());
    opened(&device, &narrow(false, false), OLD).unwrap().back_up(None, &file, &mut OsRandom).unwrap();
    let backup = Memory::from(std::fs::read(&file).unwrap());
    std::fs::remove_file(&file).unwrap();
    backup
}

/// By its copy at the end, and by another hash than the backup's.
#[test]
fn a_restore_sees_a_newer_volume() {
    let backup = backup_of(&made(), "newer");
    let mut newer = made();
    newer[..512].fill(7);
    let found = restore(&Memory::from(newer.clone()), Some(&backup), false, OLD).unwrap();
    assert_eq!((found.other_key, found.opens_there), (true, true));
    newer[LEN - 131_072..LEN - 130_560].fill(7);
    let found = restore(&Memory::from(newer), Some(&backup), false, OLD).unwrap();
    assert_eq!((found.other_key, found.opens_there), (false, false));

    let hashed = Memory::zeroed(LEN);
    let new = NewVolume { hash: Some("sha256".into()), pim: Some(1), quick: true, ..NewVolume::default() };
    new.make(&hashed, &secret(OLD), &mut OsRandom, &Meter::new()).unwrap();
    let of = Tcrypt { pim: Some(1), ..place(false, false) };
    let options = UnlockOptions::default();
    let found = Restore::prepare(&hashed, Some(&backup), &of, &secret(OLD), &options).unwrap();
    assert!(found.other_key);
}

/// A device that fails where its first header is, and forgets what is written to the copy.
struct Failing {
    device: Memory,
    reads: bool,
}

impl Storage for Failing {
    fn len(&self) -> u64 {
        self.device.len()
    }

    fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<()> {
        match offset < 512 && !self.reads {
            true => Err(io::Error::other("a bad sector")),
            false => self.device.read_at(buf, offset),
        }
    }

    fn write_at(&self, buf: &[u8], offset: u64) -> io::Result<()> {
        if offset < self.len() / 2 { self.device.write_at(buf, offset) } else { Ok(()) }
    }

    fn flush(&self) -> io::Result<()> {
        Ok(())
    }

    fn discard(&self, _: Range<u64>) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }
}

/// What cannot be read may be a header that opens.
#[test]
fn a_restore_passes_on_what_it_cannot_read() {
    let before = made();
    let backup = backup_of(&before, "unread");
    let device = Failing { device: Memory::from(before), reads: false };
    let why = restore(&device, Some(&backup), false, OLD).err().unwrap();
    assert!(matches!(why, Error::Io { .. }), "{why}");
}

/// The old header is still there.
#[test]
fn a_copy_that_did_not_reach_the_disk_stops_the_change() {
    let before = made();
    let device = Failing { device: Memory::from(before.clone()), reads: true };
    let why = change(&device, &narrow(false, false), (OLD, NEW), &NewKey::default()).unwrap_err();
    assert!(why.to_string().contains("reading back"), "{why}");
    assert!(bytes(&device) == before);
}
