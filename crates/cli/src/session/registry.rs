//! Who is there: `keyway/NAME/` in the runtime directory, one a session.
//!
//! ```text
//! lock      locked (flock) by the session's process: whoever gets the lock knows that it is dead
//! facts     what it is; appears when it is open
//! control   the socket that it listens on
//! ```
//! A session that was killed leaves its directory, and maybe a mount that answers nothing or a block device's number: they
//! go when somebody finds it.

use super::facts::Facts;
use super::{Session, runtime};
use crate::failure::{Exit, Failure, Result};
use keyway_attach::ublk;
use rustix::fs::{FlockOperation, Mode, OFlags, flock, fstat, open, stat};
use rustix::io::Errno;
use rustix::mount::{UnmountFlags, unmount};
use std::fs;
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// What a session is to be called.
#[derive(Debug, Clone)]
pub(crate) enum Name {
    /// So; refused when it is taken.
    Exactly(String),
    /// So, or with a number behind it.
    Like(String),
}

/// The session of this name, when it is alive. What is left of a dead one is cleared away.
pub(crate) fn find(name: &str) -> Option<Session> {
    let fits = |session: &Session| session.facts.name == name;
    list().into_iter().find(fits)
}

/// All sessions of this user that are alive, by name. What is left of dead ones is cleared away.
pub(crate) fn list() -> Vec<Session> {
    let directories = runtime::directories(REGISTRY);
    let entries = directories.iter().filter_map(|path| fs::read_dir(path).ok()).flatten().flatten();
    let mut found: Vec<Session> = entries.filter_map(|entry| look(&entry.path())).collect();
    found.sort_by(|a, b| a.facts.name.cmp(&b.facts.name));
    found
}

/// A name that is taken, for as long as this lives.
pub(crate) struct Claim {
    name: String,
    directory: PathBuf,
    _lock: OwnedFd,
}

impl Claim {
    /// Takes the name, or the first free one like it.
    pub(super) fn take(name: &Name) -> Result<Self> {
        let root = runtime::directory(REGISTRY)?;
        match name {
            Name::Exactly(name) => Self::of(&root, name),
            Name::Like(base) => {
                let base = usable(base);
                let numbered = (2..=MOST_ALIKE).map(|number| format!("{base}-{number}"));
                let mut last = Err(already_there(&base));
                for name in std::iter::once(base.clone()).chain(numbered) {
                    last = Self::of(&root, &name);
                    match &last {
                        Err(failure) if failure.exit() == Exit::Busy => {}
                        _ => break,
                    }
                }
                last
            }
        }
    }

    fn of(root: &Path, name: &str) -> Result<Self> {
        check_name(root, name)?;
        // Another place of the registry may hold the name: whoever opened it had another environment.
        if find(name).is_some() {
            return Err(already_there(name));
        }
        let directory = root.join(name);
        let deadline = Instant::now() + PATIENCE;
        loop {
            runtime::private(&directory).map_err(|e| cannot_use(&directory, &e))?;
            match lock(&directory, FlockOperation::NonBlockingLockExclusive) {
                Ok(Some(lock)) => {
                    clear(&directory);
                    return Ok(Self { name: name.to_owned(), directory, _lock: lock });
                }
                // Its owner, or somebody who looks whether it is alive.
                Ok(None) if Instant::now() < deadline => thread::sleep(POLL),
                Ok(None) => return Err(already_there(name)),
                Err(e) if e.kind() == io::ErrorKind::NotFound => {}
                Err(e) => return Err(cannot_use(&directory, &e)),
            }
        }
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    pub(super) fn directory(&self) -> &Path {
        &self.directory
    }

    /// Lets others see it.
    pub(super) fn publish(&self, facts: &Facts) -> Result<()> {
        let (draft, place) = (self.directory.join("facts.new"), self.directory.join(FACTS));
        let written = fs::write(&draft, facts.to_text()).and_then(|()| fs::rename(&draft, place));
        written.map_err(|e| cannot_use(&self.directory, &e))
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        // The lock is still held: nobody else can be using the directory.
        clear(&self.directory);
        remove(&self.directory);
    }
}

/// The session in this directory if it is alive and open; a dead one is cleared away.
fn look(directory: &Path) -> Option<Session> {
    match lock(directory, FlockOperation::NonBlockingLockShared) {
        Ok(None) => {
            let facts = fs::read_to_string(directory.join(FACTS)).ok()?;
            Some(Session { directory: directory.to_owned(), facts: Facts::from_text(&facts) })
        }
        Ok(Some(shared)) => {
            drop(shared);
            if let Ok(Some(_alone)) = lock(directory, FlockOperation::NonBlockingLockExclusive) {
                clear(directory);
                remove(directory);
            }
            None
        }
        Err(_) => None,
    }
}

/// The lock of a session's directory; `None` while somebody else holds it, not found when the directory went meanwhile.
fn lock(directory: &Path, operation: FlockOperation) -> io::Result<Option<OwnedFd>> {
    let path = directory.join(LOCK);
    let flags = OFlags::CREATE | OFlags::RDWR | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let file = open(&path, flags, Mode::RUSR | Mode::WUSR)?;
    match flock(&file, operation) {
        Ok(()) => {}
        Err(Errno::WOULDBLOCK) => return Ok(None),
        Err(e) => return Err(e.into()),
    }
    let (ours, named) = (fstat(&file)?, stat(&path)?);
    if (ours.st_dev, ours.st_ino) == (named.st_dev, named.st_ino) {
        Ok(Some(file))
    } else {
        Err(io::ErrorKind::NotFound.into())
    }
}

/// Removes what a dead session left, but for the lock that the caller holds.
fn clear(directory: &Path) {
    if let Ok(facts) = fs::read_to_string(directory.join(FACTS)) {
        let facts = Facts::from_text(&facts);
        unmount_dead(&facts);
        if facts.door == "ublk" {
            // Without the right to it, it stays: a number and no more.
            let _ = ublk::remove_dead(Path::new(&facts.place));
        }
    }
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        if entry.file_name() != LOCK {
            // Never into a directory: something may be mounted there still.
            let _ = fs::remove_file(entry.path()).or_else(|_| fs::remove_dir(entry.path()));
        }
    }
}

