//! Where a volume without a LUKS header is made: in a new file, or over what is there.

use super::{Found, claim};
use crate::error::At;
use crate::{Device, Error, Location, Result};
use keyway_volume::Storage;
use keyway_volume::device::storage::{NewFile, Readers};
use std::path::Path;
use std::sync::Arc;

/// What is said of the place.
pub(super) struct Place<'a> {
    /// What is there may be overwritten.
    pub(super) overwrite: bool,
    /// The length of a new file, where it was said.
    pub(super) size: Option<u64>,
    /// Its length where it was not.
    pub(super) len: &'a dyn Fn() -> Result<u64>,
    /// Whether a file may be there.
    pub(super) check: &'a dyn Fn(&NewFile) -> Result<()>,
}

impl Place<'_> {
    /// A new file, which appears when `make` has made the volume on it; or what is there, claimed.
    pub(super) fn fill(
        &self,
        location: Location,
        make: impl FnOnce(&Arc<dyn Storage>) -> Result<()>,
    ) -> Result<Device> {
        match Found::at(&location, self.overwrite)? {
            Found::Nothing(path) => self.new_file(path, make).at(&location)?,
            Found::Something if self.size.is_some() => {
                return Err(Error::has_a_size().at(&location));
            }
            Found::Something => claim(&location).and_then(|claimed| make(&claimed)).at(&location)?,
        }
        Device::open_rw(location)
    }

    fn new_file(&self, path: &Path, make: impl FnOnce(&Arc<dyn Storage>) -> Result<()>) -> Result<()> {
        let size = self.size.map_or_else(self.len, Ok)?;
        let new = NewFile::create(path, false)?;
        (self.check)(&new)?;
        new.file().set_len(size)?;
        make(&(Arc::clone(new.file()) as _))?;
        Ok(new.complete(Readers::Owner)?)
    }
}
