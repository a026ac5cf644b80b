//! The destination of an output: a directory that is held open, and a name in it.
//!
//! A symbolic link in a directory that others may write to is never followed, whoever made it,
//! since others can choose its target. That is stricter than the kernel's fs.protected_symlinks,
//! and applies to each directory on the path. Links elsewhere are followed. Nor is anything written
//! into another user's pipe, as with fs.protected_fifos.

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
}

impl Place {
    /// Resolves `path`. With `follow`, a link in the last component is followed.
    ///
    /// # Errors
    /// `PermissionDenied` with [`Planted`] at a link that is not followed; `NotFound` without a
    /// directory.
    pub fn find(path: &Path, follow: bool) -> io::Result<Self> {
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
                (true, last) if !last || follow => {
                    links += 1;
                    if links > MOST_LINKS {
                        return Err(Errno::LOOP.into());
                    }
                    if others_may_write(&fstat(&directory)?) {
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

    /// Opens an existing object for writing and truncates it if it is a file; or creates a file.
    pub fn make_or_empty(&self, mode: u32) -> io::Result<File> {
        self.open_with(EITHER.union(OFlags::TRUNC).union(self.last()), mode)
    }

    /// As [`Place::make_or_empty`], but does not truncate.
    pub fn make_or_open(&self, mode: u32) -> io::Result<File> {
        self.open_with(EITHER.union(self.last()), mode)
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
        let place = "in a directory that others may write";
        match self {
            Self::Link(link) => {
                let link = shown(link.as_os_str());
                write!(f, "{link} is a symbolic link {place}, and is not followed; name what it leads to")
            }
            Self::Pipe(name) => write!(f, "{} is a pipe of another user's {place}", shown(name)),
        }
    }
}

impl std::error::Error for Planted {}

/// Flags for an existing object, for a new one, and for either.
const THERE: OFlags = OFlags::WRONLY.union(OFlags::NOCTTY);
const NEW: OFlags = OFlags::RDWR.union(OFlags::CREATE).union(OFlags::EXCL);
const EITHER: OFlags = THERE.union(OFlags::CREATE);
const DIRECTORY: OFlags =
    OFlags::PATH.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);
/// Write bits of group and others.
const WRITABLE: u32 = 0o022;
/// PROC_SUPER_MAGIC (Linux, include/uapi/linux/magic.h).
const PROC: u32 = 0x9fa0;
/// The number of links that the kernel follows (path_resolution(7)).
const MOST_LINKS: usize = 40;

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::{self, Permissions};
    use std::io::{Read, Write};
    use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};

