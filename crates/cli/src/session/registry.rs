//! The registry of sessions: `keyway/NAME/` in the runtime directory, one per session.
//!
//! ```text
//! lock      locked (flock) by the session's process: whoever gets the lock knows that it is dead
//! facts     what it is; appears when it is open
//! control   the socket that it listens on
//! ```
//! A session that was killed leaves its directory behind, and maybe a mount that no longer answers
//! or the number of a block device. They are removed when another process finds them.

use super::facts::Facts;
use super::{Session, directory};
use crate::device;
use crate::say::failure::{Exit, Failure, Result};
use crate::say::sentence;
use keyway_attach::local::Directory;
use keyway_attach::{fuse, ublk};
use rustix::fs::{FlockOperation, OFlags, flock};
use rustix::io::Errno;
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

/// The name that a session should get.
#[derive(Debug, Clone)]
pub(crate) enum Name {
    /// This name; refused if it is taken.
    Exactly(String),
    /// This name, or if it is taken, this name followed by a number.
    Like(String),
}

/// The running session of this name, or mounted at this path. What a dead session left is removed.
pub(crate) fn find(name: &str) -> Option<Session> {
    let mut sessions = list();
    // No name contains a slash. Otherwise a name takes precedence over a path.
    let named = sessions.iter().position(|session| session.facts.name == name);
    let at = named.or_else(|| {
        let place = fs::canonicalize(name).ok()?;
        sessions.iter().position(|session| session.is_at(&place))
    })?;
    Some(sessions.swap_remove(at))
}

/// The session that has this volume or device open, through any kind of door.
pub(crate) fn using(device: &Path) -> Option<Session> {
    list().into_iter().find(|session| device::is_same(Path::new(&session.facts.device), device))
}

/// All running sessions of this user, by name. What dead ones left is removed.
pub(crate) fn list() -> Vec<Session> {
    let mut found = Vec::new();
    for root in directory::directories(REGISTRY) {
        let names = root.names().unwrap_or_default();
        found.extend(names.iter().filter_map(|name| look(&root, name)));
    }
    found.sort_by(|a, b| a.facts.name.cmp(&b.facts.name));
    found
}

/// Checks that there is a place for sessions of this user; says which places were passed over, and
/// why.
pub(super) fn check_place() -> Result<()> {
    directory::directory(REGISTRY).map(drop)
}

/// Whether a socket's path belongs to a session of this user, or looks like it.
pub(crate) fn is_inside(path: &Path) -> bool {
    directory::is_inside(REGISTRY, path)
}

/// A name that is taken, while this value exists.
pub(crate) struct Claim {
    name: String,
    root: Directory,
    directory: Directory,
    _lock: File,
}

impl Claim {
    /// Takes the name, or the first free one derived from it.
    pub(super) fn take(name: &Name) -> Result<Self> {
        let root = || directory::directory(REGISTRY);
        match name {
            Name::Exactly(name) => Self::of(root()?, name),
            Name::Like(base) => {
                let base = usable(base);
                let numbered = (2..=MOST_ALIKE).map(|number| format!("{base}-{number}"));
                let mut last = Err(already_there(&base));
                for name in std::iter::once(base.clone()).chain(numbered) {
                    last = Self::of(root()?, &name);
                    match &last {
                        Err(failure) if failure.exit() == Exit::Busy => {}
                        _ => break,
                    }
                }
                last
            }
        }
    }

