//! A LUKS header on its storage: detection, both formats, the lock, and the location of the data.

use crate::device::lock::{HeaderLock, LockMode};
use crate::error::shared;
use crate::header::luks1_disk;
use crate::header::luks2_disk::Copies;
use crate::{Error, InUse, Layout, Locking, OsRandom, Refusal, Result, Storage, UnderWay};
use keyway_format::luks2::reencryption::CONVERSION;
use keyway_format::luks2::{Segment, SegmentKind, SegmentSize};
use keyway_format::{luks1, luks2};
use std::sync::Arc;

mod ciphers;
mod edit;
mod keyslots;

pub use ciphers::DataCiphers;
pub(crate) use edit::Edit;
pub use keyslots::KeyslotState;

/// A header of either format.
#[derive(Debug, Clone, PartialEq)]
#[allow(clippy::large_enum_variant)]
pub enum Header {
    /// LUKS1.
    Luks1(luks1::Header),
    /// LUKS2: the fields of the winning copy, and the metadata.
    Luks2 {
        /// The winning copy's binary header.
        binary: luks2::BinaryHeader,
        /// The JSON metadata.
        metadata: luks2::Metadata,
    },
}

/// The purpose for which a header is opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// Reading: takes a shared lock while the header is read; a damaged LUKS2 copy is recovered
    /// when storage is writable.
    Read,
    /// Editing: like reading; each edit takes the exclusive lock, and is refused when the header
    /// has changed since.
    Write,
    /// Inspection only: no lock, no recovery.
    Probe,
}

/// A header, its storage, and how it is locked.
pub struct Luks {
    storage: Arc<dyn Storage>,
    header: Header,
    access: Access,
    locking: Locking,
    /// Edits are not refused because of the seal.
    ignores_seal: bool,
}

impl Luks {
    /// Opens the header on `storage` with the default [`Locking`].
    pub fn open(storage: Arc<dyn Storage>, access: Access) -> Result<Self> {
        Self::open_with(storage, access, Locking::default())
    }

    /// Opens the header on `storage`. Returns [`keyway_format::Error::NotLuks`] when there is none.
    pub fn open_with(storage: Arc<dyn Storage>, access: Access, locking: Locking) -> Result<Self> {
        let lock_reads = if access == Access::Probe { Locking::Disabled } else { locking };
        let lock = HeaderLock::acquire(&*storage, LockMode::Shared, lock_reads)?;
        let (header, damaged) = read_header(&*storage)?;
        drop(lock);
        if damaged && access != Access::Probe && locking != Locking::Disabled {
            recover(&*storage, locking)?;
        }
        Ok(Self { storage, header, access, locking, ignores_seal: false })
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
        self.header.uuid()
    }

    /// Whether the other header is the same, byte for byte, apart from the fields that differ
    /// between the copies of one header.
    pub fn is_same(&self, other: &Self) -> bool {
        self.header.is_same_state(&other.header)
    }

    /// The storage that holds the header.
    pub fn storage(&self) -> &Arc<dyn Storage> {
        &self.storage
    }

    /// The LUKS2 header copy that is now damaged or older than the other on storage; `None` when
    /// both are sound.
    pub fn damaged_copy(&self) -> Result<Option<luks2::Copy>> {
        match &self.header {
            Header::Luks1(_) => Ok(None),
            Header::Luks2 { .. } => Ok(Copies::read(&*self.storage)?.damaged),
        }
    }

    /// The purpose for which it was opened.
    pub fn access(&self) -> Access {
        self.access
    }

    /// Refuses a header that requires a feature this build does not know, and names the feature; and
    /// one in the middle of a reencryption. All operations that edit call this; dumps, UUID and isLuks
    /// do not.
    pub fn check_requirements(&self) -> Result<()> {
        match &self.header {
            Header::Luks2 { metadata, .. } => match metadata.config.requirements.first() {
                Some(name) if REENCRYPTION.contains(&name.as_str()) => {
                    self.check_readable()?;
                    Err(Refusal::Reencrypting.because(
                        "The volume is in the middle of a reencryption, which has to end first: \"keyway reencrypt \
                         --resume-only\" finishes it.",
                    ))
                }
                Some(name) => Err(keyway_format::Error::Requirement(name.clone()).into()),
                None => Ok(()),
            },
            Header::Luks1(_) => Ok(()),
        }
    }