    fn scratch(name: &str) -> PathBuf {
        let path = std::env::temp_dir().join(format!("keyway-place-{name}-{}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        fs::set_permissions(&path, Permissions::from_mode(0o755)).unwrap();
        path
    }

    fn is_planted(error: &io::Error) -> bool {
        error.kind() == io::ErrorKind::PermissionDenied
            && error.get_ref().is_some_and(|it| it.is::<Planted>())
    }

    #[test]
    fn a17_links_of_others_are_not_followed() {
        let scratch = scratch("links");
        fs::create_dir(scratch.join("deep")).unwrap();
        fs::write(scratch.join("deep/file"), "x").unwrap();
        symlink("deep", scratch.join("way")).unwrap();
        symlink("deep/file", scratch.join("link")).unwrap();
        symlink("nowhere", scratch.join("dangling")).unwrap();
        let inode = fs::metadata(scratch.join("deep/file")).unwrap().ino();
        let found = |path: &str, follow| Place::find(&scratch.join(path), follow);
        let inode_of = |place: Place| place.found().unwrap().unwrap().st_ino;
        for path in ["way/file", "link", "deep/../way/./file"] {
            assert_eq!(inode_of(found(path, true).unwrap()), inode, "{path}");
        }
        assert_ne!(inode_of(found("link", false).unwrap()), inode, "the link itself");
        assert_eq!(found("dangling", true).unwrap().name(), "nowhere");
        assert!(found("dangling", true).unwrap().found().unwrap().is_none());
        // Writable by the group or by everybody, sticky or not.
        for mode in [0o775, 0o757, 0o777, 0o1777, 0o2775] {
            fs::set_permissions(&scratch, Permissions::from_mode(mode)).unwrap();
            for path in ["link", "way/file", "dangling", "deep/../link"] {
                let error = found(path, true).unwrap_err();
                assert!(is_planted(&error), "{mode:o} {path}: {error}");
            }
            assert!(is_planted(&found("way/file", false).unwrap_err()), "on the way, in any case");
            assert!(
                found("deep/file", true).is_ok()
                    && found("new", true).is_ok()
                    && found("link", false).is_ok()
            );
        }
        let error = found("way/file", true).unwrap_err().to_string();
        let shown = format!(
            "{} is a symbolic link in a directory that others may write",
            scratch.join("way").display()
        );
        assert!(error.starts_with(&shown), "{error}");
        // A link of the user's own, through such a directory.
        let own = scratch.with_extension("own");
        fs::create_dir(&own).unwrap();
        symlink(scratch.join("link"), own.join("out")).unwrap();
        assert!(is_planted(&Place::find(&own.join("out"), true).unwrap_err()));
        assert!(Place::find(&own.join("out"), false).is_ok());
        fs::remove_dir_all(own).unwrap();
        fs::remove_dir_all(scratch).unwrap();
    }

    #[test]
    fn a17_directories_of_others() {
        let mine = rustix::process::geteuid().as_raw();
        let directory = |owner: u32, mode: u32| {
            let mut found = rustix::fs::stat("/").unwrap();
            (found.st_uid, found.st_mode) = (owner, 0o040_000 | mode);
            others_may_write(&found)
        };
        assert!(!directory(mine, 0o755) && !directory(0, 0o755) && !directory(mine, 0o1700));
        assert!(directory(mine, 0o775) && directory(0, 0o1777) && directory(mine, 0o702));
        assert!(directory(mine + 1, 0o700) && directory(65_534, 0o755));
    }

    #[test]
    fn a17_a_pipe_of_anothers_is_not_written_to() {
        if !rustix::process::geteuid().is_root() {
            return eprintln!("left out: only root can make what belongs to another user");
        }
        let scratch = scratch("pipe");
        let pipe = scratch.join("pipe");
        rustix::fs::mkfifoat(CWD, &pipe, Mode::from_raw_mode(0o666)).unwrap();
        let reader = fs::OpenOptions::new().read(true).write(true).open(&pipe).unwrap();
        let place = Place::find(&pipe, true).unwrap();
        let opened = || [place.open(), place.make_or_empty(0o600), place.make_or_open(0o600)];
        let taken = || opened().iter().filter(|it| it.is_ok()).count();
        let hand_to = |user| std::os::unix::fs::chown(&pipe, Some(user), None).unwrap();
        for (user, mode, count) in [(0, 0o1777, 3), (4711, 0o755, 3), (4711, 0o1777, 0), (4711, 0o775, 0)] {
            hand_to(user);
            fs::set_permissions(&scratch, Permissions::from_mode(mode)).unwrap();
            assert_eq!(taken(), count, "of user {user}, in a directory of mode {mode:o}");
        }
        let error = place.open().unwrap_err();
        assert!(is_planted(&error), "{error}");
        assert!(error.to_string().starts_with("pipe is a pipe of another user's"), "{error}");
        drop(reader); // Nor does opening wait for a reader.
        assert!(is_planted(&place.open().unwrap_err()));
        fs::remove_dir_all(scratch).unwrap();
    }

    #[test]
    fn what_is_no_place() {
        let scratch = scratch("none");
        symlink("loop", scratch.join("loop")).unwrap();
        let kind = |path: &Path| Place::find(path, true).unwrap_err().kind();
        assert_eq!(
            Place::find(&scratch.join("loop"), true).unwrap_err().raw_os_error(),
            Some(Errno::LOOP.raw_os_error())
        );
        assert_eq!(kind(&scratch.join("none/file")), io::ErrorKind::NotFound);
        assert_eq!(kind(Path::new("/")), io::ErrorKind::IsADirectory);
        assert_eq!(kind(&scratch.join("..")), io::ErrorKind::IsADirectory);
        assert_eq!(kind(Path::new("")), io::ErrorKind::IsADirectory);
        assert_eq!(Place::find(Path::new("/etc"), true).unwrap().name(), "etc");
        // Up to the number of links that the kernel follows.
        for number in 0..41 {
            symlink(format!("chain-{}", number + 1), scratch.join(format!("chain-{number}"))).unwrap();
        }
        assert!(Place::find(&scratch.join("chain-1"), true).is_ok());
        assert!(Place::find(&scratch.join("chain-0"), true).is_err());
        fs::remove_dir_all(scratch).unwrap();
    }

    #[test]
    fn descriptors_are_opened_by_the_kernel() {
        use std::os::fd::AsRawFd;
        let (mut reader, writer) = io::pipe().unwrap();
        for path in
            [format!("/dev/fd/{}", writer.as_raw_fd()), format!("/proc/self/fd/{}", writer.as_raw_fd())]
        {
            let place = Place::find(Path::new(&path), true).unwrap();
            assert!(place.is_descriptor());
            place.open().unwrap().write_all(b"through").unwrap();
            let mut text = [0; 7];
            reader.read_exact(&mut text).unwrap();
            assert_eq!(&text, b"through");
        }
        let scratch = scratch("open");
        symlink("/dev/null", scratch.join("link")).unwrap();
        let place = Place::find(&scratch.join("link"), false).unwrap();
        assert!(!place.is_descriptor());
        assert_eq!(place.open().unwrap_err().raw_os_error(), Some(Errno::LOOP.raw_os_error()));
        Place::find(&scratch.join("link"), true).unwrap().open().unwrap().write_all(b"x").unwrap();
        fs::remove_dir_all(scratch).unwrap();
    }

    #[test]
    fn a17_files_are_made_where_no_link_leads_away() {
        let scratch = scratch("make");
        let place = |name: &str, follow| Place::find(&scratch.join(name), follow).unwrap();
        symlink("elsewhere", scratch.join("link")).unwrap();
        assert_eq!(place("link", false).make(0o600).unwrap_err().kind(), io::ErrorKind::AlreadyExists);
        assert!(place("link", false).make_or_empty(0o600).is_err());
        assert!(place("link", false).make_or_open(0o600).is_err());
        let mode = |name: &str| fs::metadata(scratch.join(name)).unwrap().mode() & 0o777;
        drop(place("new", false).make(0o400).unwrap());
        assert_eq!(mode("new"), 0o400);
        assert_eq!(place("new", false).make(0o600).unwrap_err().kind(), io::ErrorKind::AlreadyExists);
        place("link", true).make_or_empty(0o600).unwrap().write_all(b"long").unwrap();
        place("elsewhere", true).make_or_empty(0o644).unwrap().write_all(b"x").unwrap();
        assert_eq!((fs::read(scratch.join("elsewhere")).unwrap(), mode("elsewhere")), (b"x".to_vec(), 0o600));
        place("elsewhere", true).make_or_open(0o644).unwrap().write_all(b"").unwrap();
        assert_eq!(fs::read(scratch.join("elsewhere")).unwrap(), b"x");
        drop(place("other", true).make_or_open(0o400).unwrap());
        assert_eq!(mode("other"), 0o400);
        let (_reader, writer) = io::pipe().unwrap();
        let path = format!("/dev/fd/{}", std::os::fd::AsRawFd::as_raw_fd(&writer));
        assert!(Place::find(Path::new(&path), true).unwrap().make_or_empty(0o600).is_ok());
        fs::remove_dir_all(scratch).unwrap();
    }
}
