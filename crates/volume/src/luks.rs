//! A LUKS header on its storage: detection, both formats, the lock, and where the data lies.

use crate::{Error, Layout, Locking, Result, Storage};
use keyway_format::{luks1, luks2};
use std::sync::Arc;

/// A header of either format.
#[derive(Debug, Clone, PartialEq)]
#[allow(clippy::large_enum_variant)]
pub enum Header {
    /// LUKS1.
    Luks1(luks1::Header),
    /// LUKS2: the fields of the copy that won, and the metadata.
    Luks2 {
        /// The winning copy's binary header.
        binary: luks2::BinaryHeader,
        /// The JSON metadata.
        metadata: luks2::Metadata,
    },
}

/// What a header is opened for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// Reading: shared lock while the header is read; a damaged LUKS2 copy is recovered when storage is writable.
    Read,
    /// Editing: exclusive lock until the [`Luks`] is dropped.
    Write,
    /// Looking only: no lock, no recovery.
    Probe,
}

/// A header, the storage it lives on, and its lock.
pub struct Luks {
    storage: Arc<dyn Storage>,
    header: Header,
    access: Access,
}

impl Luks {
    /// Opens the header on `storage` with the default [`Locking`].
    pub fn open(storage: Arc<dyn Storage>, access: Access) -> Result<Self> {
        Self::open_with(storage, access, Locking::default())
    }

    /// Opens the header on `storage`. [`keyway_format::Error::NotLuks`] when there is none.
    pub fn open_with(storage: Arc<dyn Storage>, access: Access, locking: Locking) -> Result<Self> {
        let _ = (storage, access, locking);
        Err(Error::Refused("not built yet".into()))
    }

    /// The header.
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// 1 or 2.
    pub fn version(&self) -> u8 {
        match self.header {
            Header::Luks1(_) => 1,
            Header::Luks2 { .. } => 2,
        }
    }

    /// The UUID as written in the header.
    pub fn uuid(&self) -> &str {
        match &self.header {
            Header::Luks1(header) => &header.uuid,
            Header::Luks2 { binary, .. } => &binary.uuid,
        }
    }

    /// The storage that holds the header.
    pub fn storage(&self) -> &Arc<dyn Storage> {
        &self.storage
    }

    /// What it was opened for.
    pub fn access(&self) -> Access {
        self.access
    }

    /// Refuses when the header demands a feature this build does not know, by name. Everything that opens or edits
    /// asks; dumps, UUID and isLuks do not.
    pub fn check_requirements(&self) -> Result<()> {
        Ok(())
    }

    /// What of the data device is plaintext where.
    pub fn layout(&self) -> Result<Layout> {
        Err(Error::Refused("not built yet".into()))
    }
}