    /// Whether a self-encrypting drive encrypts its data, by a key that only this header has.
    pub fn is_opal(&self) -> bool {
        matches!(&self.header, Header::Luks2 { metadata, .. } if metadata.is_opal())
    }

    /// As [`Luks::check_requirements`], but takes a reencryption that is under way: all operations
    /// that open call this.
    pub fn check_readable(&self) -> Result<()> {
        let Header::Luks2 { metadata, .. } = &self.header else { return Ok(()) };
        let mut unmet = metadata.config.requirements.iter();
        match unmet.find(|name| !REENCRYPTION.contains(&name.as_str())) {
            Some(name) => Err(keyway_format::Error::Requirement(name.clone()).into()),
            None => Ok(()),
        }
    }

    /// Refuses a header that is another by now.
    pub(crate) fn check_unchanged(&self) -> Result<()> {
        match self.header.is_same_state(&read_header(&*self.storage)?.0) {
            true => Ok(()),
            false => Err(shared::changed_while_opening()),
        }
    }

    /// Where the data starts on the data device, in bytes.
    pub fn data_offset(&self) -> Result<u64> {
        Ok(self.header.layout()?.segments.first().map_or(0, |segment| segment.storage_offset))
    }

    /// Takes the shared lock for reading key material.
    pub(crate) fn lock_shared(&self) -> Result<Option<HeaderLock>> {
        let locking = if self.access == Access::Probe { Locking::Disabled } else { self.locking };
        HeaderLock::acquire(&*self.storage, LockMode::Shared, locking)
    }

    /// The same header once more, for reading.
    pub fn clone_for_reading(&self) -> Self {
        let (storage, header) = (Arc::clone(&self.storage), self.header.clone());
        Self { storage, header, access: Access::Read, locking: self.locking, ignores_seal: self.ignores_seal }
    }

    /// The same header, for reading.
    pub(crate) fn reading(self) -> Self {
        Self { access: Access::Read, ..self }
    }

    /// The header as it is on storage now, for editing.
    ///
    /// # Errors
    /// It cannot be read; its storage was opened for reading.
    pub fn again_for_writing(&self) -> Result<Self> {
        let again = Self::open_with(Arc::clone(&self.storage), Access::Write, self.locking)?;
        Ok(again.ignoring_seal(self.ignores_seal))
    }

    /// After a write that failed: takes over what it was to write, if that is what is on storage now.
    pub(crate) fn settle(&mut self, attempted: &luks2::Metadata) -> Result<()> {
        let now = self.again_for_writing()?;
        match &now.header {
            Header::Luks2 { metadata, .. } if metadata == attempted && now.uuid() == self.uuid() => {
                self.header = now.header;
                Ok(())
            }
            _ => Ok(()),
        }
    }

    pub(crate) fn locking(&self) -> Locking {
        self.locking
    }

    /// Replaces the header in memory after an edit was written.
    pub(crate) fn set_header(&mut self, header: Header) {
        self.header = header;
    }

    /// Wraps a header that was just written.
    pub(crate) fn from_parts(storage: Arc<dyn Storage>, header: Header, locking: Locking) -> Self {
        Self { storage, header, access: Access::Write, locking, ignores_seal: false }
    }
}

impl Header {
    /// Bytes of the volume on a device of `device_len` bytes, as it has them; nothing is under way.
    pub fn data_len_on(&self, device_len: u64) -> u64 {
        let to_the_end = |offset: u64, sector: u32| {
            let len = device_len.saturating_sub(offset);
            len - len % u64::from(sector.max(1))
        };
        match self {
            Self::Luks1(header) => to_the_end(header.payload_offset.0.saturating_mul(512), 512),
            Self::Luks2 { metadata, .. } => match metadata.segments.get(&0) {
                Some(Segment { size: SegmentSize::Fixed(size), .. }) => size.0,
                Some(Segment { kind: SegmentKind::Crypt { sector_size, .. }, offset, .. }) => {
                    to_the_end(offset.0, *sector_size)
                }
                Some(segment) => to_the_end(segment.offset.0, 512),
                None => 0,
            },
        }
    }

    /// The UUID as written in it.
    pub(crate) fn uuid(&self) -> &str {
        match self {
            Self::Luks1(header) => &header.uuid,
            Self::Luks2 { binary, .. } => &binary.uuid,
        }
    }

