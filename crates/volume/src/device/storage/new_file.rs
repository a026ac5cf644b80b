//! A file that appears under its name complete or not at all.
//!
//! Where the file system supports it, the file has no name until it is complete (O_TMPFILE), so
//! that even a kill leaves nothing behind. Elsewhere the file grows under a temporary name beside
//! its target, and is removed on drop.

use super::readers::{Readers, has_list_open, umask};
use super::{File, Place};
use rustix::fs::{
    AtFlags, CWD, FileType, Mode, OFlags, RenameFlags, fchmod, fstat, linkat, openat, unlinkat,
};
use rustix::io::Errno;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::Arc;

/// A file in the making. Until it is complete, only its owner may read it.
#[derive(Debug)]
pub struct NewFile {
    file: Arc<File>,
    target: Place,
    /// Its name until it is complete; `None` when it is unnamed.
    temporary: Option<Place>,
    replace: bool,
    /// The file that this one replaces (opened with O_PATH), and who may read it.
    replaced: Option<fs::File>,
    before: Readers,
    protected: bool,
}

impl NewFile {
    /// Starts a file that will be named `target`.
    ///
    /// # Errors
    /// `AlreadyExists` when that file exists and is not to be replaced; [`Planted`](super::Planted)
    /// when others could have put a link in its place; otherwise the directory's error.
    pub fn create(target: &Path, replace: bool) -> io::Result<Self> {
        // To replace a link means to replace its target.
        let place = Place::find(target, replace)?;
        let replaced = place.object()?;
        let before = match replaced.as_ref().map(fstat).transpose()? {
            Some(_) if !replace => return Err(io::ErrorKind::AlreadyExists.into()),
            Some(found) if !FileType::from_raw_mode(found.st_mode).is_file() => {
                return Err(io::Error::other("it is not a regular file"));
            }
            Some(found) => Readers::by_mode(&found),
            None => Readers::Anybody,
        };
        let (fd, temporary) = match unnamed(&place) {
            Ok(fd) => (fd, None),
            Err(_) => {
                let name = place.beside(beside);
                (name.make(OWNER_ONLY.as_raw_mode())?.into(), Some(name))
            }
        };
        let file = Arc::new(File::from_file(fs::File::from(fd), target)?);
        Ok(Self { file, target: place, temporary, replace, replaced, before, protected: false })
    }

    /// Makes the file write-protected when it is complete.
    #[must_use]
    pub(crate) fn write_protected(mut self) -> Self {
        self.protected = true;
        self
    }

    /// The file.
    pub fn file(&self) -> &Arc<File> {
        &self.file
    }

    /// Whether a folder, given by its device and inode, will hold it under a name that does not begin with a dot.
    ///
    /// # Errors
    /// The folder that will hold it cannot be looked at.
    pub fn will_be_seen_in(&self, folder: (u64, u64)) -> io::Result<bool> {
        let its_own = fstat(self.target.directory())?;
        let is_hidden = self.target.name().as_bytes().starts_with(b".");
        Ok(!is_hidden && folder == (its_own.st_dev, its_own.st_ino))
    }

    /// The file that it replaces, opened with O_PATH; `None` where nothing is.
    pub fn replaced(&self) -> Option<&fs::File> {
        self.replaced.as_ref()
    }

    /// Its temporary name, which a signal handler should remove when it ends the process.
    pub fn temporary(&self) -> Option<Temporary> {
        self.temporary.clone().map(Temporary)
    }

    /// Brings everything to stable storage, then gives the file its name. `readers` are those who
    /// may read everything that went into it; if the file replaces another, nobody gains the right
    /// to read it.
    ///
    /// # Errors
    /// Storage fails, or the name was taken meanwhile; nothing is left behind in this case.
    pub fn complete(mut self, readers: Readers) -> io::Result<()> {
        fchmod(self.file.as_file(), self.mode(readers)?)?;
        self.file.as_file().sync_all()?;
        if self.temporary.is_none() && self.replace {
            let name = self.target.beside(beside);
            self.link(&name)?;
            self.temporary = Some(name);
        }
        match &self.temporary {
            None => self.link(&self.target)?,
            Some(name) => {
                let flags = if self.replace { RenameFlags::empty() } else { RenameFlags::NOREPLACE };
                let (from, to) = (name.directory(), self.target.directory());
                rustix::fs::renameat_with(from, name.name(), to, self.target.name(), flags)?;
            }
        }
        self.temporary = None;
        // Not every file system can sync a directory; the content is already safe.
        let directory = openat(self.target.directory(), ".", OFlags::CLOEXEC, Mode::empty());
        let _ = directory.map(rustix::fs::fsync);
        Ok(())
    }

