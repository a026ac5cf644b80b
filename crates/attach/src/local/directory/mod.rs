//! A directory of this user's that nobody else can change.
//!
//! Every directory on the path is checked, starting at the root, because the owner of a directory,
//! or a user who may write to it, can replace what is below. The path is walked, and all work is
//! done, through descriptors: what was checked is what is used, even if the path leads elsewhere by
//! then. Symbolic links are never followed.

use crate::{Error, Refusal, Result};
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
    /// Opens the directory at `path`, which must be absolute.
    ///
    /// # Errors
    /// [`Error::NotFound`] when the directory does not exist; [`Error::Refused`] when somebody else
    /// could change it: the text names the part of the path, and why.
    pub fn open(path: &Path) -> Result<Self> {
        Self::walk(path)?.judged(Role::Own)
    }

    /// As [`Directory::open`]; the last component is created, for this user alone, if it does not
    /// exist.
    ///
    /// # Errors
    /// Those of [`Directory::open`], and the system's.
    pub(crate) fn open_or_make(path: &Path) -> Result<Self> {
        let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else { return Self::open(path) };
        Self::walk(parent)?.enter_or_make(name)
    }

    /// Opens the subdirectory `name`.
    ///
    /// # Errors
    /// Those of [`Directory::open`].
    pub fn enter(&self, name: impl AsRef<OsStr>) -> Result<Self> {
        self.step(name.as_ref())?.judged(Role::Own)
    }

    /// As [`Directory::enter`]; the subdirectory is created, for this user alone, if it does not
    /// exist.
    ///
    /// # Errors
    /// Those of [`Directory::open_or_make`].
    pub fn enter_or_make(&self, name: impl AsRef<OsStr>) -> Result<Self> {
        match mkdirat(&self.fd, name.as_ref(), Mode::RWXU) {
            Ok(()) | Err(Errno::EXIST) => self.enter(name),
            Err(e) => Err(failed("making", &self.path.join(name.as_ref()), e)),
        }
    }

    /// The directory's path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The names of the entries.
    ///
    /// # Errors
    /// The system's.
    pub fn names(&self) -> io::Result<Vec<OsString>> {
        let mut names = Vec::new();
        // The descriptor was opened with O_PATH and cannot be read from.
        for entry in Dir::new(openat(&self.fd, c".", TO_LIST, Mode::empty())?)? {
            let name = OsStr::from_bytes(entry?.file_name().to_bytes()).to_owned();
            if name != "." && name != ".." {
                names.push(name);
            }
        }
        Ok(names)
    }

    /// Opens the regular file `name`; with [`OFlags::CREATE`], creates it for this user alone.
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

    /// Whether `name` in this directory still refers to `file`.
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
    /// As for [`Directory::file`]; a text longer than any that Keyway writes is refused.
    pub fn read(&self, name: &str) -> io::Result<String> {
        let mut text = String::new();
        let read = self.file(name, OFlags::RDONLY)?.take(LONGEST_TEXT + 1).read_to_string(&mut text)?;
        if read as u64 > LONGEST_TEXT { Err(io::ErrorKind::InvalidData.into()) } else { Ok(text) }
    }

    /// Replaces the content of the file `name` with `text`, atomically.
    ///
    /// # Errors
    /// The system's.
    pub fn replace(&self, name: &str, text: &str) -> io::Result<()> {
        let draft = format!("{name}.new");
        self.remove(&draft)?;
        self.file(&draft, NEW)?.write_all(text.as_bytes())?;
        Ok(renameat(&self.fd, &draft, &self.fd, name)?)
    }

    /// Removes the file, socket or empty directory `name`, if it exists.
    ///
    /// # Errors
    /// The system's, for example when a directory is not empty or is a mount point.
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

    /// A path for `name` that always refers to this very directory, and is short enough for a
    /// socket address.
    pub(super) fn through(&self, name: &str) -> PathBuf {
        format!("/proc/self/fd/{}/{name}", self.fd.as_raw_fd()).into()
    }

    /// Walks to `path`; the directory itself is not required to belong to this user.
    fn walk(path: &Path) -> Result<Self> {
        let root = Self { fd: place(CWD, "/", Path::new("/"))?, path: "/".into() };
        if !path.has_root() {
            return Err(Refusal::Path.because(format!("{} does not start at the root", path.display())));
        }
        path.components()
            .try_fold(root, |at, part| match part {
                Component::Normal(name) => at.judged(Role::OnTheWay)?.step(name),
                Component::ParentDir => {
                    Err(Refusal::Path.because(format!("{} has \"..\" in it", path.display())))
                }
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
        // The owner of the root directory can replace everything; in a container that need not be
        // user 0.
        let trusted = [geteuid().as_raw(), 0, root.st_uid];
        match problem(kind(&stat), stat.st_mode, stat.st_uid, role, trusted) {
            None => Ok(self),
            Some(problem) => {
                Err(Refusal::UnsafeDirectory.because(format!("{} {problem}", self.path.display())))
            }
        }
    }
}

/// A descriptor (O_PATH) for the entry, even for a symbolic link itself.
fn place(at: impl std::os::fd::AsFd, name: impl AsRef<OsStr>, path: &Path) -> Result<OwnedFd> {
    openat(at, name.as_ref(), PLACE, Mode::empty()).map_err(|e| failed("opening", path, e))
}

/// A directory's position on the path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Role {
    /// It leads to the user's directory. In a sticky directory, only owners move and remove their
    /// entries (unlink(2), EPERM).
    OnTheWay,
    /// It is the user's own directory.
    Own,
}

/// What is wrong with a directory. `trusted` are this user, root, and the owner of the root
/// directory.
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
        // Only a directory can have something below it.
        Errno::NOTDIR => {
            Refusal::Path.because(format!("{} is below something that is not a directory", path.display()))
        }
        _ => Error::Io { what: format!("{what} {}", path.display()), source: errno.into() },
    }
}

/// The group's and others' write bits; an access list's mask takes the place of the group's bits
/// (acl(5)).
const WRITABLE_BY_OTHERS: u32 = 0o022;
const STICKY: u32 = 0o1000;

/// Directories are referred to without opening them (O_PATH), opened to read their names, and files
/// are opened without blocking on a pipe that has no writer.
const PLACE: OFlags = OFlags::PATH.union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);
const TO_LIST: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);
const ANY_FILE: OFlags = OFlags::NOFOLLOW.union(OFlags::NONBLOCK).union(OFlags::CLOEXEC);
const NEW: OFlags = OFlags::CREATE.union(OFlags::EXCL).union(OFlags::WRONLY);
const OWNER_ONLY: Mode = Mode::RUSR.union(Mode::WUSR);

/// More than any text kept here, in bytes.
const LONGEST_TEXT: u64 = 1 << 16;

#[cfg(test)]
mod tests;