    /// Maps the plaintext to the data device, whatever the header requires.
    pub(crate) fn layout(&self) -> Result<Layout> {
        match self {
            Self::Luks1(header) => Layout::of_luks1(header),
            Self::Luks2 { metadata, .. } => Layout::of_luks2(metadata),
        }
    }

    /// The volume key's length in bytes; `None` when the header does not state it (LUKS2 without
    /// keyslots).
    pub fn volume_key_len(&self) -> Option<usize> {
        match self {
            Self::Luks1(header) => Some(header.key_bytes as usize),
            Self::Luks2 { metadata, .. } => {
                let first = UnderWay::of(self).ok().flatten().and_then(|what| what.first_digest());
                let serves = |(id, digest): &(&u32, &luks2::Digest)| match first {
                    Some(first) => first == **id,
                    None => digest.segments.contains(&0),
                };
                let (_, digest) = metadata.digests.iter().find(serves)?;
                let keyslot = metadata.keyslots.get(digest.keyslots.first()?)?;
                Some(keyslot.key_size as usize)
            }
        }
    }

    /// Where header and keyslots end, in bytes.
    pub(crate) fn end(&self) -> u64 {
        match self {
            Self::Luks1(header) => luks1_disk::areas_end(header),
            Self::Luks2 { metadata, .. } => metadata.header_and_keyslots_size().0,
        }
    }

    /// Whether both are equal, whichever copy was read: salts differ between the copies.
    pub(crate) fn is_same_state(&self, other: &Self) -> bool {
        match (self, other) {
            (
                Self::Luks2 { binary, metadata },
                Self::Luks2 { binary: other_binary, metadata: other_metadata },
            ) => {
                binary.sequence_id == other_binary.sequence_id
                    && binary.uuid == other_binary.uuid
                    && metadata == other_metadata
            }
            _ => self == other,
        }
    }
}

impl From<luks2::HeaderCopy> for Header {
    fn from(good: luks2::HeaderCopy) -> Self {
        Self::Luks2 { binary: good.binary, metadata: good.metadata }
    }
}

/// The header on `storage`, and whether one of its copies needs recovery.
pub(crate) fn read_header(storage: &dyn Storage) -> Result<(Header, bool)> {
    if is_luks1(storage)? {
        return Ok((Header::Luks1(luks1_disk::read(storage)?), false));
    }
    let copies = Copies::read(storage)?;
    copies.check_recoverable(storage)?;
    let damaged = copies.damaged.is_some();
    Ok((copies.winner.into(), damaged))
}

/// Whether the storage starts with LUKS1's magic and version.
pub(crate) fn is_luks1(storage: &dyn Storage) -> Result<bool> {
    let mut start = [0; 8];
    if storage.len() < start.len() as u64 {
        return Ok(false);
    }
    storage.read_at(&mut start, 0).map_err(shared::start_unreadable)?;
    Ok(start == *b"LUKS\xba\xbe\x00\x01")
}

/// Recovers a damaged copy if the storage is writable. Failure is not an error, because the other
/// copy is good.
fn recover(storage: &dyn Storage, locking: Locking) -> Result<()> {
    let lock = match HeaderLock::acquire(storage, LockMode::Exclusive, locking) {
        // A reader is not refused because of this; an edit will be.
        Err(Error::NoLock(_)) => return Ok(()),
        other => other?,
    };
    let mut copies = Copies::read(storage)?;
    copies.check_recoverable(storage)?;
    // Nor is the copy written into a file system that was created over the volume and is mounted.
    let alone = match storage.is_exclusive() {
        true => Ok(InUse::default()),
        false => InUse::acquire_beside_mappings(storage, &copies.winner.binary.uuid),
    };
    if let Ok(_alone) = alone {
        let _ = copies.recover(storage, &mut OsRandom);
    }
    drop(lock);
    Ok(())
}

/// An edit overwrites the primary first, so the secondary must be good before that.
fn recover_locked(storage: &dyn Storage) -> Result<()> {
    Copies::read(storage)?.recover(storage, &mut OsRandom)
}

/// The requirements of a reencryption that is under way.
const REENCRYPTION: [&str; 4] =
    ["online-reencrypt", "online-reencrypt-v2", "online-reencrypt-v3", CONVERSION];