    fn mode(&self, readers: Readers) -> io::Result<Mode> {
        let file = self.file.as_file();
        let mut readers = readers.and(self.before);
        // An access control list inherited from the directory may let others than the group read.
        if readers != Readers::Anybody && has_list_open(file) {
            readers = Readers::Owner;
        }
        let mode = readers.mode(fstat(file)?.st_gid, umask());
        Ok(Mode::from_raw_mode(if self.protected { mode & !WRITE } else { mode }))
    }

    /// Gives the unnamed file a name.
    fn link(&self, place: &Place) -> io::Result<()> {
        let fd = format!("/proc/self/fd/{}", self.file.as_file().as_raw_fd());
        Ok(linkat(CWD, fd, place.directory(), place.name(), AtFlags::SYMLINK_FOLLOW)?)
    }
}

impl Drop for NewFile {
    fn drop(&mut self) {
        if let Some(temporary) = self.temporary() {
            temporary.remove();
        }
    }
}

/// The temporary name of a file in the making.
#[derive(Debug, Clone)]
pub struct Temporary(Place);

impl Temporary {
    /// Removes it.
    pub fn remove(&self) {
        let _ = unlinkat(self.0.directory(), self.0.name(), AtFlags::empty());
    }
}

fn unnamed(place: &Place) -> Result<rustix::fd::OwnedFd, Errno> {
    // The file is named through /proc: without /proc, start with a temporary name.
    rustix::fs::access("/proc/self/fd", rustix::fs::Access::EXISTS)?;
    openat(place.directory(), ".", UNNAMED, OWNER_ONLY)
}

fn beside(name: &OsStr) -> OsString {
    let mut beside = OsString::from(".");
    beside.push(name);
    beside.push(format!(".keyway-{}", std::process::id()));
    beside
}

