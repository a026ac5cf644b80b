//! Edits a header in place. At whatever byte a write is interrupted, the header then opens with the
//! old or the new keys: new key material is on stable storage before a header refers to it, and
//! LUKS2's two copies are never incomplete at the same time.

pub mod config;
mod guard;
pub mod keyslots;
pub mod tokens;
mod wipe;

pub use crate::error::Unwiped;
pub use config::{set_label, set_persistent_flags, set_priority, set_uuid};
pub use guard::{kill_slot_but_last, prove_another_key};
pub(crate) use keyslots::luks2::{NewKeyslot, Sealed, free_area, free_number as free_keyslot};
pub use keyslots::{
    AddKey, add_key, add_unbound_key, change_key, convert_key, erase, has_room, kill_slot, same_cost,
};
pub use tokens::{token_assign, token_export, token_import, token_number, token_remove, token_unassign};
pub(crate) use wipe::wipe_area;

use crate::error::shared;
use crate::header::luks::Edit;
use crate::header::luks2_disk::write_both;
use crate::{Error, Header, Luks, Random, Result, Storage};
use keyway_format::luks2::{BinaryHeader, Metadata};

/// Changes the metadata of a LUKS2 header under its lock and writes
/// both copies with the next sequence id.
pub(crate) fn edit_luks2(
    luks: &mut Luks,
    rng: &mut dyn Random,
    change: impl FnOnce(&mut BinaryHeader, &mut Metadata) -> Result<()>,
) -> Result<()> {
    edit_luks2_as(luks, Edit::Change, rng, change)
}

/// As [`edit_luks2`], for an edit of this kind.
pub(crate) fn edit_luks2_as(
    luks: &mut Luks,
    edit: Edit,
    rng: &mut dyn Random,
    change: impl FnOnce(&mut BinaryHeader, &mut Metadata) -> Result<()>,
) -> Result<()> {
    let (mut binary, mut metadata) = luks2_parts(luks)?;
    // Impossible changes are refused before waiting for the lock.
    change(&mut binary, &mut metadata)?;
    let lock = luks.lock_for(edit)?;
    commit_luks2(luks, binary, &metadata, rng)?;
    drop(lock);
    Ok(())
}

/// Writes both copies with the next sequence id. The lock must be held.
pub(crate) fn commit_luks2(
    luks: &mut Luks,
    mut binary: BinaryHeader,
    metadata: &Metadata,
    rng: &mut dyn Random,
) -> Result<()> {
    // Whoever writes the storage once can put the highest id there. Then the ids begin again: until both
    // copies are written, the one with the highest id wins, whose header is complete, and after that the
    // ids are equal. (cryptsetup's own counter wraps around in the same way.)
    binary.set_sequence_id(binary.sequence_id.checked_add(1).unwrap_or(FIRST_ID));
    let good = write_both(&**luks.storage(), &binary, metadata, rng)?;
    luks.set_header(good.into());
    Ok(())
}

/// The sequence id of a new header.
const FIRST_ID: u64 = 1;

/// What became of a removal of keyslots: the header is written whatever happened to the areas.
fn removed(unwiped: Vec<Unwiped>, written: Result<()>) -> Result<()> {
    match written {
        Ok(()) if unwiped.is_empty() => Ok(()),
        written => Err(Error::NotWiped { areas: unwiped, header: written.err().map(Box::new) }),
    }
}

/// Copies of both parts of a LUKS2 header, to be changed.
pub(crate) fn luks2_parts(luks: &Luks) -> Result<(BinaryHeader, Metadata)> {
    luks.check_requirements()?;
    match luks.header() {
        Header::Luks2 { binary, metadata } => Ok((binary.clone(), metadata.clone())),
        Header::Luks1(_) => Err(shared::only_luks2()),
    }
}

/// Writes key material and waits until it is on stable storage: only then may a header refer to it.
pub(crate) fn write_material(storage: &dyn Storage, offset: u64, material: &[u8]) -> Result<()> {
    let io =
        |doing: &str, source| Error::Io { what: format!("{doing} key material at offset {offset}"), source };
    storage.write_at(material, offset).map_err(|source| io("writing", source))?;
    storage.flush().map_err(|source| io("flushing", source))?;
    let mut back = vec![0; material.len()];
    storage.read_at(&mut back, offset).map_err(|source| io("reading back", source))?;
    if back == material { Ok(()) } else { Err(io("reading back", shared::other_than_written())) }
}
