//! Storage that may be overwritten: nobody else uses it, and nobody else can claim it before the
//! last write is done.
//!
//! Functions that write whole devices take an `Exclusive`, or claim their storage themselves, so
//! that no such write can bypass the claim.

use super::{Claimed, Storage};
use crate::Result;
use crate::device::in_use::{Access, InUse};
use std::ops::Deref;
use std::sync::Arc;

/// Storage that only this process uses, until the last reference to this value or to the storage in
/// it is dropped.
#[derive(Clone)]
pub struct Exclusive(Arc<dyn Storage>);

impl Exclusive {
    /// Claims `storage`; storage that is already claimed stays claimed.
    ///
    /// # Errors
    /// [`crate::Error::InUse`] with the holder.
    pub fn claim(storage: Arc<dyn Storage>) -> Result<Self> {
        Self::with(storage, |storage| InUse::acquire(storage, Access::Write, false))
    }

    /// As [`Exclusive::claim`], but allows mappings of the LUKS volume `uuid`: for its header,
    /// never for its data.
    ///
    /// # Errors
    /// As [`Exclusive::claim`].
    pub(crate) fn claim_header(storage: Arc<dyn Storage>, uuid: &str) -> Result<Self> {
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
