//! Volumes that are made with their content, and copied: what goes in comes out, long work shows how
//! far it is, and what is ended leaves nothing behind.

use keyway::{
    Cancel, Content, Create, Device, Error, ErrorKind, Key, Limits, NewKdf, NewVeracrypt, Probe, Progress,
    Version,
};
use std::fs;
use std::io::{self, Read};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

/// A directory that goes with the test.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("keyway-library-build-{name}-{}", std::process::id()));
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

    fn names(&self) -> Vec<String> {
        let mut names: Vec<_> = fs::read_dir(&self.0)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
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
    Create::luks2().kdf(NewKdf::pbkdf2(1000))
}

fn kind<T>(result: Result<T, Error>) -> ErrorKind {
    result.map(drop).expect_err("this must not succeed").kind().clone()
}

fn plaintext(path: &Path, key: &Key) -> Vec<u8> {
    let mut all = Vec::new();
    Device::open(path).unwrap().unlock(key).unwrap().read_to_end(&mut all).unwrap();
    all
}

fn bytes(len: usize) -> Vec<u8> {
    (0..len).map(|at| (at % 251) as u8 + 1).collect()
}

#[test]
fn what_goes_in_comes_out_from_a_reader_an_image_and_a_volume() {
    let scratch = Scratch::new("sources");
    let content = bytes(3 << 20);
    let image = scratch.file("image", &content);
    let [one, two, three, raw] = ["one", "two", "three", "raw"].map(|name| scratch.path(name));

    create().build(&one, &key(), Content::reader(&mut &content[..])).unwrap();
    assert_eq!(fs::metadata(&one).unwrap().mode() & 0o777, 0o600);
    assert!(plaintext(&one, &key()) == content);

    let luks1 = Create::luks1().kdf(NewKdf::pbkdf2(1000));
    let made = luks1.build(&two, &key(), Content::image(&Device::open(&image).unwrap()).headroom(512));
    assert_eq!(made.unwrap().header().unwrap().version(), Version::Luks1);
    let longer = plaintext(&two, &key());
    // Nobody has written the room behind it.
    assert!(longer[..3 << 20] == content && longer.len() == (3 << 20) + 512);

    let (other, volume) =
        (Key::passphrase("battery staple"), Device::open(&one).unwrap().unlock(&key()).unwrap());
    create().size(4 << 20).build(&three, &other, Content::volume(&volume)).unwrap();
    let copied = plaintext(&three, &other);
    assert!(copied[..3 << 20] == content && copied.len() == 4 << 20);
    assert_eq!(kind(Device::open(&three).unwrap().unlock(&key())), ErrorKind::WrongPassphrase);

    volume.copy_to_file(&raw, &Limits::new()).unwrap();
    assert!(fs::read(&raw).unwrap() == content);
    assert_eq!(fs::metadata(&raw).unwrap().mode() & 0o777, 0o600);
    assert_eq!(kind(volume.copy_to_file(&raw, &Limits::new())), ErrorKind::Exists);
}

#[test]
fn holes_stay_where_nobody_needs_them() {
    let scratch = Scratch::new("holes");
    let image = scratch.path("image");
    let file = fs::File::create_new(&image).unwrap();
    file.write_all_at(b"data", 0).unwrap();
    file.set_len(32 << 20).unwrap();
    let build = |name: &str, choose: fn(Content<'static>) -> Content<'static>| {
        let content = choose(Content::image(&Device::open(&image).unwrap()));
        create().build(scratch.path(name), &key(), content).unwrap();
        fs::metadata(scratch.path(name)).unwrap().blocks() * 512
    };
    // No file system says that they are free.
    assert!(build("zeros", |content| content) >= 32 << 20);
    assert!(build("filled", Content::fill_holes) >= 32 << 20);
    assert!(build("kept", Content::keep_holes) < 24 << 20);
    assert!(plaintext(&scratch.path("zeros"), &key())[4..].iter().all(|byte| *byte == 0));
    let volume = Device::open(scratch.path("kept")).unwrap().unlock(&key()).unwrap();
    volume.copy_to_file(scratch.path("raw"), &Limits::new()).unwrap();
    assert!(fs::metadata(scratch.path("raw")).unwrap().blocks() * 512 < 24 << 20);
}

fn is_refused(create: &Create, path: &Path, content: Content<'_>) -> bool {
    matches!(kind(create.build(path, &key(), content)), ErrorKind::Refused { .. })
}

#[test]
fn what_cannot_be_built_leaves_no_file() {
    let scratch = Scratch::new("refused");
    let image = scratch.file("image", &bytes(8192));
    let path = scratch.path("disk");
    let content = || Content::image(&Device::open(&image).unwrap());
    let refused = |create: Create, content| is_refused(&create, &path, content);
    assert!(refused(create().size(4096), content()));
    assert!(refused(create().size(1 << 20), content().headroom(4096)));
    assert!(refused(create().size(u64::MAX), content()));
    assert!(refused(create().header(scratch.path("header")), content()));
    assert_eq!(kind(create().build(&path, &key(), Content::reader(&mut io::empty()))), ErrorKind::NoContent);
    assert!(is_refused(&create().size(4096), &path, Content::reader(&mut &bytes(4097)[..])));
    assert_eq!(kind(create().build(&image, &key(), content())), ErrorKind::Exists);
    assert_eq!(scratch.names(), ["image"]);

    // In the place of its own source, which is whole until then.
    create().overwrite().build(&image, &key(), content()).unwrap();
    assert!(plaintext(&image, &key()) == bytes(8192));
    let volume = Device::open(&image).unwrap().unlock(&key()).unwrap();
    let over = create().overwrite().build(&image, &key(), Content::volume(&volume));
    assert!(matches!(kind(over), ErrorKind::InUse { .. }));
    assert_eq!(scratch.names(), ["image"]);
}

/// A reader without an end, which hardly waits.
struct Endless;

impl Read for Endless {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        thread::sleep(Duration::from_millis(1));
        buf.fill(7);
        Ok(buf.len())
    }
}

