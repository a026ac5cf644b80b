//! The LUKS1 header on storage. It has no second copy and covers two sectors, so a write to it can
//! be torn: all changes order their writes such that a partially written part is not in use yet.

use crate::error::shared;
use crate::{Error, Result, Storage};
use keyway_format::Sectors;
use keyway_format::luks1::{HEADER_LEN, Header, MAGIC, SlotState};

/// Reads and parses the header; its keyslots must lie on the storage.
pub(crate) fn read(storage: &dyn Storage) -> Result<Header> {
    let header = Header::parse(&read_bytes(storage)?)?;
    let (needs, has) = (areas_end(&header), storage.len());
    if needs > has {
        return Err(keyway_format::Error::Truncated { needs, has }.into());
    }
    Ok(header)
}

/// The bytes of the header.
pub(crate) fn read_bytes(storage: &dyn Storage) -> Result<Vec<u8>> {
    let (needs, has) = (HEADER_LEN as u64, storage.len());
    if needs > has {
        return Err(keyway_format::Error::Truncated { needs, has }.into());
    }
    let mut bytes = vec![0; HEADER_LEN];
    storage.read_at(&mut bytes, 0).map_err(io("reading"))?;
    Ok(bytes)
}

/// Writes the bytes in which `new` differs from `old`, sector by sector, flushes and reads them
/// back. Only for changes that leave a usable header wherever they are interrupted.
pub(crate) fn write_changes(storage: &dyn Storage, old: &[u8], new: &[u8]) -> Result<()> {
    for start in (0..HEADER_LEN).step_by(SECTOR) {
        let sector = start..HEADER_LEN.min(start + SECTOR);
        let differs: Vec<usize> = sector.filter(|&at| old[at] != new[at]).collect();
        if let (Some(&first), Some(&last)) = (differs.first(), differs.last()) {
            storage.write_at(&new[first..=last], first as u64).map_err(io("writing"))?;
        }
    }
    storage.flush().map_err(io("flushing"))?;
    check_written(storage, new)
}

/// Writes one keyslot's descriptor from `header`. Its active word is written separately, last when
/// it is enabled and first when it is disabled, so that a slot is never active while the rest of it
/// is incomplete. Flushes and reads back.
pub(crate) fn write_descriptor(storage: &dyn Storage, header: &Header, slot: usize) -> Result<()> {
    let bytes = header.to_bytes();
    let start = DESCRIPTORS + slot * DESCRIPTOR_LEN;
    let (word, rest) = (start..start + ACTIVE_LEN, start + ACTIVE_LEN..start + DESCRIPTOR_LEN);
    let parts = match header.slots[slot].state {
        SlotState::Enabled => [rest, word],
        SlotState::Disabled | SlotState::Damaged(_) => [word, rest],
    };
    for part in parts {
        storage.write_at(&bytes[part.clone()], part.start as u64).map_err(io("writing"))?;
        storage.flush().map_err(io("flushing"))?;
    }
    check_written(storage, &bytes)
}

/// Length of one keyslot's material, in bytes.
pub(crate) fn material_len(header: &Header) -> u64 {
    header.area_sectors().0 * Sectors::SIZE
}

/// Where the last keyslot ends, in bytes.
pub(crate) fn areas_end(header: &Header) -> u64 {
    header.end_of_areas().0 * Sectors::SIZE
}

/// The UUID of a LUKS1 header that a re-encryption has taken out of use, by this program or by
/// cryptsetup; `None` for anything else.
///
/// # Errors
/// The header cannot be read, or is damaged.
pub fn marked(storage: &dyn Storage) -> Result<Option<String>> {
    let mut bytes = [0; HEADER_LEN];
    if storage.len() < bytes.len() as u64 {
        return Ok(None);
    }
    storage.read_at(&mut bytes, 0).map_err(shared::start_unreadable)?;
    if bytes[..MAGIC.len()] != DEAD_MAGIC || bytes[MAGIC.len()..MAGIC.len() + 2] != [0, 1] {
        return Ok(None);
    }
    bytes[..MAGIC.len()].copy_from_slice(&MAGIC);
    Ok(Some(Header::parse(&bytes)?.uuid.clone()))
}

fn check_written(storage: &dyn Storage, bytes: &[u8]) -> Result<()> {
    if read_bytes(storage)? == bytes {
        return Ok(());
    }
    Err(io("reading back")(shared::other_than_written()))
}

fn io(doing: &'static str) -> impl Fn(std::io::Error) -> Error {
    move |source| Error::Io { what: format!("{doing} the LUKS1 header"), source }
}

const SECTOR: usize = Sectors::SIZE as usize;
/// Where the eight descriptors start, the length of each, and the length of its active word.
const DESCRIPTORS: usize = 208;
const DESCRIPTOR_LEN: usize = 48;
const ACTIVE_LEN: usize = 4;

/// cryptsetup's magic of a LUKS1 header in re-encryption.
pub(crate) const DEAD_MAGIC: [u8; 6] = *b"LUKS\xde\xad";
