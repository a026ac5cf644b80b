//! Storage that may be overwritten: nobody else uses it, and nobody
//! else gets it before the last write is done.
//!
//! Whatever writes whole devices takes one, or claims its storage itself, so that
//! there is no way to such a write around the claim.

use super::{Claimed, Storage};
use crate::Result;
use crate::in_use::{Access, InUse};
use std::ops::Deref;
use std::sync::Arc;

/// Storage that this process alone uses, for as long as anybody holds
/// on to this or to the storage in it.
#[derive(Clone)]
pub struct Exclusive(Arc<dyn Storage>);

impl Exclusive {
    /// Claims `storage`; one that is claimed already stays so.
    ///
    /// # Errors
    /// [`crate::Error::InUse`] with who has it.
    pub fn claim(storage: Arc<dyn Storage>) -> Result<Self> {
        Self::with(storage, |storage| InUse::acquire(storage, Access::Write, false))
    }

    /// As [`Exclusive::claim`], beside mappings of the LUKS volume
    /// `uuid`: for its header, never for its data.
    ///
    /// # Errors
    /// As [`Exclusive::claim`].
    pub fn claim_header(storage: Arc<dyn Storage>, uuid: &str) -> Result<Self> {
        Self::with(storage, |storage| InUse::acquire_beside_mappings(storage, uuid))
    }

    fn with(storage: Arc<dyn Storage>, acquire: impl FnOnce(&dyn Storage) -> Result<InUse>) -> Result<Self> {
        if storage.is_exclusive() {
            return Ok(Self(storage));
        }
        let mark = acquire(&*storage)?;
        Ok(Self(Arc::new(Claimed::new(storage, mark))))
    }
}

impl Deref for Exclusive {
    type Target = Arc<dyn Storage>;

    fn deref(&self) -> &Self::Target {
        &self.0
    }
}