const OWNER_ONLY: Mode = Mode::RUSR.union(Mode::WUSR);
const UNNAMED: OFlags = OFlags::RDWR.union(OFlags::TMPFILE).union(OFlags::CLOEXEC);
const WRITE: u32 = 0o222;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Storage;

    #[test]
    fn the_name_appears_at_the_end_only() {
        let scratch = std::env::temp_dir().join(format!("keyway-new-file-{}", std::process::id()));
        fs::create_dir_all(&scratch).unwrap();
        let names = || {
            let entries = fs::read_dir(&scratch).unwrap().map(|e| e.unwrap().file_name());
            entries.filter(|name| name != "link").collect::<Vec<_>>()
        };
        let target = scratch.join("volume");

        let file = NewFile::create(&target, false).unwrap();
        file.file().write_at(b"first", 0).unwrap();
        assert!(!target.exists());
        drop(file);
        assert!(names().is_empty(), "{:?}", names());

        let file = NewFile::create(&target, false).unwrap();
        file.file().write_at(b"first", 0).unwrap();
        file.complete(Readers::Anybody).unwrap();
        assert_eq!(fs::read(&target).unwrap(), b"first");

        let error = NewFile::create(&target, false).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::AlreadyExists);

        // Through a link, and with a temporary name as on file systems without unnamed files.
        std::os::unix::fs::symlink(&target, scratch.join("link")).unwrap();
        let mut file = NewFile::create(&scratch.join("link"), true).unwrap();
        file.file().write_at(b"second", 0).unwrap();
        assert_eq!(fs::read(&target).unwrap(), b"first");
        if file.temporary.is_none() {
            let name = file.target.beside(beside);
            file.link(&name).unwrap();
            file.temporary = Some(name);
        }
        assert_eq!(names().len(), 2);
        file.complete(Readers::Anybody).unwrap();
        assert_eq!(fs::read(&target).unwrap(), b"second");
        assert!(fs::symlink_metadata(scratch.join("link")).unwrap().is_symlink());
        assert_eq!(names(), ["volume"]);
        fs::remove_dir_all(&scratch).unwrap();
    }

    /// A file's mode is determined by its sources, by the file it replaces and by the umask; the
    /// file is never more readable in between.
    #[test]
    fn nobody_reads_more_than_what_went_in() {
        use std::os::unix::fs::{MetadataExt, PermissionsExt};
        let scratch = std::env::temp_dir().join(format!("keyway-new-file-modes-{}", std::process::id()));
        fs::create_dir_all(&scratch).unwrap();
        let target = scratch.join("file");
        let mode = || fs::metadata(&target).unwrap().mode() & 0o777;
        let make = |readers: Readers| {
            let file = NewFile::create(&target, true).unwrap();
            assert_eq!(file.file().as_file().metadata().unwrap().mode() & 0o777, 0o600);
            file.complete(readers).unwrap();
        };
        let open = 0o666 & !umask();
        make(Readers::Anybody);
        let group = fs::metadata(&target).unwrap().gid();
        assert_eq!(mode(), open);
        make(Readers::Group(group));
        assert_eq!(mode(), 0o660 & open);
        make(Readers::Group(group + 1));
        assert_eq!(mode(), 0o600);
        // A file that only its owner could read stays so.
        make(Readers::Anybody);
        assert_eq!(mode(), 0o600);
        fs::set_permissions(&target, fs::Permissions::from_mode(0o644)).unwrap();
        make(Readers::Owner);
        assert_eq!(mode(), 0o600);
        fs::remove_file(&target).unwrap();
        NewFile::create(&target, false).unwrap().write_protected().complete(Readers::Anybody).unwrap();
        assert_eq!(mode(), open & 0o444);
        fs::remove_dir_all(&scratch).unwrap();
    }

    /// If a directory passes on an access control list, the group bits apply to everybody on the
    /// list.
    #[test]
    fn a_list_from_the_directory_opens_nothing() {
        use std::os::unix::fs::MetadataExt;
        let scratch = std::env::temp_dir().join(format!("keyway-new-file-list-{}", std::process::id()));
        fs::create_dir_all(&scratch).unwrap();
        let entry = |tag: u16, bits: u16, id: u32| {
            [&tag.to_le_bytes()[..], &bits.to_le_bytes(), &id.to_le_bytes()].concat()
        };
        let list =
            [(1, 6, u32::MAX), (2, 4, 4711), (4, 0, u32::MAX), (0x10, 4, u32::MAX), (0x20, 0, u32::MAX)];
        let list = list.map(|(tag, bits, id)| entry(tag, bits, id)).concat();
        let list = [&2_u32.to_le_bytes()[..], &list].concat();
        let flags = rustix::fs::XattrFlags::empty();
        if rustix::fs::setxattr(&scratch, "system.posix_acl_default", &list, flags).is_ok() {
            let target = scratch.join("file");
            let group = fs::metadata(&scratch).unwrap().gid();
            NewFile::create(&target, false).unwrap().complete(Readers::Group(group)).unwrap();
            assert_eq!(fs::metadata(&target).unwrap().mode() & 0o777, 0o600);
        }
        fs::remove_dir_all(&scratch).unwrap();
    }

    #[test]
    fn what_is_no_file_is_not_replaced() {
        let scratch = std::env::temp_dir().join(format!("keyway-new-file-kinds-{}", std::process::id()));
        fs::create_dir_all(scratch.join("directory")).unwrap();
        for path in [scratch.join("directory"), "/dev/null".into(), "/dev/fd/2".into()] {
            assert!(NewFile::create(&path, true).is_err(), "{}", path.display());
        }
        fs::remove_dir_all(&scratch).unwrap();
    }

    #[test]
    fn a_temporary_name_is_removed() {
        let scratch = std::env::temp_dir().join(format!("keyway-new-file-temporary-{}", std::process::id()));
        fs::create_dir_all(&scratch).unwrap();
        let mut file = NewFile::create(&scratch.join("file"), false).unwrap();
        let name = file.target.beside(beside);
        file.link(&name).unwrap();
        file.temporary = Some(name);
        assert_eq!(fs::read_dir(&scratch).unwrap().count(), 1);
        drop(file);
        assert_eq!(fs::read_dir(&scratch).unwrap().count(), 0);
        fs::remove_dir_all(&scratch).unwrap();
    }
}
