//! Files that a command makes: complete or not there, never over an existing one unless that was asked for.

use crate::args::{Args, shared};
use crate::failure::{Exit, Failure, Result};
use crate::interrupt::{self, Pending};
use crate::plaintext::cannot_write;
use keyway_volume::storage::{File, NewFile};
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A file in the making. A signal leaves nothing of it behind.
pub(crate) struct Creation {
    file: NewFile,
    path: PathBuf,
    _pending: Option<Pending>,
}

impl Creation {
    /// Starts `path` with these permission bits. An existing file needs `--force`.
    pub(crate) fn start(args: &Args, path: &Path, mode: u32) -> Result<Self> {
        // Renaming over it would turn /dev/null, a pipe or a terminal into a file.
        if fs::metadata(path).is_ok_and(|found| !found.is_file()) {
            let message =
                format!("{} is no regular file: a new file or a block device is needed.", path.display());
            return Err(Failure::new(Exit::Device, message));
        }
        let force = args.given(&shared::FORCE);
        let file = NewFile::create(path, mode, force).map_err(|e| match e.kind() {
            ErrorKind::AlreadyExists => {
                Failure::new(Exit::Busy, format!("{} exists already; --force replaces it.", path.display()))
            }
            ErrorKind::NotFound => {
                Failure::new(Exit::Device, format!("The directory of {} does not exist.", path.display()))
            }
            _ => cannot_write(&path.display(), None, &e),
        })?;
        let pending = file.temporary().map(Path::to_owned);
        let pending = pending.map(|name| interrupt::clean_up(move || drop(fs::remove_file(name))));
        Ok(Self { file, path: path.to_owned(), _pending: pending })
    }

    /// The file.
    pub(crate) fn file(&self) -> &Arc<File> {
        self.file.file()
    }

    /// Its name to be.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Brings it to stable storage and gives it its name.
    pub(crate) fn complete(self) -> Result<()> {
        self.file.complete().map_err(|e| cannot_write(&self.path.display(), None, &e))
    }
}

/// Plaintext of an encrypted volume is nobody else's business.
pub(crate) const OWNER_ONLY: u32 = 0o600;

/// What is encrypted may be read by whom the umask allows.
pub(crate) const BY_UMASK: u32 = 0o666;
