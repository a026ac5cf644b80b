//! A directory of this user's that nobody else can change.
//!
//! Everything on the way to it is looked at, from the root on: who owns a directory or may
//! write to it can put another in the place of what is below. The way is walked, and work done,
//! by descriptors: what was looked at is what is used, whatever the path means by then.
//! Symbolic links are not followed, wherever they lead.

use crate::{Error, Result};
use rustix::fs::{AtFlags, CWD, Dir, FileType, Mode, OFlags, Stat};
use rustix::fs::{fstat, mkdirat, openat, renameat, statat, unlinkat};
use rustix::io::Errno;
use rustix::process::geteuid;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};

/// A directory that belongs to this user, and that nobody else can write to, replace or move.
#[derive(Debug)]
pub struct Directory {
    fd: OwnedFd,
    path: PathBuf,
}

impl Directory {
    /// The directory at `path`, which starts at the root.
    ///
    /// # Errors
    /// [`Error::NotFound`] when there is none, [`Error::Refused`] when somebody else could change
    /// it: the text names the part of the path, and why.
    pub fn open(path: &Path) -> Result<Self> {
        Self::walk(path)?.judged(Role::Own)
    }

    /// As [`Directory::open`]; its last part is made, for this user alone, when it is not there.
    ///
    /// # Errors
    /// Those of [`Directory::open`], and what the system says.
    pub fn open_or_make(path: &Path) -> Result<Self> {
        let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else { return Self::open(path) };
        Self::walk(parent)?.enter_or_make(name)
    }

    /// The directory `name` in this one.
    ///
    /// # Errors
    /// Those of [`Directory::open`].
    pub fn enter(&self, name: impl AsRef<OsStr>) -> Result<Self> {
        self.step(name.as_ref())?.judged(Role::Own)
    }

    /// As [`Directory::enter`]; made, for this user alone, when it is not there.
    ///
    /// # Errors
    /// Those of [`Directory::open_or_make`].
    pub fn enter_or_make(&self, name: impl AsRef<OsStr>) -> Result<Self> {
        match mkdirat(&self.fd, name.as_ref(), Mode::RWXU) {
            Ok(()) | Err(Errno::EXIST) => self.enter(name),
            Err(e) => Err(failed("making", &self.path.join(name.as_ref()), e)),
        }
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What is in it.
    ///
    /// # Errors
    /// The system's.
    pub fn names(&self) -> io::Result<Vec<OsString>> {
        let mut names = Vec::new();
        // The descriptor is a place, which cannot be read from.
        for entry in Dir::new(openat(&self.fd, c".", TO_LIST, Mode::empty())?)? {
            let name = OsStr::from_bytes(entry?.file_name().to_bytes()).to_owned();
            if name != "." && name != ".." {
                names.push(name);
            }
        }
        Ok(names)
    }

    /// Opens the regular file `name`; with [`OFlags::CREATE`] for this user alone.
    ///
    /// # Errors
    /// The system's; [`io::ErrorKind::InvalidInput`] for anything but a regular file.
    pub fn file(&self, name: &str, flags: OFlags) -> io::Result<File> {
        let file = openat(&self.fd, name, flags.union(ANY_FILE), OWNER_ONLY)?;
        match kind(&fstat(&file)?) {
            FileType::RegularFile => Ok(file.into()),
            _ => Err(io::ErrorKind::InvalidInput.into()),
        }
    }

    /// Whether `file` is what has this `name` here now.
    ///
    /// # Errors
    /// The system's.
    pub fn is_named(&self, file: &File, name: &str) -> io::Result<bool> {
        let (ours, named) = (fstat(file)?, statat(&self.fd, name, AtFlags::SYMLINK_NOFOLLOW)?);
        Ok((ours.st_dev, ours.st_ino) == (named.st_dev, named.st_ino))
    }

    /// The text in the file `name`.
    ///
    /// # Errors
    /// As for [`Directory::file`]; text longer than any of ours is refused.
    pub fn read(&self, name: &str) -> io::Result<String> {
        let mut text = String::new();
        let read = self.file(name, OFlags::RDONLY)?.take(LONGEST_TEXT + 1).read_to_string(&mut text)?;
        if read as u64 > LONGEST_TEXT { Err(io::ErrorKind::InvalidData.into()) } else { Ok(text) }
    }

    /// Puts `text` into the file `name`, whole or not at all.
    ///
    /// # Errors
    /// The system's.
    pub fn replace(&self, name: &str, text: &str) -> io::Result<()> {
        let draft = format!("{name}.new");
        self.remove(&draft)?;
        self.file(&draft, NEW)?.write_all(text.as_bytes())?;
        Ok(renameat(&self.fd, &draft, &self.fd, name)?)
    }

    /// Removes the file, socket or empty directory `name`, if it is there.
    ///
    /// # Errors
    /// The system's: something is in it, or mounted on it.
    pub fn remove(&self, name: impl AsRef<OsStr>) -> io::Result<()> {
        let name = name.as_ref();
        let removed = match unlinkat(&self.fd, name, AtFlags::empty()) {
            Err(Errno::ISDIR) => unlinkat(&self.fd, name, AtFlags::REMOVEDIR),
            removed => removed,
        };
        match removed {
            Ok(()) | Err(Errno::NOENT) => Ok(()),
            Err(e) => Err(e.into()),
        }
    }

    /// A path of `name` here that means this very directory, and is
    /// short enough for a socket's address.
    pub(super) fn through(&self, name: &str) -> PathBuf {
        format!("/proc/self/fd/{}/{name}", self.fd.as_raw_fd()).into()
    }

    /// The way to `path`; the directory itself is not judged as this user's own.
    fn walk(path: &Path) -> Result<Self> {
        let root = Self { fd: place(CWD, "/", Path::new("/"))?, path: "/".into() };
        if !path.has_root() {
            return Err(Error::Refused(format!("{} does not start at the root", path.display())));
        }
        path.components()
            .try_fold(root, |at, part| match part {
                Component::Normal(name) => at.judged(Role::OnTheWay)?.step(name),
                Component::ParentDir => Err(Error::Refused(format!("{} has \"..\" in it", path.display()))),
                _ => Ok(at),
            })
            .and_then(|at| at.judged(Role::OnTheWay))
    }

    fn step(&self, name: &OsStr) -> Result<Self> {
        let path = self.path.join(name);
        Ok(Self { fd: place(&self.fd, name, &path)?, path })
    }

    fn judged(self, role: Role) -> Result<Self> {
        let stat = fstat(&self.fd).map_err(|e| failed("looking at", &self.path, e))?;
        let root = statat(CWD, "/", AtFlags::empty()).map_err(|e| failed("looking at", Path::new("/"), e))?;
        // Who owns the root directory can replace everything: in a
        // container that need not be its user 0.
        let trusted = [geteuid().as_raw(), 0, root.st_uid];
        match problem(kind(&stat), stat.st_mode, stat.st_uid, role, trusted) {
            None => Ok(self),
            Some(problem) => Err(Error::Refused(format!("{} {problem}", self.path.display()))),
        }
    }
}

/// A descriptor that stands for what is there, a symbolic link itself too.
fn place(at: impl std::os::fd::AsFd, name: impl AsRef<OsStr>, path: &Path) -> Result<OwnedFd> {
    openat(at, name.as_ref(), PLACE, Mode::empty()).map_err(|e| failed("opening", path, e))
}

/// What a directory is to us.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Role {
    /// It leads to ours. In a sticky one only owners move and remove
    /// what is theirs (unlink(2), EPERM).
    OnTheWay,
    /// It is this user's.
    Own,
}