    fn of(root: Directory, name: &str) -> Result<Self> {
        check_name(root.path(), name)?;
        // The name may be registered in another place, if the session was opened with another
        // environment.
        if find(name).is_some() {
            return Err(already_there(name));
        }
        let deadline = Instant::now() + PATIENCE;
        loop {
            let directory = root.enter_or_make(name).map_err(|e| sentence::door(&e))?;
            match lock(&directory, FlockOperation::NonBlockingLockExclusive) {
                Ok(Some(lock)) => {
                    clear(&directory);
                    return Ok(Self { name: name.to_owned(), root, directory, _lock: lock });
                }
                // The lock is held by its owner, or by a process that checks whether the session is
                // alive.
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

    pub(super) fn directory(&self) -> &Directory {
        &self.directory
    }

    /// Makes the session visible to other processes.
    pub(super) fn publish(&self, facts: &Facts) -> Result<()> {
        self.directory.replace(FACTS, &facts.to_text()).map_err(|e| cannot_use(&self.directory, &e))
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        // The lock is still held: no other process can be using the directory.
        clear(&self.directory);
        remove(&self.root, &self.directory, OsStr::new(&self.name));
    }
}

/// The session in this directory if it is alive and open; a dead one is removed.
fn look(root: &Directory, name: &OsStr) -> Option<Session> {
    let directory = root.enter(name).ok()?;
    match lock(&directory, FlockOperation::NonBlockingLockShared) {
        Ok(None) => {
            let facts = Box::new(Facts::from_text(&directory.read(FACTS).ok()?));
            Some(Session { directory, facts })
        }
        Ok(Some(shared)) => {
            drop(shared);
            if let Ok(Some(_alone)) = lock(&directory, FlockOperation::NonBlockingLockExclusive) {
                clear(&directory);
                remove(root, &directory, name);
            }
            None
        }
        Err(_) => None,
    }
}

/// The lock of a session's directory. `None` while another process holds it; "not found" if the
/// directory was removed in the meantime.
fn lock(directory: &Directory, operation: FlockOperation) -> io::Result<Option<File>> {
    let file = directory.file(LOCK, OFlags::CREATE | OFlags::RDWR)?;
    match flock(&file, operation) {
        Ok(()) => {}
        Err(Errno::WOULDBLOCK) => return Ok(None),
        Err(e) => return Err(e.into()),
    }
    if directory.is_named(&file, LOCK)? { Ok(Some(file)) } else { Err(io::ErrorKind::NotFound.into()) }
}

/// Removes what a dead session left, except the lock, which the caller holds.
fn clear(directory: &Directory) {
    if let Ok(facts) = directory.read(FACTS) {
        let facts = Facts::from_text(&facts);
        // Errors are ignored, since there is nobody to report them to; a user who mounts there gets
        // them.
        match (facts.door.as_str(), Path::new(&facts.place).parent()) {
            ("fuse", Some(mount)) => drop(fuse::clear_dead(mount, facts.mount)),
            // If this user may not remove the device, it stays; that only takes up a device number.
            ("ublk", _) => drop(ublk::remove_dead(Path::new(&facts.place))),
            _ => {}
        }
    }
    let rest = directory.names().unwrap_or_default().into_iter().filter(|name| name != LOCK && name != FACTS);
    // Never descends into a directory: something may still be mounted there, and the facts say
    // what.
    let kept = rest.filter(|name| directory.remove(name).is_err()).count();
    if kept == 0 {
        let _ = directory.remove(FACTS);
    }
}

/// Removes a directory that holds only its lock.
fn remove(root: &Directory, directory: &Directory, name: &OsStr) {
    let _ = directory.remove(LOCK);
    let _ = root.remove(name);
}

/// Refuses what cannot be a directory name, and what would make a socket's address too long.
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

/// A valid name derived from `base`.
fn usable(base: &str) -> String {
    let plain = |c: char| if c == '/' || c.is_control() { '_' } else { c };
    let name: String = base.trim_start_matches('.').chars().map(plain).take(64).collect();
    if name.is_empty() { "volume".into() } else { name }
}

/// cryptsetup's message.
fn already_there(name: &str) -> Failure {
    Failure::new(Exit::Busy, format!("Device {name} already exists."))
}

fn cannot_use(directory: &Directory, why: &io::Error) -> Failure {
    Failure::new(Exit::Device, format!("Cannot use {}: {why}.", directory.path().display()))
}

/// The registry's directory name in a runtime directory.
const REGISTRY: &str = "keyway";
const FACTS: &str = "facts";
const LOCK: &str = "lock";

/// A process that checks a session holds its lock only for a moment.
const PATIENCE: Duration = Duration::from_millis(300);
const POLL: Duration = Duration::from_millis(10);

/// How many numbers are tried after a name.
const MOST_ALIKE: usize = 999;

/// `sun_path` holds 108 bytes, the last of them zero (unix(7)).
const LONGEST_ADDRESS: usize = 107;
