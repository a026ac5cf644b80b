//! The files that a LUKS1 re-encryption is kept in.

use crate::error::At;
use crate::{Error, Location, Result};
use keyway_volume::device::storage::File;
use keyway_volume::{Access, Luks};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The files that keep the re-encryption of a LUKS1 volume, which has no room for it: the header as
/// it was and as it will be, under the names that cryptsetup gives them, and the state. They are
/// removed when it has ended. See [`Device::begin_luks1`](crate::Device::begin_luks1).
#[derive(Debug, Clone)]
pub struct Luks1Files {
    directory: PathBuf,
    uuid: String,
}

impl Luks1Files {
    /// In this directory, for the volume with this UUID.
    pub fn new(directory: impl Into<PathBuf>, uuid: &str) -> Self {
        Self { directory: directory.into(), uuid: uuid.to_owned() }
    }

    /// In this directory, for plaintext that is being encrypted: it has no UUID yet.
    pub fn of_plaintext(directory: impl Into<PathBuf>) -> Self {
        Self::new(directory, NO_UUID)
    }

    /// The state: while it exists, the volume is opened by nothing but [`Device::resume_luks1`](crate::Device::resume_luks1).
    pub fn state(&self) -> PathBuf {
        self.named("state")
    }

    /// The header as it was.
    pub fn old_header(&self) -> PathBuf {
        self.named("org")
    }

    /// The header as it will be.
    pub fn new_header(&self) -> PathBuf {
        self.named("new")
    }

    /// The header as it will be, while it is made.
    pub(super) fn new_draft(&self) -> PathBuf {
        self.named("new.part")
    }

    /// Whether a re-encryption is under way, of this library's or of cryptsetup's.
    pub fn are_there(&self) -> bool {
        self.state().exists() || self.log_of_cryptsetup().exists()
    }

    /// cryptsetup's log of a re-encryption that it began.
    pub fn log_of_cryptsetup(&self) -> PathBuf {
        self.named("log")
    }

    fn named(&self, what: &str) -> PathBuf {
        self.directory.join(format!("LUKS-{}.{what}", self.uuid))
    }

    /// Removes what an attempt left that changed nothing, or what is done.
    pub(super) fn remove(&self) {
        for path in [self.state(), self.new_header(), self.old_header(), self.new_draft()] {
            // A file that is left behind does no harm: the header is in use again.
            let _ = std::fs::remove_file(path);
        }
    }

    /// The names are on stable storage.
    pub(super) fn sync(&self) -> std::io::Result<()> {
        let directory = if self.directory.as_os_str().is_empty() { Path::new(".") } else { &self.directory };
        std::fs::File::open(directory)?.sync_all()
    }

    pub(super) fn open(&self, path: PathBuf, access: Access) -> Result<Luks> {
        let place = Location::from(path.clone());
        let file = if access == Access::Write { File::open_rw(&path) } else { File::open(&path) };
        let file = file.map_err(|source| {
            Error::from(keyway_volume::Error::Io { what: format!("opening {}", path.display()), source })
        });
        Luks::open(Arc::new(file.at(&place)?), access).at(&place)
    }
}

/// cryptsetup's name for plaintext, which has no UUID.
const NO_UUID: &str = "cafecafe-cafe-cafe-cafe-cafecafeeeee";
