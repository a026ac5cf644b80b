//! Where a user's sockets and sessions live: directories that no other user can change.
//!
//! `$XDG_RUNTIME_DIR` (XDG Base Directory Specification, section 3: owned by the user, mode 0700),
//! else `/run/user/UID`, else `/run` for root and a directory of the user's own in `/tmp` for other
//! users. If another user could change the directory itself or one on the way to it, the place is
//! passed over, and the caller told why. If no place is left, nothing is opened.

use super::error::{Error, Result};
use crate::local::Directory;
use rustix::process::geteuid;
use std::path::{Path, PathBuf};

/// The places for a user's sockets and sessions.
#[derive(Debug, Clone, Copy)]
pub struct Runtime {
    passed_over: fn(&crate::Error),
}

impl Runtime {
    /// `passed_over` is called with the reason for each place that is not safe, each time that it
    /// is met.
    pub fn new(passed_over: fn(&crate::Error)) -> Self {
        Self { passed_over }
    }

    /// The directory `name` in the first place that can be used; created if it does not exist.
    ///
    /// # Errors
    /// [`Error::NoPlace`]
    pub fn directory(&self, name: &str) -> Result<Directory> {
        let mut refused = Vec::new();
        for base in bases() {
            match base.enter_or_make(name) {
                Ok(directory) => {
                    refused.iter().for_each(self.passed_over);
                    return Ok(directory);
                }
                // A place that does not exist is only worth a message if the environment named it.
                Err(crate::Error::NotFound(_)) if base.kind != Kind::Named => {}
                Err(why) => refused.push(why),
            }
        }
        Err(Error::NoPlace(refused))
    }

    /// Every place where [`Runtime::directory`] may have created it, whatever the environment was
    /// then; only those that are safe.
    pub fn directories(&self, name: &str) -> Vec<Directory> {
        let mut found: Vec<Directory> = Vec::new();
        for base in bases() {
            match base.enter(name) {
                Ok(directory) if found.iter().all(|known| known.path() != directory.path()) => {
                    found.push(directory);
                }
                Ok(_) | Err(crate::Error::NotFound(_)) => {}
                Err(why) => (self.passed_over)(&why),
            }
        }
        found
    }
}

/// Whether `path` is below a place where [`Runtime::directory`] may have created `name`, safe or not.
pub(super) fn is_inside(name: &str, path: &Path) -> bool {
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
    fn enter_or_make(&self, name: &str) -> crate::Result<Directory> {
        match self.kind {
            Kind::Named | Kind::Usual => Directory::open(&self.path)?.enter_or_make(name),
            Kind::Shared => Directory::open_or_make(&self.path.join(name)),
            Kind::Last => Directory::open_or_make(&self.path)?.enter_or_make(name),
        }
    }

    fn enter(&self, name: &str) -> crate::Result<Directory> {
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
