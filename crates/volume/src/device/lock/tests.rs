//! Header locks, as cryptsetup would see them.

use super::*;
use crate::device::storage::File;
use std::fs;
use std::io;
use std::ops::Range;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt, symlink};
use std::path::PathBuf;

const SOON: Locking = Locking::Wait(Duration::from_millis(60));

/// A temporary directory, removed on drop.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("keyway-lock-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        fs::create_dir(&path).unwrap();
        Self(path)
    }

    fn path(&self, name: &str) -> String {
        self.0.join(name).to_str().unwrap().to_owned()
    }

    fn file(&self) -> File {
        let path = self.path("header");
        fs::write(&path, b"header").unwrap();
        File::open_rw(&path).unwrap()
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// A file that poses as the block device 259:7.
struct Device(File);

impl Storage for Device {
    fn len(&self) -> u64 {
        self.0.len()
    }

    fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<()> {
        self.0.read_at(buf, offset)
    }

    fn write_at(&self, buf: &[u8], offset: u64) -> io::Result<()> {
        self.0.write_at(buf, offset)
    }

    fn flush(&self) -> io::Result<()> {
        self.0.flush()
    }

    fn discard(&self, range: Range<u64>) -> io::Result<()> {
        self.0.discard(range)
    }

    fn lock_target(&self) -> Option<LockTarget<'_>> {
        Some(LockTarget::BlockDevice { major: 259, minor: 7, fd: self.0.as_file().as_fd(), part: None })
    }
}

/// Whether another process could lock `path` exclusively.
fn is_free(path: &str) -> bool {
    flock(fs::File::open(path).unwrap(), FlockOperation::NonBlockingLockExclusive).is_ok()
}

fn no_lock(result: Result<Option<HeaderLock>>) -> String {
    match result {
        Err(Error::NoLock(why)) => why,
        other => panic!("{other:?}"),
    }
}

#[test]
fn writers_exclude_and_readers_share() {
    let scratch = Scratch::new("file");
    let storage = scratch.file();
    let reader = HeaderLock::acquire(&storage, LockMode::Shared, SOON).unwrap();
    assert!(HeaderLock::acquire(&storage, LockMode::Shared, SOON).unwrap().is_some());
    let started = Instant::now();
    let busy = HeaderLock::acquire(&storage, LockMode::Exclusive, SOON);
    assert!(matches!(busy, Err(Error::Busy(_))));
    assert!(started.elapsed() >= Duration::from_millis(60), "the holder was not waited for");
    assert!(HeaderLock::acquire(&storage, LockMode::Exclusive, Locking::Disabled).unwrap().is_none());
    assert!(!is_free(&scratch.path("header")));
    drop(reader);
    let writer = HeaderLock::acquire(&storage, LockMode::Exclusive, SOON).unwrap();
    assert!(matches!(HeaderLock::acquire(&storage, LockMode::Shared, SOON), Err(Error::Busy(_))));
    drop(writer);
    assert!(is_free(&scratch.path("header")));
    // A regular file's lock needs no lock file: the directory is unchanged.
    assert_eq!(fs::read_dir(&scratch.0).unwrap().count(), 1);
}

#[test]
fn who_waits_long_enough_gets_it() {
    let scratch = Scratch::new("waits");
    let storage = scratch.file();
    let reader = HeaderLock::acquire(&storage, LockMode::Shared, SOON).unwrap();
    std::thread::scope(|scope| {
        const WAITS: Locking = Locking::Wait(Duration::from_secs(60));
        let writer = scope.spawn(|| HeaderLock::acquire(&storage, LockMode::Exclusive, WAITS));
        std::thread::sleep(Duration::from_millis(50));
        drop(reader);
        assert!(writer.join().unwrap().unwrap().is_some());
    });
}

#[test]
fn the_directory_is_made_as_cryptsetup_makes_it() {
    let scratch = Scratch::new("made");
    let (device, directory) = (Device(scratch.file()), scratch.path("cryptsetup"));
    let lock = HeaderLock::acquire_in(&directory, &device, LockMode::Exclusive, SOON).unwrap().unwrap();
    let made = fs::metadata(&directory).unwrap();
    assert_eq!((made.is_dir(), made.mode() & 0o7777), (true, 0o700));
    let resource = format!("{directory}/L_259:7");
    assert!(!is_free(&resource), "cryptsetup would not see the lock");
    assert!(is_free(&scratch.path("header")), "the device itself is not locked");
    let other = HeaderLock::acquire_in(&directory, &device, LockMode::Shared, SOON);
    assert!(matches!(other, Err(Error::Busy(_))));
    drop(lock);
    assert!(!fs::exists(&resource).unwrap(), "the last one takes the file away");

    // Another holder keeps the lock file.
    let readers = [LockMode::Shared; 2]
        .map(|mode| HeaderLock::acquire_in(&directory, &device, mode, SOON).unwrap().unwrap());
    let [first, second] = readers;
    drop(first);
    assert!(fs::exists(&resource).unwrap());
    drop(second);
    assert!(!fs::exists(&resource).unwrap());
}