#[test]
fn long_work_is_watched_and_ended_by_another_thread() {
    let scratch = Scratch::new("ended");
    let path = scratch.path("disk");
    let (progress, cancel) = (Progress::new(), Cancel::new());
    let limits = Limits::new().progress(&progress).cancel(&cancel).threads(2);
    assert_eq!((progress.done(), progress.total()), (0, None));
    let create = create().limits(limits.clone());
    thread::scope(|scope| {
        let work = scope.spawn(|| kind(create.build(&path, &key(), Content::reader(&mut Endless))));
        while progress.done() < 1 << 20 && !work.is_finished() {
            thread::sleep(Duration::from_millis(1));
        }
        cancel.cancel();
        assert_eq!(work.join().unwrap(), ErrorKind::Cancelled);
    });
    assert!(progress.done() >= 1 << 20 && progress.total().is_none());
    assert_eq!(scratch.names(), [""; 0]);

    // So it is for whatever is started with it later, wiping too.
    let disk = scratch.file("disk", &[9; 20 << 20]);
    assert_eq!(kind(create.clone().overwrite().create(&disk, &key())), ErrorKind::Cancelled);
    assert_eq!(Device::open(&disk).unwrap().probe().unwrap(), Probe::Nothing);

    let limits = Limits::new().progress(&progress);
    let device = create.limits(limits.clone()).overwrite().create(&disk, &key()).unwrap();
    assert!(progress.total().is_some_and(|total| total > 16 << 20 && progress.done() == total));
    let volume = device.unlock(&key()).unwrap();
    let all = bytes(4 << 20);
    assert_eq!(volume.copy_from_with(&mut &all[..], &limits).unwrap(), 4 << 20);
    assert_eq!((progress.done(), progress.total()), (4 << 20, None));
    let mut back = Vec::new();
    volume.copy_to_with(&mut back, &limits).unwrap();
    assert!(back == all && progress.total() == Some(4 << 20));
    cancel.cancel();
    let ended = Limits::new().cancel(&cancel);
    assert_eq!(kind(volume.copy_to_file(scratch.path("raw"), &ended)), ErrorKind::Cancelled);
    assert_eq!(kind(volume.copy_from_with(&mut Endless, &ended)), ErrorKind::Cancelled);
    assert_eq!(scratch.names(), ["disk"]);
}

/// Of a VeraCrypt volume its data area is filled, which is all of it but 256 KiB.
#[test]
fn a_veracrypt_volumes_progress_ends_at_its_total() {
    let scratch = Scratch::new("veracrypt");
    let (progress, key) = (Progress::new(), Key::passphrase("correct horse battery staple"));
    let new = NewVeracrypt::new().pim(1).size(1 << 20).limits(Limits::new().progress(&progress));
    new.create(scratch.path("random.hc"), &key).unwrap();
    assert_eq!((progress.done(), progress.total()), (768 << 10, Some(768 << 10)));
    let mut content = &b"content"[..];
    new.clone().quick().build(scratch.path("built.hc"), &key, Content::reader(&mut content)).unwrap();
    assert_eq!((progress.done(), progress.total()), (768 << 10, Some(768 << 10)));
    new.quick().create(scratch.path("quick.hc"), &key).unwrap();
    assert_eq!((progress.done(), progress.total()), (0, Some(0)));
}
