//! The destination of an output: a directory that is held open, and a name in it.
//!
//! What is made is led nowhere by a symbolic link in a directory that others may write to, whoever
//! made it: others can choose what it leads to. That is stricter than the kernel's
//! fs.protected_symlinks, and applies to each directory on the path. Links elsewhere are followed.
//! What is there already and is edited in place ([`Place::find_to_edit`]) is found by the kernel's
//! own rule, in every directory that others may write to: links of the caller and of the
//! directory's owner are followed.
//!
//! Nor is anything written into another user's pipe or file, or through a name that may be a hard
//! link to a file elsewhere, as with fs.protected_fifos, protected_regular and protected_hardlinks.
//! All this is decided here, whatever those settings say, and by the object that was opened.

use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags, Stat, fstat, fstatfs, openat, readlinkat, statat};
use rustix::io::Errno;
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::fs::File;
use std::io;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

/// A name in a directory.
#[derive(Debug, Clone)]
pub struct Place {
    directory: Arc<OwnedFd>,
    name: OsString,
}

/// An object that others could have put in the place of an output.
#[derive(Debug)]
pub enum Planted {
    /// A link, with a target of their choice.
    Link(PathBuf),
    /// A pipe, from which they read.
    Pipe(OsString),
    /// A file of theirs, which they read.
    File(OsString),
    /// One of several names of a file that may be anywhere.
    HardLink(OsString),
}

/// Which links are followed in the last component and, of these, in directories of others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Follow {
    /// None in the last component.
    NotLast,
    /// Those that nobody else can have put there.
    Safe,
    /// Those, and the caller's and the directory's owner's in directories that others may write to.
    Own,
}

impl Place {
    /// Resolves `path`. With `follow`, a link in the last component is followed.
    ///
    /// # Errors
    /// `PermissionDenied` with [`Planted`] at a link that is not followed; `NotFound` without a
    /// directory.
    pub fn find(path: &Path, follow: bool) -> io::Result<Self> {
        Self::resolve(path, if follow { Follow::Safe } else { Follow::NotLast })
    }

    /// Resolves `path` to what is there already, and is written to in place.
    ///
    /// # Errors
    /// As [`Place::find`].
    pub(crate) fn find_to_edit(path: &Path) -> io::Result<Self> {
        Self::resolve(path, Follow::Own)
    }

    fn resolve(path: &Path, follow: Follow) -> io::Result<Self> {
        let mut ahead = Vec::new();
        push(&mut ahead, path);
        let (mut directory, mut on_the_way) = (enter(CWD, OsStr::new("."))?, PathBuf::new());
        let mut links = 0;
        while let Some(name) = ahead.pop() {
            let found = match statat(&directory, &name, AtFlags::SYMLINK_NOFOLLOW) {
                Err(Errno::NOENT) if ahead.is_empty() => return Ok(Self::new(directory, name)),
                found => found?,
            };
            let is_link = FileType::from_raw_mode(found.st_mode).is_symlink();
            match (is_link, ahead.is_empty()) {
                (true, last) if !last || follow != Follow::NotLast => {
                    links += 1;
                    if links > MOST_LINKS {
                        return Err(Errno::LOOP.into());
                    }
                    if may_be_planted(&found, &fstat(&directory)?, follow) {
                        return Err(planted(Planted::Link(on_the_way.join(name))));
                    }
                    if last && is_proc(directory.as_fd()) {
                        return Ok(Self::new(directory, name));
                    }
                    push(&mut ahead, &target(directory.as_fd(), &name)?);
                }
                (_, true) if name != "/" && name != ".." => return Ok(Self::new(directory, name)),
                _ => {
                    directory = enter(directory.as_fd(), &name)?;
                    on_the_way.push(name);
                }
            }
        }
        Err(io::ErrorKind::IsADirectory.into())
    }

    fn new(directory: OwnedFd, name: OsString) -> Self {
        Self { directory: Arc::new(directory), name }
    }