/// A child that inherited the lock would hold it for as long as it runs.
#[test]
fn locks_stay_in_this_process() {
    let closes = |fd: &OwnedFd| rustix::io::fcntl_getfd(fd).unwrap().contains(rustix::io::FdFlags::CLOEXEC);
    let has = |fd: &OwnedFd, flags| rustix::fs::fcntl_getfl(fd).unwrap().contains(flags);
    let scratch = Scratch::new("closes");
    let (device, directory) = (Device(scratch.file()), scratch.path("cryptsetup"));
    let lock = HeaderLock::acquire_in(&directory, &device, LockMode::Exclusive, SOON).unwrap().unwrap();
    let resource = lock.resource.as_ref().unwrap();
    assert!(closes(&lock.fd) && closes(&resource.directory) && has(&lock.fd, OFlags::RDWR));
    let lock = HeaderLock::acquire(&device.0, LockMode::Exclusive, SOON).unwrap().unwrap();
    assert!(closes(&lock.fd) && has(&lock.fd, OFlags::RDWR | OFlags::NONBLOCK));
    // A file that cannot be written while it runs.
    let program = fs::File::open(std::env::current_exe().unwrap()).unwrap();
    let lock = reopen(program.as_fd()).unwrap();
    assert!(closes(&lock) && has(&lock, OFlags::NONBLOCK) && !has(&lock, OFlags::RDWR));
}

#[test]
fn a_lock_file_is_as_cryptsetup_makes_it_and_no_link() {
    let scratch = Scratch::new("resource");
    let (device, directory) = (Device(scratch.file()), scratch.path("cryptsetup"));
    let lock = HeaderLock::acquire_in(&directory, &device, LockMode::Shared, SOON).unwrap().unwrap();
    let resource = format!("{directory}/L_259:7");
    // The umask applies to both files alike.
    let same = scratch.path("0644");
    fs::OpenOptions::new().write(true).create_new(true).mode(0o644).open(&same).unwrap();
    let mode = |path: &str| fs::metadata(path).unwrap().mode();
    assert_eq!(mode(&resource), mode(&same));
    drop(lock);
    symlink(&same, &resource).unwrap();
    let why = no_lock(HeaderLock::acquire_in(&directory, &device, LockMode::Exclusive, SOON));
    assert!(why.starts_with(&format!("{directory} cannot be used, ")), "{why}");
}

#[test]
fn a_lock_file_that_was_removed_or_replaced_is_no_lock() {
    let scratch = Scratch::new("replaced");
    let (device, directory) = (Device(scratch.file()), scratch.path("cryptsetup"));
    let lock = HeaderLock::acquire_in(&directory, &device, LockMode::Shared, SOON).unwrap().unwrap();
    let resource = format!("{directory}/L_259:7");
    assert!(lock.is_current());
    fs::remove_file(&resource).unwrap();
    assert!(!lock.is_current());
    fs::write(&resource, b"").unwrap();
    assert!(!lock.is_current());
    drop(lock);
    assert!(fs::exists(&resource).unwrap(), "it was another's");
}

#[test]
fn an_edit_is_refused_where_cryptsetup_would_not_see_it() {
    let scratch = Scratch::new("unfit");
    let device = Device(scratch.file());
    let exclusive = |directory: &str| HeaderLock::acquire_in(directory, &device, LockMode::Exclusive, SOON);
    let shared = |directory: &str| HeaderLock::acquire_in(directory, &device, LockMode::Shared, SOON);

    // No parent; a file in its place; a link to a suitable one; one that others may write to.
    fs::write(scratch.path("file"), b"").unwrap();
    fs::create_dir(scratch.path("fit")).unwrap();
    fs::set_permissions(scratch.path("fit"), fs::Permissions::from_mode(0o700)).unwrap();
    symlink(scratch.path("fit"), scratch.path("link")).unwrap();
    for mode in [0o720, 0o702] {
        let open = scratch.path(&format!("{mode:o}"));
        fs::create_dir(&open).unwrap();
        fs::set_permissions(&open, fs::Permissions::from_mode(mode)).unwrap();
    }
    for unfit in ["not/there", "file", "link", "720", "702"] {
        let unfit = scratch.path(unfit);
        let why = no_lock(exclusive(&unfit));
        assert!(why.starts_with(&format!("{unfit} cannot be used, ")), "{why}");
        // Reading still works, with a lock on the device itself.
        let reader = shared(&unfit).unwrap().unwrap();
        assert!(!is_free(&scratch.path("header")));
        drop(reader);
        // --disable-locks.
        let none = HeaderLock::acquire_in(&unfit, &device, LockMode::Exclusive, Locking::Disabled);
        assert!(none.unwrap().is_none());
    }
    assert!(exclusive(&scratch.path("fit")).unwrap().is_some());
}

#[test]
fn a_directory_of_another_user_is_unfit() {
    let scratch = Scratch::new("owner");
    let (device, directory) = (Device(scratch.file()), scratch.path("strange"));
    fs::create_dir(&directory).unwrap();
    if std::os::unix::fs::chown(&directory, Some(12345), None).is_err() {
        return eprintln!("left out: only root gives a directory away");
    }
    let why = no_lock(HeaderLock::acquire_in(&directory, &device, LockMode::Exclusive, SOON));
    assert!(why.contains("users other than root can write to it"), "{why}");
}

/// The previous holder removes the file: who waited for it must not believe to have the lock.
#[test]
fn a_lock_by_name_is_one_programs_at_a_time_and_its_file_goes_with_the_last() {
    let scratch = Scratch::new("name");
    let directory = scratch.path("cryptsetup");
    let file = format!("{directory}/LN_x");
    let inside = std::sync::atomic::AtomicU32::new(0);
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..50 {
                    let lock = HeaderLock::of_name_in(&directory, "LN_x").unwrap();
                    assert_eq!(inside.fetch_add(1, std::sync::atomic::Ordering::SeqCst), 0);
                    std::thread::yield_now();
                    assert!(!is_free(&file));
                    inside.fetch_sub(1, std::sync::atomic::Ordering::SeqCst);
                    drop(lock);
                }
            });
        }
    });
    assert!(!fs::exists(&file).unwrap());
}
