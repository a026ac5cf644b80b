//! The library as its users have it, over files: what is written comes back, what is wrong is
//! refused by its kind, and nothing is written then.

use keyway::{
    Cancel, Create, Device, Error, ErrorKind, Key, KeyFile, LastKeyslot, Limits, Location, NewKdf,
    NewKeyslot, Probe, Unlock, Version,
};
use std::fs;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

/// A directory that goes with the test.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("keyway-library-{name}-{}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    fn file(&self, name: &str, content: &[u8]) -> PathBuf {
        fs::write(self.path(name), content).unwrap();
        self.path(name)
    }

    /// A LUKS2 volume with a MiB of plaintext.
    fn volume(&self, name: &str) -> PathBuf {
        create().create(self.path(name), &key()).unwrap();
        self.path(name)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn key() -> Key {
    Key::passphrase("correct horse")
}

fn create() -> Create {
    Create::luks2().kdf(NewKdf::pbkdf2(1000)).size(1 << 20)
}

fn kind<T>(result: Result<T, Error>) -> ErrorKind {
    result.map(drop).expect_err("this must not succeed").kind().clone()
}

#[test]
fn what_is_written_comes_back() {
    let scratch = Scratch::new("round");
    for (version, name) in [(Version::Luks1, "one"), (Version::Luks2, "two")] {
        let path = scratch.path(name);
        let made =
            Create::new(version).kdf(NewKdf::pbkdf2(1000)).size(100_001).create(&path, &key()).unwrap();
        assert_eq!(fs::metadata(&path).unwrap().mode() & 0o777, 0o600);
        let volume = made.unlock(&key()).unwrap();
        assert_eq!((volume.len(), volume.version()), (100_352, Some(version)), "whole sectors");
        thread::scope(|scope| {
            for part in 0..4u8 {
                let volume = &volume;
                scope.spawn(move || volume.write_at(&[part + 1; 25_088], u64::from(part) * 25_088).unwrap());
            }
        });
        volume.flush().unwrap();
        drop((made, volume));

        let volume = Device::open(&path).unwrap().unlock(&key()).unwrap();
        let mut all = Vec::new();
        volume.clone().read_to_end(&mut all).unwrap();
        let expected: Vec<u8> = (1..5).flat_map(|part| vec![part; 25_088]).collect();
        assert!(all == expected);
        let disk = fs::read(&path).unwrap();
        assert!(!disk.windows(64).any(|window| window == [2; 64]), "nothing of it in the clear");
    }
}

#[test]
fn positions_are_each_clones_own_and_end_with_the_volume() {
    let scratch = Scratch::new("positions");
    let path = scratch.volume("disk");
    let mut volume = Device::open_rw(&path).unwrap().unlock(&key()).unwrap();
    let (mut other, len) = (volume.clone(), fs::metadata(&path).unwrap().len());
    assert_eq!(volume.seek(SeekFrom::End(-3)).unwrap(), (1 << 20) - 3);
    assert_eq!(volume.write(b"abcdef").unwrap(), 3);
    assert_eq!(volume.write(b"def").unwrap_err().kind(), io::ErrorKind::StorageFull);
    assert_eq!((volume.read(&mut [0; 9]).unwrap(), other.stream_position().unwrap()), (0, 0));
    other.seek(SeekFrom::Start((1 << 20) - 3)).unwrap();
    let mut end = String::new();
    other.read_to_string(&mut end).unwrap();
    assert_eq!(end, "abc");
    assert!(other.seek(SeekFrom::Current(-(2 << 20))).is_err());
    assert_eq!(other.seek(SeekFrom::Start(5 << 20)).unwrap(), 5 << 20);
    assert_eq!((other.read(&mut [0; 9]).unwrap(), other.write(b"").unwrap()), (0, 0));
    volume.write_at(b"x", 1 << 20).unwrap_err();
    volume.read_at(&mut [0; 2], (1 << 20) - 1).unwrap_err();
    assert_eq!(fs::metadata(&path).unwrap().len(), len, "a refused write makes no file grow");
}

#[test]
fn keys_come_from_where_they_are() {
    let scratch = Scratch::new("keys");
    let path = scratch.volume("disk");
    let whole = scratch.file("whole", b"correct horse");
    let part = scratch.file("part", b"##correct horse\n");
    let device = Device::open(&path).unwrap();
    for right in [Key::key_file(&whole), KeyFile::new(&part).offset(2).size(13).into()] {
        assert_eq!(device.unlock(&right).unwrap().keyslot(), Some(0));
    }
    let wrong = [Key::key_file(&part), KeyFile::new(&part).offset(2).into(), Key::passphrase("")];
    assert_eq!(wrong.map(|key| kind(device.unlock(&key))), [const { ErrorKind::WrongPassphrase }; 3]);
    let beyond = KeyFile::new(&part).offset(99).into();
    assert_eq!(kind(device.unlock(&beyond)), ErrorKind::KeyFile);
    assert_eq!(kind(device.unlock(&Key::key_file(scratch.path("none")))), ErrorKind::NotFound);

    let found = device.admit(&Unlock::new()).unwrap().try_key(&key()).unwrap();
    let raw = scratch.file("volume-key", found.expose().expose());
    assert_eq!(device.unlock(&Key::VolumeKeyFile(raw)).unwrap().keyslot(), None);
    let other = Key::VolumeKeyFile(scratch.file("other", &[7; 64]));
    assert_eq!(kind(device.unlock(&other)), ErrorKind::WrongVolumeKey);
}

#[test]
fn a_key_opens_the_volume_that_it_was_found_for() {
    let scratch = Scratch::new("mixed");
    let admit = |path: &Path| Device::open_rw(path).unwrap().admit(&Unlock::new()).unwrap();
    let [one, two] = ["one", "two"].map(|name| admit(&scratch.volume(name)));
    let key_of_one = one.try_key(&key()).unwrap();
    assert_eq!(kind(two.open(key_of_one)), ErrorKind::WrongVolumeKey);
    let key_of_one = one.try_key(&key()).unwrap();
    assert_eq!(key_of_one.keyslot(), Some(0));
    one.open(key_of_one).unwrap();
}

#[test]
fn a_volume_in_use_is_refused_to_writers_until_it_is_dropped() {
    let scratch = Scratch::new("claims");
    let path = scratch.volume("disk");
    let open = || Device::open_rw(&path).unwrap();
    let reading = [(); 2].map(|()| Device::open(&path).unwrap().unlock(&key()).unwrap());
    assert!(matches!(kind(open().admit(&Unlock::new())), ErrorKind::InUse { .. }));
    drop(reading);
    let writing = open().unlock(&key()).unwrap();
    let clone = writing.clone();
    drop(writing);
    for refused in [open().admit(&Unlock::new()), Device::open(&path).unwrap().admit(&Unlock::new())] {
        let error = io::Error::from(refused.unwrap_err());
        assert_eq!(error.kind(), io::ErrorKind::ResourceBusy);
        assert!(error.to_string().contains(path.to_str().unwrap()), "{error}");
    }
    let backup = scratch.path("header");
    open().header().unwrap().backup(&backup).unwrap();
    assert!(matches!(kind(open().restore_header(&backup)), ErrorKind::InUse { .. }));
    assert!(matches!(kind(Create::luks2().overwrite().create(&path, &key())), ErrorKind::InUse { .. }));
    assert_eq!(kind(create().create(&path, &key())), ErrorKind::Exists);
    // Its keys may be changed meanwhile.
    let new = Key::passphrase("battery staple");
    let options = NewKeyslot::new().kdf(NewKdf::pbkdf2(1000));
    open().header().unwrap().add_key(&key(), &new, &options).unwrap();
    open().unlock_with(&new, &Unlock::new().shared()).unwrap();
    drop(clone);
    open().unlock(&new).unwrap();
}

#[test]
fn storage_that_nobody_else_sees_has_one_writer_too() {
    let device = Create::luks2().kdf(NewKdf::pbkdf2(1000)).in_memory(4096, &key()).unwrap();
    let volume = device.unlock(&key()).unwrap();
    for options in [Unlock::new(), Unlock::new().read_only()] {
        assert!(matches!(kind(device.admit(&options)), ErrorKind::InUse { .. }));
    }
    let storage = volume.storage();
    drop(volume);
    assert!(matches!(kind(device.admit(&Unlock::new())), ErrorKind::InUse { .. }));
    device.unlock_with(&key(), &Unlock::new().shared()).unwrap();
    drop(storage);
    let readers = [(); 2].map(|()| device.unlock_with(&key(), &Unlock::new().read_only()).unwrap());
    assert_eq!(readers[0].len(), readers[1].len());
    // A reader keeps writers away, until the last is gone.
    for reader in readers {
        assert!(matches!(kind(device.admit(&Unlock::new())), ErrorKind::InUse { .. }));
        drop(reader);
    }
    device.unlock(&key()).unwrap();
}

#[test]
fn who_opened_for_reading_writes_nothing() {
    let scratch = Scratch::new("reading");
    let path = scratch.volume("disk");
    let before = fs::read(&path).unwrap();
    let device = Device::open(&path).unwrap();
    let mut header = device.header().unwrap();
    let new = NewKeyslot::new();
    let mut refused = vec![
        kind(header.add_key(&key(), &key(), &new)),
        kind(header.change_key(&key(), &key(), &new)),
        kind(header.kill_keyslot(0, LastKeyslot::Kill)),
        kind(header.erase()),
        kind(header.set_label("x")),
        kind(header.convert(Version::Luks1)),
        kind(header.seal(&key(), None)),
        kind(device.restore_header(&path)),
    ];
    let writable = Device::open_rw(&path).unwrap();
    for volume in [device.unlock(&key()), writable.unlock_with(&key(), &Unlock::new().read_only())] {
        let mut volume = volume.unwrap();
        assert!(volume.is_read_only() && volume.storage().is_read_only());
        refused.extend([kind(volume.write_at(b"x", 0)), kind(volume.discard(0..4096))]);
        refused.push(kind(volume.copy_from(&mut &b"x"[..])));
        assert_eq!(volume.write(b"x").unwrap_err().kind(), io::ErrorKind::ReadOnlyFilesystem);
        assert!(volume.storage().write_at(b"x", 0).is_err() && volume.storage().discard(0..4096).is_err());
    }
    assert!(refused.iter().all(|kind| *kind == ErrorKind::ReadOnly), "{refused:?}");
    assert!(fs::read(&path).unwrap() == before);
}

#[test]
fn a_header_may_stand_elsewhere() {
    let scratch = Scratch::new("detached");
    let path = scratch.volume("disk");
    let detached = scratch.path("header");
    let device = Device::open_rw(&path).unwrap();
    device.unlock(&key()).unwrap().write_at(b"data", 0).unwrap();
    device.header().unwrap().backup(&detached).unwrap();
    assert!(matches!(kind(device.header().unwrap().backup(&detached)), ErrorKind::Exists));
    fs::File::options().write(true).open(&path).unwrap().write_all_at(&[0; 32 << 10], 0).unwrap();
    assert_eq!(device.probe().unwrap(), Probe::Nothing);
    assert_eq!(kind(device.unlock(&key())), ErrorKind::NotLuks);

    let both = Device::options().header(&detached).open(&path).unwrap();
    let mut data = [0; 4];
    both.unlock(&key()).unwrap().read_at(&mut data, 0).unwrap();
    assert_eq!((&data, both.probe().unwrap()), (b"data", Probe::Luks2));
}

#[test]
fn whatever_stands_there_is_named() {
    let scratch = Scratch::new("probe");
    let path = scratch.volume("disk");
    let probe = |path: &Path| Device::open(path).unwrap().probe().unwrap();
    let disk = fs::read(&path).unwrap();

    let one_copy = scratch.file("one copy", &[&[0; 4096], &disk[4096..]].concat());
    assert_eq!(probe(&one_copy), Probe::Luks2);
    let is_damaged = || Device::open(&one_copy).unwrap().header().unwrap().has_damaged_copy().unwrap();
    assert!(is_damaged());
    Device::open(&one_copy).unwrap().unlock(&key()).unwrap();
    assert!(is_damaged(), "who reads writes nothing");
    Device::open_rw(&one_copy).unwrap().unlock(&key()).unwrap();
    assert!(!is_damaged());
    let mut torn = disk.clone();
    torn[4200] ^= 1;
    torn[(16 << 10) + 4200] ^= 1;
    let torn = scratch.file("torn", &torn);
    assert_eq!(kind(Device::open(&torn).unwrap().header()), ErrorKind::Damaged { place: "checksum".into() });
    assert!(matches!(probe(&torn), Probe::Damaged { place, .. } if place == "checksum"));
    let cut = scratch.file("cut", &disk[..1 << 20]);
    assert!(matches!(probe(&cut), Probe::Damaged { place, .. } if place == "end of the device"));
    let mut later = disk;
    later[7] = 9;
    assert_eq!(probe(&scratch.file("later", &later)), Probe::LaterLuks { version: 9 });

    let mut xfs = vec![0; 1 << 20];
    xfs[..4].copy_from_slice(b"XFSB");
    assert!(matches!(probe(&scratch.file("xfs", &xfs)), Probe::Other(found) if found.blkid == "xfs"));
    assert_eq!(probe(&scratch.file("empty", b"")), Probe::Nothing);
    assert!(matches!(kind(Device::open("/dev/null")), ErrorKind::Unsupported { .. }));
    #[cfg(not(feature = "remote"))]
    assert!(matches!(kind(Device::open("https://example.org/disk.luks")), ErrorKind::Unsupported { .. }));
    assert_eq!(Location::from("./nbd://x").path(), Some(Path::new("./nbd://x")));
}

#[test]
fn another_thread_ends_a_derivation() {
    let scratch = Scratch::new("cancel");
    let path = scratch.path("disk");
    Create::luks1().kdf(NewKdf::pbkdf2(1000)).size(4096).create(&path, &key()).unwrap();
    // An hour of work.
    let iterations = u32::MAX.to_be_bytes();
    fs::File::options().write(true).open(&path).unwrap().write_all_at(&iterations, 208 + 4).unwrap();
    let device = Device::open(&path).unwrap();
    let cancel = Cancel::new();
    let limits = Limits::new().time(Duration::MAX).cancel(&cancel);
    thread::scope(|scope| {
        let again = limits.clone();
        let waiting = scope.spawn(|| kind(device.unlock_with(&key(), &Unlock::new().limits(limits))));
        thread::sleep(Duration::from_millis(50));
        cancel.cancel();
        assert_eq!(waiting.join().unwrap(), ErrorKind::Cancelled);
        // Nor does std start it again.
        let error = device.unlock_with(&key(), &Unlock::new().limits(again)).unwrap_err();
        assert_eq!(io::Error::from(error).kind(), io::ErrorKind::Other);
    });
    let brief = Unlock::new().limits(Limits::new().time(Duration::from_secs(1)));
    assert!(matches!(kind(device.unlock_with(&key(), &brief)), ErrorKind::TimeLimit { keyslot: 0, .. }));
}

#[test]
fn what_is_there_is_overwritten_only_when_that_is_said() {
    let scratch = Scratch::new("overwrite");
    let path = scratch.file("disk", &[7; 20 << 20]);
    let create = || Create::luks2().kdf(NewKdf::pbkdf2(1000));
    assert_eq!(kind(create().create(&path, &key())), ErrorKind::Exists);
    assert!(
        matches!(kind(create().create(scratch.path("new"), &key())), ErrorKind::Refused { .. }),
        "no size"
    );
    assert!(matches!(kind(create().size(1).overwrite().create(&path, &key())), ErrorKind::Refused { .. }));
    assert!(fs::read(&path).unwrap() == [7; 20 << 20]);

    // A detached header: the data is not touched, and claimed while the header is made.
    let header = scratch.path("header");
    let detached = || create().header(&header).overwrite();
    let held = Device::open_rw(&path).unwrap();
    assert_eq!(kind(create().header(&header).create(&path, &key())), ErrorKind::Exists);
    assert!(!header.exists());
    let device = detached().create(&path, &key()).unwrap();
    assert!(fs::read(&path).unwrap() == [7; 20 << 20]);
    assert_eq!(
        (device.unlock(&key()).unwrap().len(), device.header().unwrap().sector_size()),
        (20 << 20, 4096)
    );
    assert_eq!(kind(detached().create(&path, &key())), ErrorKind::Exists, "a header is never overwritten");
    assert_eq!(held.probe().unwrap(), Probe::Nothing);
    assert!(matches!(kind(detached().in_memory(1, &key())), ErrorKind::Refused { .. }));

    let device = create().overwrite().create(&path, &key()).unwrap();
    assert_eq!((held.probe().unwrap(), device.unlock(&key()).unwrap().len()), (Probe::Luks2, 4 << 20));
}
