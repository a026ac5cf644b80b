//! A file that appears under its name whole or not at all.
//!
//! Where the file system can do it the file has no name until it is complete (O_TMPFILE), so that not even a kill
//! leaves anything behind. Elsewhere it grows under a temporary name beside its target, and is removed when dropped.

use super::File;
use rustix::fs::{AtFlags, CWD, Mode, OFlags, RenameFlags};
use rustix::io::Errno;
use std::ffi::OsString;
use std::fs;
use std::io;
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A file in the making.
#[derive(Debug)]
pub struct NewFile {
    file: Arc<File>,
    target: PathBuf,
    /// Its name until it is complete; `None` when it has none.
    temporary: Option<PathBuf>,
    replace: bool,
}

impl NewFile {
    /// Starts a file that will be called `target`, with these permission bits (less the umask).
    ///
    /// # Errors
    /// `AlreadyExists` when there is such a file and it is not to be replaced; otherwise what the directory says.
    pub fn create(target: impl Into<PathBuf>, mode: u32, replace: bool) -> io::Result<Self> {
        let mut target = target.into();
        match fs::symlink_metadata(&target) {
            Ok(_) if !replace => return Err(io::ErrorKind::AlreadyExists.into()),
            // Replacing a link means replacing what it points to.
            Ok(found) if found.is_symlink() => target = fs::canonicalize(&target)?,
            Ok(_) => {}
            Err(e) if e.kind() == io::ErrorKind::NotFound => {}
            Err(e) => return Err(e),
        }
        let mode = Mode::from_raw_mode(mode);
        let (fd, temporary) = match unnamed(directory(&target), mode) {
            Ok(fd) => (fd, None),
            Err(_) => {
                let name = beside(&target);
                let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
                (rustix::fs::open(&name, flags, mode)?, Some(name))
            }
        };
        let file = Arc::new(File::from_file(fs::File::from(fd), &target)?);
        Ok(Self { file, target, temporary, replace })
    }

    /// The file.
    pub fn file(&self) -> &Arc<File> {
        &self.file
    }

    /// Its temporary name, which a signal that ends the process should remove.
    pub fn temporary(&self) -> Option<&Path> {
        self.temporary.as_deref()
    }

    /// Brings everything to stable storage, then gives the file its name.
    ///
    /// # Errors
    /// Storage fails, or the name was taken meanwhile; nothing is left behind then.
    pub fn complete(mut self) -> io::Result<()> {
        self.file.as_file().sync_all()?;
        if self.temporary.is_none() && self.replace {
            let name = beside(&self.target);
            self.link(&name)?;
            self.temporary = Some(name);
        }
        match &self.temporary {
            None => self.link(&self.target)?,
            Some(name) => {
                let flags = if self.replace { RenameFlags::empty() } else { RenameFlags::NOREPLACE };
                rustix::fs::renameat_with(CWD, name, CWD, &self.target, flags)?;
            }
        }
        self.temporary = None;
        // Not every file system can sync a directory; the content is safe by now.
        let _ = fs::File::open(directory(&self.target)).and_then(|d| d.sync_all());
        Ok(())
    }

    /// Gives the unnamed file a name.
    fn link(&self, name: &Path) -> io::Result<()> {
        let fd = format!("/proc/self/fd/{}", self.file.as_file().as_raw_fd());
        Ok(rustix::fs::linkat(CWD, fd, CWD, name, AtFlags::SYMLINK_FOLLOW)?)
    }
}

impl Drop for NewFile {
    fn drop(&mut self) {
        if let Some(name) = &self.temporary {
            let _ = fs::remove_file(name);
        }
    }
}

fn unnamed(directory: &Path, mode: Mode) -> Result<rustix::fd::OwnedFd, Errno> {
    // Its name will come from /proc: without it, better start with one.
    rustix::fs::access("/proc/self/fd", rustix::fs::Access::EXISTS)?;
    rustix::fs::open(directory, OFlags::RDWR | OFlags::TMPFILE | OFlags::CLOEXEC, mode)
}

fn directory(target: &Path) -> &Path {
    target.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

fn beside(target: &Path) -> PathBuf {
    let mut name = OsString::from(".");
    name.push(target.file_name().unwrap_or_default());
    name.push(format!(".keyway-{}", std::process::id()));
    target.with_file_name(name)
}

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

        let file = NewFile::create(&target, 0o640, false).unwrap();
        file.file().write_at(b"first", 0).unwrap();
        assert!(!target.exists());
        drop(file);
        assert!(names().is_empty(), "{:?}", names());

        let file = NewFile::create(&target, 0o640, false).unwrap();
        file.file().write_at(b"first", 0).unwrap();
        file.complete().unwrap();
        assert_eq!(fs::read(&target).unwrap(), b"first");

        let error = NewFile::create(&target, 0o640, false).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::AlreadyExists);

        // Through a link, and with a named temporary file as on file systems without unnamed ones.
        std::os::unix::fs::symlink(&target, scratch.join("link")).unwrap();
        let mut file = NewFile::create(scratch.join("link"), 0o640, true).unwrap();
        file.file().write_at(b"second", 0).unwrap();
        assert_eq!(fs::read(&target).unwrap(), b"first");
        if file.temporary.is_none() {
            let name = beside(&file.target);
            file.link(&name).unwrap();
            file.temporary = Some(name);
        }
        assert_eq!(names().len(), 2);
        file.complete().unwrap();
        assert_eq!(fs::read(&target).unwrap(), b"second");
        assert!(fs::symlink_metadata(scratch.join("link")).unwrap().is_symlink());
        assert_eq!(names(), ["volume"]);
        fs::remove_dir_all(&scratch).unwrap();
    }
}
