//! The registry of sessions: `keyway/NAME/` in the runtime directory, one per session.
//!
//! ```text
//! lock      locked (flock) by the session's process: whoever gets the lock knows that it is dead
//! facts     what it is; appears when it is open
//! control   the socket that it listens on
//! ```
//! A session that was killed leaves its directory behind, and maybe a mount that no longer answers
//! or the number of a block device. They are removed when another process finds them.

use super::Session;
use super::error::{Error, NameFault, Result};
use super::facts::Facts;
use super::runtime::{self, Runtime};
use crate::local::Directory;
use crate::{fuse, ublk};
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
pub enum Name {
    /// This name; refused if it is taken.
    Exactly(String),
    /// This name, or if it is taken, this name followed by a number.
    Like(String),
}

/// The sessions of this user.
#[derive(Debug, Clone, Copy)]
pub struct Registry {
    runtime: Runtime,
}

impl Registry {
    /// The registry in these places.
    pub fn new(runtime: Runtime) -> Self {
        Self { runtime }
    }

    /// The running session of this name, or mounted at this path. What a dead session left is
    /// removed.
    pub fn find(&self, name: &str) -> Option<Session> {
        let mut sessions = self.list();
        // No name contains a slash. Otherwise a name takes precedence over a path.
        let named = sessions.iter().position(|session| session.facts.name == name);
        let at = named.or_else(|| {
            let place = fs::canonicalize(name).ok()?;
            sessions.iter().position(|session| session.is_at(&place))
        })?;
        Some(sessions.swap_remove(at))
    }

    /// All running sessions, by name. What dead ones left is removed.
    pub fn list(&self) -> Vec<Session> {
        let mut found = Vec::new();
        for root in self.runtime.directories(REGISTRY) {
            let names = root.names().unwrap_or_default();
            found.extend(names.iter().filter_map(|name| look(&root, name)));
        }
        found.sort_by(|a, b| a.facts.name.cmp(&b.facts.name));
        found
    }

    /// Checks that there is a place for sessions of this user.
    ///
    /// # Errors
    /// [`Error::NoPlace`]
    pub fn check_place(&self) -> Result<()> {
        self.root().map(drop)
    }

    /// Takes the name, or the first free one derived from it.
    ///
    /// # Errors
    /// [`Error::Taken`], [`Error::Name`], [`Error::NoPlace`].
    pub fn claim(&self, name: &Name) -> Result<Claim> {
        match name {
            Name::Exactly(name) => self.claim_exactly(name),
            Name::Like(base) => {
                let base = usable(base);
                let numbered = (2..=MOST_ALIKE).map(|number| format!("{base}-{number}"));
                let mut last = Err(Error::Taken(base.clone()));
                for name in std::iter::once(base.clone()).chain(numbered) {
                    last = self.claim_exactly(&name);
                    match &last {
                        Err(error) if error.is_busy() => {}
                        _ => break,
                    }
                }
                last
            }
        }
    }

    fn claim_exactly(&self, name: &str) -> Result<Claim> {
        let root = self.root()?;
        check_name(root.path(), name)?;
        // The name may be registered in another place, if the session was opened with another
        // environment.
        if self.find(name).is_some() {
            return Err(Error::Taken(name.to_owned()));
        }
        Claim::of(root, name)
    }

    fn root(&self) -> Result<Directory> {
        self.runtime.directory(REGISTRY)
    }
}

/// Whether a socket's path belongs to a session of this user, or looks like it.
pub fn is_inside(path: &Path) -> bool {
    runtime::is_inside(REGISTRY, path)
}

/// A name that is taken, while this value exists.
pub struct Claim {
    name: String,
    root: Directory,
    directory: Directory,
    _lock: File,
}

impl Claim {
    fn of(root: Directory, name: &str) -> Result<Self> {
        let deadline = Instant::now() + TIMEOUT;
        loop {
            let directory = root.enter_or_make(name)?;
            match lock(&directory, FlockOperation::NonBlockingLockExclusive) {
                Ok(Some(lock)) => {
                    clear(&directory);
                    return Ok(Self { name: name.to_owned(), root, directory, _lock: lock });
                }
                // The lock is held by its owner, or by a process that checks whether the session is
                // alive.
                Ok(None) if Instant::now() < deadline => thread::sleep(POLL),
                Ok(None) => return Err(Error::Taken(name.to_owned())),
                Err(e) if e.kind() == io::ErrorKind::NotFound => {}
                Err(e) => return Err(cannot_use(&directory, e)),
            }
        }
    }

    /// The name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The session's directory.
    pub fn directory(&self) -> &Directory {
        &self.directory
    }

    /// Makes the session visible to other processes.
    ///
    /// # Errors
    /// [`Error::Directory`]
    pub fn publish(&self, facts: &Facts) -> Result<()> {
        self.directory.replace(FACTS, &facts.to_text()).map_err(|e| cannot_use(&self.directory, e))
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
        match (facts.backend.as_str(), Path::new(&facts.place).parent()) {
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
    let refuse = |fault| Err(Error::Name { name: name.to_owned(), fault });
    if name.is_empty() || name.starts_with('.') {
        return refuse(NameFault::Hidden);
    }
    if name.chars().any(|c| c == '/' || c.is_control()) {
        return refuse(NameFault::Characters);
    }
    let address = root.join(name).join("control").as_os_str().len();
    if address > LONGEST_ADDRESS {
        return refuse(NameFault::Length(address - LONGEST_ADDRESS));
    }
    Ok(())
}

/// A valid name derived from `base`.
fn usable(base: &str) -> String {
    let plain = |c: char| if c == '/' || c.is_control() { '_' } else { c };
    let name: String = base.trim_start_matches('.').chars().map(plain).take(64).collect();
    if name.is_empty() { "volume".into() } else { name }
}

fn cannot_use(directory: &Directory, source: io::Error) -> Error {
    Error::Directory { path: directory.path().to_owned(), source }
}

/// The registry's directory name in a runtime directory.
const REGISTRY: &str = "keyway";
const FACTS: &str = "facts";
const LOCK: &str = "lock";

/// A process that checks a session holds its lock only for a moment.
const TIMEOUT: Duration = Duration::from_millis(300);
const POLL: Duration = Duration::from_millis(10);

/// How many numbers are tried after a name.
const MOST_ALIKE: usize = 999;

/// `sun_path` holds 108 bytes, the last of them zero (unix(7)).
const LONGEST_ADDRESS: usize = 107;