/// What is wrong with a directory. `trusted` are this user, root, and who owns the root directory.
fn problem(kind: FileType, mode: u32, owner: u32, role: Role, trusted: [u32; 3]) -> Option<String> {
    let sticky = role == Role::OnTheWay && mode & STICKY != 0;
    let owners = if role == Role::Own { &trusted[..1] } else { &trusted[..] };
    if kind == FileType::Symlink {
        Some("is a symbolic link".into())
    } else if kind != FileType::Directory {
        Some("is not a directory".into())
    } else if !owners.contains(&owner) {
        Some(format!("belongs to another user ({owner})"))
    } else if mode & WRITABLE_BY_OTHERS != 0 && !sticky {
        Some(format!("can be written to by others (mode {:04o})", mode & 0o7777))
    } else {
        None
    }
}

fn kind(stat: &Stat) -> FileType {
    FileType::from_raw_mode(stat.st_mode)
}

fn failed(what: &str, path: &Path, errno: Errno) -> Error {
    match errno {
        Errno::NOENT => Error::NotFound(format!("{} does not exist", path.display())),
        // What is not a directory cannot be passed through.
        Errno::NOTDIR => Error::Refused(format!("{} is below what is not a directory", path.display())),
        _ => Error::Io { what: format!("{what} {}", path.display()), source: errno.into() },
    }
}

/// Its group and everybody else; an access list's mask stands in the group's place (acl(5)).
const WRITABLE_BY_OTHERS: u32 = 0o022;
const STICKY: u32 = 0o1000;

/// A place is known, not opened; a directory's names are read, and files opened
/// without waiting at a pipe that nobody writes to.
const PLACE: OFlags = OFlags::PATH.union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);
const TO_LIST: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);
const ANY_FILE: OFlags = OFlags::NOFOLLOW.union(OFlags::NONBLOCK).union(OFlags::CLOEXEC);
const NEW: OFlags = OFlags::CREATE.union(OFlags::EXCL).union(OFlags::WRONLY);
const OWNER_ONLY: Mode = Mode::RUSR.union(Mode::WUSR);

/// More than any text that is kept here, in bytes.
const LONGEST_TEXT: u64 = 1 << 16;

#[cfg(test)]
mod tests;