    /// What exists there, without following a link; `None` where nothing exists.
    pub fn found(&self) -> io::Result<Option<Stat>> {
        match statat(&*self.directory, &self.name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(found) => Ok(Some(found)),
            Err(Errno::NOENT) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Opens the pipe or device for writing; for /dev/stdout and the like, the object that it
    /// stands for.
    ///
    /// # Errors
    /// `PermissionDenied` with [`Planted`] at another user's pipe; otherwise the system's error.
    pub fn open(&self) -> io::Result<File> {
        self.open_with(THERE.union(self.last()), 0)
    }

    /// Creates a file with these permission bits, less the umask.
    ///
    /// # Errors
    /// `AlreadyExists` when something exists there, including a dangling link.
    pub fn make(&self, mode: u32) -> io::Result<File> {
        self.open_with(NEW, mode)
    }

    /// Opens an existing object for writing, or creates a file. What is in it stays.
    ///
    /// # Errors
    /// `PermissionDenied` with [`Planted`] at what others may have put there.
    pub fn make_or_open(&self, mode: u32) -> io::Result<File> {
        let file = self.open_with(EITHER.union(self.last()), mode)?;
        self.refuse_file(&fstat(&file)?)?;
        Ok(file)
    }

    /// Opens a file or a block device to be read and written in place.
    ///
    /// # Errors
    /// `PermissionDenied` with [`Planted`] at a name that may be a hard link to a file elsewhere;
    /// `InvalidInput` where something else is; otherwise the system's error.
    pub(crate) fn open_in_place(&self) -> io::Result<File> {
        let file = self.open_with(IN_PLACE.union(self.last()), 0)?;
        let found = fstat(&file)?;
        if !matches!(FileType::from_raw_mode(found.st_mode), FileType::RegularFile | FileType::BlockDevice) {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        self.refuse_hard_link(&found)?;
        Ok(file)
    }

    /// The object, without opening it for anything, and without following a link; `None` where
    /// nothing exists.
    ///
    /// # Errors
    /// The system's.
    pub fn object(&self) -> io::Result<Option<File>> {
        match openat(&*self.directory, &self.name, OBJECT, Mode::empty()) {
            Ok(object) => Ok(Some(object.into())),
            Err(Errno::NOENT) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// The name of a descriptor is a link that only the kernel can follow.
    fn last(&self) -> OFlags {
        if self.is_descriptor() { OFlags::empty() } else { OFlags::NOFOLLOW }
    }

    fn open_with(&self, flags: OFlags, mode: u32) -> io::Result<File> {
        // Checked before opening, because opening a pipe waits for its reader; and again on the
        // object that was opened.
        self.found()?.map_or(Ok(()), |found| self.refuse_pipe(&found))?;
        let mode = Mode::from_raw_mode(mode);
        let file = openat(&*self.directory, &self.name, flags.union(OFlags::CLOEXEC), mode)?;
        self.refuse_pipe(&fstat(&file)?)?;
        Ok(file.into())
    }

    /// Refuses another user's pipe in a directory where that user may have put it.
    fn refuse_pipe(&self, found: &Stat) -> io::Result<()> {
        match is_pipe_of_others(found) && others_may_write(&fstat(&*self.directory)?) {
            true => Err(planted(Planted::Pipe(self.name.clone()))),
            false => Ok(()),
        }
    }

    /// Refuses another user's file, which that user may have put there, and hard links.
    fn refuse_file(&self, found: &Stat) -> io::Result<()> {
        let is_file = FileType::from_raw_mode(found.st_mode).is_file() && !self.is_descriptor();
        match is_file && !is_ours(found) && others_may_write(&fstat(&*self.directory)?) {
            true => Err(planted(Planted::File(self.name.clone()))),
            false => self.refuse_hard_link(found),
        }
    }

    /// Refuses a file that has other names, in a directory where another user may have put this one.
    /// (In a directory of that user's, a file of that user's is no trap.)
    fn refuse_hard_link(&self, found: &Stat) -> io::Result<()> {
        let has_other_names = FileType::from_raw_mode(found.st_mode).is_file() && found.st_nlink > 1;
        if !has_other_names || self.is_descriptor() {
            return Ok(());
        }
        let directory = fstat(&*self.directory)?;
        let is_its_owners = found.st_uid == directory.st_uid && directory.st_mode & WRITABLE == 0;
        match others_may_write(&directory) && !is_its_owners {
            true => Err(planted(Planted::HardLink(self.name.clone()))),
            false => Ok(()),
        }
    }

    /// Whether it stands for a descriptor of a process (/dev/stdout, /proc/self/fd/1).
    pub fn is_descriptor(&self) -> bool {
        is_proc(self.directory.as_fd())
    }

    /// The directory.
    pub(super) fn directory(&self) -> BorrowedFd<'_> {
        self.directory.as_fd()
    }

    /// The name.
    pub(super) fn name(&self) -> &OsStr {
        &self.name
    }

    /// The place in the same directory with the name that `name` derives from this one's.
    pub(super) fn beside(&self, name: impl FnOnce(&OsStr) -> OsString) -> Self {
        Self { directory: Arc::clone(&self.directory), name: name(&self.name) }
    }
}

/// Whether a link may lead where another user wants.
fn may_be_planted(link: &Stat, directory: &Stat, follow: Follow) -> bool {
    let own = rustix::process::geteuid().as_raw();
    match follow {
        Follow::NotLast | Follow::Safe => others_may_write(directory),
        Follow::Own => directory.st_mode & WRITABLE != 0 && ![own, directory.st_uid].contains(&link.st_uid),
    }
}

/// Whether anybody other than root and this user may put links here.
fn others_may_write(directory: &Stat) -> bool {
    !is_ours(directory) || directory.st_mode & WRITABLE != 0
}

fn is_pipe_of_others(found: &Stat) -> bool {
    FileType::from_raw_mode(found.st_mode) == FileType::Fifo && !is_ours(found)
}

/// Whether it belongs to root or to this user.
fn is_ours(found: &Stat) -> bool {
    [0, rustix::process::geteuid().as_raw()].contains(&found.st_uid)
}

/// Only the kernel can follow links in /proc: their text may not be a path.
fn is_proc(directory: BorrowedFd<'_>) -> bool {
    fstatfs(directory).is_ok_and(|found| found.f_type as u32 == PROC)
}

fn target(directory: BorrowedFd<'_>, name: &OsStr) -> io::Result<PathBuf> {
    let text = readlinkat(directory, name, Vec::new())?;
    Ok(OsString::from_vec(text.into_bytes()).into())
}

/// Opens a directory for looking up names only: search permission is enough.
fn enter(directory: BorrowedFd<'_>, name: &OsStr) -> io::Result<OwnedFd> {
    Ok(openat(directory, name, DIRECTORY, Mode::empty())?)
}

/// Pushes the components of `path`; the last element is the next component.
fn push(ahead: &mut Vec<OsString>, path: &Path) {
    let parts = path.components().filter(|part| *part != Component::CurDir);
    ahead.extend(parts.map(|part| part.as_os_str().to_owned()).rev());
}

fn planted(what: Planted) -> io::Error {
    io::Error::new(io::ErrorKind::PermissionDenied, what)
}

impl fmt::Display for Planted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = |name: &OsStr| String::from_utf8_lossy(name.as_bytes()).into_owned();
        let place = "in a directory that others can write to";
        match self {
            Self::Link(link) => {
                let link = shown(link.as_os_str());
                write!(f, "{link} is a symbolic link {place}, and is not followed; name its target")
            }
            Self::Pipe(name) => write!(f, "{} is a pipe of another user's {place}", shown(name)),
            Self::File(name) => write!(f, "{} is a file of another user's {place}", shown(name)),
            Self::HardLink(name) => {
                write!(f, "{} is one of several names of a file (hard links) {place}", shown(name))
            }
        }
    }
}

impl std::error::Error for Planted {}

/// Flags for an existing object, for a new one, and for either.
const THERE: OFlags = OFlags::WRONLY.union(OFlags::NOCTTY);
const NEW: OFlags = OFlags::RDWR.union(OFlags::CREATE).union(OFlags::EXCL);
const EITHER: OFlags = THERE.union(OFlags::CREATE);
/// For what is written in place, and for a look at what there is.
const IN_PLACE: OFlags = OFlags::RDWR.union(OFlags::NOCTTY);
const OBJECT: OFlags = OFlags::PATH.union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);
const DIRECTORY: OFlags =
    OFlags::PATH.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);
/// Write bits of group and others.
const WRITABLE: u32 = 0o022;
/// PROC_SUPER_MAGIC (Linux, include/uapi/linux/magic.h).
const PROC: u32 = 0x9fa0;
/// The number of links that the kernel follows (path_resolution(7)).
const MOST_LINKS: usize = 40;

#[cfg(test)]
mod tests;
