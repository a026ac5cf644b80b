//! The two copies of a LUKS2 header on storage: which one is valid, how the other is recovered, how
//! both are written.
//!
//! The copy with the higher sequence id wins. The primary is at offset 0, the secondary directly
//! after it; if the primary is lost, the secondary is searched for at the nine possible offsets
//! (LUKS2 on-disk format 1.1, section 2.1).

use crate::device::probe;
use crate::error::shared;
use crate::random::random_bytes;
use crate::{Error, Random, Refusal, Result, Storage};
use keyway_format::luks2::{
    BinaryHeader, Copy, HeaderCopy, HeaderSize, Metadata, secondary_candidates, select,
};

/// The result of reading: the winning copy, and whether the other one needs to be rewritten.
#[derive(Debug)]
pub(crate) struct Copies {
    pub(crate) winner: HeaderCopy,
    pub(crate) damaged: Option<Copy>,
}

impl Copies {
    /// Reads both copies. Returns [`keyway_format::Error::NotLuks`] when there is no trace of
    /// either; [`keyway_format::Error::UnsupportedVersion`] when the primary is a header of a later
    /// version, whatever follows it.
    pub(crate) fn read(storage: &dyn Storage) -> Result<Self> {
        let first = read_bytes(storage, 0, Copy::Primary);
        if let Err(error @ Error::Format(keyway_format::Error::UnsupportedVersion(_))) = first {
            return Err(error);
        }
        let candidates = secondary_candidates(first.as_deref().unwrap_or_default());
        let primary = first.and_then(|bytes| Ok(HeaderCopy::parse(&bytes, Copy::Primary)?));
        let selection = select(primary, find_secondary(storage, &candidates)).map_err(more_telling)?;
        let copies = Self { winner: selection.header, damaged: selection.recover };
        check_fits(&copies.winner, storage)?;
        Ok(copies)
    }

    /// Rewrites the damaged copy from the good one, with a new salt and the same sequence id.
    pub(crate) fn recover(&mut self, storage: &dyn Storage, rng: &mut dyn Random) -> Result<()> {
        let Some(damaged) = self.damaged else { return Ok(()) };
        let binary = self.winner.binary.as_copy(damaged, random_bytes(rng)?);
        write_copy(storage, &binary, &self.winner.metadata)?;
        self.damaged = None;
        Ok(())
    }

    /// Refuses a recovery that could destroy the device's current content.
    pub(crate) fn check_recoverable(&self, storage: &dyn Storage) -> Result<()> {
        if self.damaged.is_none() {
            return Ok(());
        }
        let found = probe::foreign(storage)
            .map_err(|source| Error::Io { what: "looking for other signatures".into(), source })?;
        found.map_or(Ok(()), |signature| {
            Err(Refusal::Ambiguous.because(format!(
                "Device contains ambiguous signatures ({} beside a damaged LUKS2 header), cannot auto-recover LUKS2. \
                 Run repair for recovery.",
                signature.name
            )))
        })
    }
}

/// Refuses a header whose keyslots end after the storage does.
pub(crate) fn check_fits(header: &HeaderCopy, storage: &dyn Storage) -> Result<()> {
    let (needs, has) = (header.metadata.header_and_keyslots_size().0, storage.len());
    if needs > has { Err(keyway_format::Error::Truncated { needs, has }.into()) } else { Ok(()) }
}

/// Writes both copies, primary first, flushing each, and reads them back. `binary` holds the new
/// sequence id; both copies get new salts. Returns the copy that is now the valid one.
pub(crate) fn write_both(
    storage: &dyn Storage,
    binary: &BinaryHeader,
    metadata: &Metadata,
    rng: &mut dyn Random,
) -> Result<HeaderCopy> {
    let primary = binary.as_copy(Copy::Primary, random_bytes(rng)?);
    let secondary = binary.as_copy(Copy::Secondary, random_bytes(rng)?);
    // Make sure that both fit before the first byte is written.
    for copy in [&primary, &secondary] {
        copy.copy_to_bytes(&metadata.to_json())?;
    }
    write_copy(storage, &primary, metadata)?;
    write_copy(storage, &secondary, metadata)?;
    Ok(HeaderCopy { binary: primary, metadata: metadata.clone() })
}

/// Writes one copy, flushes it and reads it back.
pub(crate) fn write_copy(storage: &dyn Storage, binary: &BinaryHeader, metadata: &Metadata) -> Result<()> {
    let bytes = binary.copy_to_bytes(&metadata.to_json())?;
    let offset = match binary.copy {
        Copy::Primary => 0,
        Copy::Secondary => binary.size.bytes().0,
    };
    let io = |doing: &'static str| move |source| shared::luks2_header(doing, offset, source);
    storage.write_at(&bytes, offset).map_err(io("writing"))?;
    storage.flush().map_err(io("flushing"))?;
    let mut back = vec![0; bytes.len()];
    storage.read_at(&mut back, offset).map_err(io("reading back"))?;
    if back != bytes {
        return Err(io("reading back")(shared::other_than_written()));
    }
    Ok(())
}

/// The first of the candidates that is valid, or else the most specific error.
fn find_secondary(storage: &dyn Storage, candidates: &[HeaderSize]) -> Result<HeaderCopy> {
    let mut error = keyway_format::Error::NotLuks.into();
    for offset in candidates.iter().map(|size| size.bytes().0).filter(|offset| 2 * offset <= storage.len()) {
        let bytes = read_bytes(storage, offset, Copy::Secondary);
        match bytes.and_then(|bytes| Ok(HeaderCopy::parse(&bytes, Copy::Secondary)?)) {
            Ok(copy) => return Ok(copy),
            Err(next) => error = more_telling((error, next)),
        }
    }
    Err(error)
}

/// The first error, unless it only says that there is no header.
fn more_telling((first, second): (Error, Error)) -> Error {
    if matches!(first, Error::Format(keyway_format::Error::NotLuks)) { second } else { first }
}

/// The bytes of the copy at `offset`, as many as its header states.
fn read_bytes(storage: &dyn Storage, offset: u64, copy: Copy) -> Result<Vec<u8>> {
    // If the device ends before that, the available bytes show whether it is LUKS at all.
    let there = storage.len().saturating_sub(offset).min(BinaryHeader::LEN as u64);
    let mut bytes = vec![0; there as usize];
    read(storage, &mut bytes, offset)?;
    let size = BinaryHeader::parse(&bytes, copy)?.size.bytes().0;
    if copy == Copy::Secondary && size != offset {
        return Err(keyway_format::Error::NotLuks.into());
    }
    bytes.resize(size as usize, 0);
    read(storage, &mut bytes, offset)?;
    Ok(bytes)
}

fn read(storage: &dyn Storage, bytes: &mut [u8], offset: u64) -> Result<()> {
    let (needs, has) = (offset + bytes.len() as u64, storage.len());
    if needs > has {
        return Err(keyway_format::Error::Truncated { needs, has }.into());
    }
    storage
        .read_at(bytes, offset)
        .map_err(|source| Error::Io { what: format!("reading a LUKS2 header at offset {offset}"), source })
}
