//! Where a user's sockets and sessions live: directories that nobody else can enter.
//!
//! `$XDG_RUNTIME_DIR` (XDG Base Directory Specification, section 3: owned by the user, mode 0700), else `/run/user/UID`,
//! else `/run` for root and a directory of the user's own in `/tmp` for others.

use crate::failure::{Exit, Failure, Result};
use rustix::process::geteuid;
use std::fs;
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};

/// The directory `name` in the first place that can be used; made when it is not there.
pub(crate) fn directory(name: &str) -> Result<PathBuf> {
    let mut refused = None;
    for base in bases() {
        match private(&base.join(name)) {
            Ok(path) => return Ok(path),
            Err(why) => refused = refused.or(Some((base, why))),
        }
    }
    let (base, why) = refused.unwrap_or_else(|| ("/run".into(), io::ErrorKind::NotFound.into()));
    let message = format!(
        "No directory for private sockets: {} cannot be used: {why}; set XDG_RUNTIME_DIR to a directory of yours.",
        base.display()
    );
    Err(Failure::new(Exit::Device, message))
}

/// Every place where [`directory`] may have put it, whatever the environment was then; only those that are safe.
pub(crate) fn directories(name: &str) -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> = bases().into_iter().map(|base| base.join(name)).collect();
    found.dedup();
    found.retain(|path| check(path).is_ok());
    found
}

/// Makes `path` a directory for this user alone.
pub(crate) fn private(path: &Path) -> io::Result<PathBuf> {
    match fs::DirBuilder::new().mode(0o700).create(path) {
        Err(e) if e.kind() != io::ErrorKind::AlreadyExists => return Err(e),
        _ => {}
    }
    check(path)?;
    Ok(path.to_owned())
}

fn bases() -> Vec<PathBuf> {
    let uid = geteuid().as_raw();
    let named = std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from);
    let named = named.filter(|path| path.is_absolute() && check(path).is_ok());
    let last = PathBuf::from(if uid == 0 { "/run".to_owned() } else { format!("/tmp/keyway-{uid}") });
    let usual = PathBuf::from(format!("/run/user/{uid}"));
    let usual = Some(usual).filter(|path| check(path).is_ok());
    if uid != 0 {
        // Made here, so that what is put into it later finds it.
        let _ = private(&last);
    }
    named.into_iter().chain(usual).chain([last]).collect()
}

/// Refuses what another user owns or may write to; a symbolic link might lead there.
fn check(path: &Path) -> io::Result<()> {
    let found = fs::symlink_metadata(path)?;
    let problem = if !found.is_dir() {
        "it is not a directory"
    } else if found.uid() != geteuid().as_raw() {
        "it belongs to another user"
    } else if found.mode() & 0o022 != 0 {
        "others may write to it"
    } else {
        return Ok(());
    };
    Err(io::Error::other(problem))
}