/// Removes a directory that holds nothing but its lock.
fn remove(directory: &Path) {
    let _ = fs::remove_file(directory.join(LOCK));
    let _ = fs::remove_dir(directory);
}

/// Takes away a FUSE mount whose process is gone ("Transport endpoint is not connected"; "Software caused connection abort" for who asks
/// at the moment of its death), and no other.
fn unmount_dead(facts: &Facts) {
    let file = Path::new(&facts.place);
    let Some(mount) = file.parent().filter(|_| facts.door == "fuse") else { return };
    // What stat says may still be from before its death.
    let dead = [Errno::NOTCONN, Errno::CONNABORTED].map(|errno| Some(errno.raw_os_error()));
    let is_dead = fs::read_dir(mount).is_err_and(|error| dead.contains(&error.raw_os_error()));
    if is_dead && unmount(mount, UnmountFlags::DETACH).is_err() {
        let mut helper = Command::new("fusermount3");
        let helper = helper.arg("-uz").arg("--").arg(mount).stdin(Stdio::null());
        let _ = helper.stdout(Stdio::null()).stderr(Stdio::null()).status();
    }
}

/// Refuses what cannot be a directory's name, and what would make a socket's address too long.
fn check_name(root: &Path, name: &str) -> Result<()> {
    let refuse = |why: String| Err(Failure::new(Exit::Parameters, format!("Name \"{name}\" {why}.")));
    if name.is_empty() || name.starts_with('.') {
        return refuse("cannot be used: it is empty or starts with a dot".into());
    }
    if name.chars().any(|c| c == '/' || c.is_control()) {
        return refuse("cannot be used: it has a slash or a control character".into());
    }
    let address = root.join(name).join("control").as_os_str().len();
    if address > LONGEST_ADDRESS {
        return refuse(format!("is {} bytes too long for a socket's address", address - LONGEST_ADDRESS));
    }
    Ok(())
}

/// Something like `base` that can be a name.
fn usable(base: &str) -> String {
    let plain = |c: char| if c == '/' || c.is_control() { '_' } else { c };
    let name: String = base.trim_start_matches('.').chars().map(plain).take(64).collect();
    if name.is_empty() { "volume".into() } else { name }
}

/// cryptsetup's words.
fn already_there(name: &str) -> Failure {
    Failure::new(Exit::Busy, format!("Device {name} already exists."))
}

fn cannot_use(directory: &Path, why: &io::Error) -> Failure {
    Failure::new(Exit::Device, format!("Cannot use {}: {why}.", directory.display()))
}

/// The registry's name in a runtime directory.
const REGISTRY: &str = "keyway";
const FACTS: &str = "facts";
const LOCK: &str = "lock";

/// Whoever looks at a session holds its lock for a moment only.
const PATIENCE: Duration = Duration::from_millis(300);
const POLL: Duration = Duration::from_millis(10);

/// So many numbers are tried behind a name.
const MOST_ALIKE: usize = 999;

/// `sun_path` holds 108 bytes, the last of them zero (unix(7)).
const LONGEST_ADDRESS: usize = 107;
