//! Where a user's sockets and sessions live: directories that no other user can change.
//!
//! `$XDG_RUNTIME_DIR` (XDG Base Directory Specification, section 3: owned by the user, mode 0700),
//! else `/run/user/UID`, else `/run` for root and a directory of the user's own in `/tmp` for other
//! users. If another user could change the directory itself or one on the way to it, the place is
//! passed over with a line that says why. If no place is left, nothing is opened.

use crate::say::failure::{Exit, Failure, Result};
use keyway_attach::Error;
use keyway_attach::local::Directory;
use rustix::process::geteuid;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// The directory `name` in the first place that can be used; created if it does not exist.
pub(crate) fn directory(name: &str) -> Result<Directory> {
    let mut refused = Vec::new();
    for base in bases() {
        match base.enter_or_make(name) {
            Ok(directory) => {
                refused.iter().for_each(say_once);
                return Ok(directory);
            }
            // A place that does not exist is only worth a message if the environment named it.
            Err(Error::NotFound(_)) if base.kind != Kind::Named => {}
            Err(why) => refused.push(why),
        }
    }
    let reasons: Vec<String> = refused.iter().map(Error::to_string).collect();
    let message = format!(
        "No directory for private sockets: {}; set XDG_RUNTIME_DIR to a directory of yours.",
        if reasons.is_empty() { "there is none".into() } else { reasons.join("; ") }
    );
    Err(Failure::new(Exit::Device, message))
}

/// Every place where [`directory`] may have created it, whatever the environment was then; only
/// those that are safe.
pub(crate) fn directories(name: &str) -> Vec<Directory> {
    let mut found: Vec<Directory> = Vec::new();
    for base in bases() {
        match base.enter(name) {
            Ok(directory) if found.iter().all(|known| known.path() != directory.path()) => {
                found.push(directory);
            }
            Ok(_) | Err(Error::NotFound(_)) => {}
            Err(why) => say_once(&why),
        }
    }
    found
}

/// Whether `path` is below a place where [`directory`] may have created `name`, safe or not.
pub(crate) fn is_inside(name: &str, path: &Path) -> bool {
    bases().iter().any(|base| path.starts_with(base.path.join(name)))
}

/// A place where this user's directories can be created.
struct Base {
    path: PathBuf,
    kind: Kind,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// Named by the environment.
    Named,
    /// Created by the system for this user.
    Usual,
    /// Created by the system for everybody with write access; what is in it is this user's.
    Shared,
    /// Created by this program.
    Last,
}

impl Base {
    fn enter_or_make(&self, name: &str) -> keyway_attach::Result<Directory> {
        match self.kind {
            Kind::Named | Kind::Usual => Directory::open(&self.path)?.enter_or_make(name),
            Kind::Shared => Directory::open_or_make(&self.path.join(name)),
            Kind::Last => Directory::open_or_make(&self.path)?.enter_or_make(name),
        }
    }

    fn enter(&self, name: &str) -> keyway_attach::Result<Directory> {
        match self.kind {
            Kind::Shared => Directory::open(&self.path.join(name)),
            _ => Directory::open(&self.path)?.enter(name),
        }
    }
}

fn bases() -> Vec<Base> {
    let uid = geteuid().as_raw();
    let named = std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from).filter(|path| path.is_absolute());
    let named = named.map(|path| Base { path, kind: Kind::Named });
    let usual = Base { path: format!("/run/user/{uid}").into(), kind: Kind::Usual };
    let last = match uid {
        0 => Base { path: "/run".into(), kind: Kind::Shared },
        _ => Base { path: format!("/tmp/keyway-{uid}").into(), kind: Kind::Last },
    };
    named.into_iter().chain([usual, last]).collect()
}

/// Says why a place is passed over, once.
fn say_once(why: &Error) {
    static SAID: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());
    let why = why.to_string();
    // The process that started this one has already said so.
    if super::is_background() {
        return;
    }
    if SAID.lock().unwrap_or_else(PoisonError::into_inner).insert(why.clone()) {
        say!("A directory for private sockets is passed over: {}.", why.escape_debug());
    }
}
