//! LUKS1, re-encrypted so that no power cut loses a sector.
//!
//! LUKS1 has no room for what a re-encryption has to remember, and one copy of its header. Both are
//! kept in files: the header as it will be, and the state, a LUKS2 header without keyslots over the
//! same data, which [`Job`](super::Job) works on as on any other.
//!
//! ```text
//! prepare   the state is in its file; nothing else has changed
//! mark      the header on the device gets cryptsetup's magic for "in re-encryption": nothing opens it
//! Job       zone by zone, with the state in its file
//! install   the new header takes the place of the old one, its magic last; then the files can go
//! ```

use super::begin::{Begin, begin};
use super::keys::{metadata, under_way};
use super::terms::Terms;
use crate::change::convert::data_segment;
use crate::change::create::{new_digest, zero};
use crate::change::edit::commit_luks2;
use crate::device::lock::{HeaderLock, LockMode};
use crate::device::storage::extend_to;
use crate::device::stream::Meter;
use crate::error::shared;
use crate::header::luks::Edit;
pub use crate::header::luks1_disk::marked;
use crate::header::luks1_disk::{self, DEAD_MAGIC};
use crate::header::luks2_disk::write_both;
use crate::header::under_way::geometry::volume_len;
use crate::random::random_bytes;
use crate::{Access, Cost, Error, Header, KdfChoice, Locking, Luks, Random, Refusal, Result, Storage};
use keyway_crypto::{Hash, Secret};
use keyway_format::Bytes;
use keyway_format::luks1::{self, HEADER_LEN, MAGIC, SlotState};
use keyway_format::luks2::reencryption::{Direction, State};
use keyway_format::luks2::{AREA_ALIGNMENT, BinaryHeader, HeaderSize, Metadata, NewMetadata};
use std::sync::Arc;

/// A LUKS1 volume before or after, with its volume key.
#[derive(Clone, Copy)]
pub struct Side<'a> {
    /// Its header.
    pub header: &'a luks1::Header,
    /// Its volume key.
    pub key: &'a Secret,
}

/// Writes the state of a re-encryption that has not begun to move data into `file`. One side is
/// missing where that is plaintext. Where both have the same data, only the header is to change.
///
/// # Errors
/// Those of [`begin`]. Nothing but the file was changed then.
pub fn prepare(
    file: Arc<dyn Storage>,
    data: &dyn Storage,
    (old, new): (Option<Side<'_>>, Option<Side<'_>>),
    terms: &Terms,
    rng: &mut dyn Random,
) -> Result<()> {
    let first = old.or(new).ok_or_else(|| Refusal::Unusable.because("nothing is encrypted"))?;
    let terms = Terms { kdf: cheap(), holds_header: false, ..terms.clone() };
    let mut luks = describe(file, first, rng)?;
    let offset = |side: Side<'_>| side.header.payload_offset.0 * 512;
    let (what, shift, spec);
    match (old, new) {
        (Some(old), Some(new)) if has_same_data(old, new) => return Ok(()),
        (Some(old), Some(new)) => {
            spec = new.header.cipher();
            shift = offset(new).checked_sub(offset(old));
            what = Begin::Reencrypt { cipher: &spec, sector_size: 512, new: Some((new.key, &[])) };
        }
        (None, Some(new)) => (what, shift) = (Begin::Encrypt { moves: false }, Some(offset(new))),
        (Some(old), None) => (what, shift) = (Begin::Decrypt, Some(offset(old))),
        (None, None) => return Ok(()),
    }
    let shift = shift.ok_or_else(|| Refusal::Geometry.because("the data cannot move forward"))?;
    begin(&mut luks, data, first.key, what, &Terms { shift, ..terms }, rng).map(drop)
}

/// A LUKS2 header in `file` over the data of a LUKS1 volume.
fn describe(file: Arc<dyn Storage>, side: Side<'_>, rng: &mut dyn Random) -> Result<Luks> {
    let offset = side.header.payload_offset.0 * 512;
    let end = if offset == 0 { STATE_LEN } else { offset.min(STATE_LEN) };
    let keyslots_size = end.saturating_sub(SIZE.keyslots_start().0) / AREA_ALIGNMENT.0 * AREA_ALIGNMENT.0;
    let metadata = Metadata::new(&NewMetadata {
        header_size: SIZE,
        keyslots_size: Bytes(keyslots_size),
        segment: &data_segment(side.header, offset),
        digest: &new_digest(Hash::Sha256, side.key, &cheap(), rng)?,
    })?;
    let binary = BinaryHeader::new(SIZE, &side.header.uuid, random_bytes(rng)?)?;
    let io = |source| Error::Io { what: "writing the state of the reencryption".into(), source };
    extend_to(&*file, SIZE.keyslots_start().0 + keyslots_size).map_err(io)?;
    write_both(&*file, &binary, &metadata, rng)?;
    Luks::open_with(file, Access::Write, Locking::default())
}

/// A LUKS2 header in memory over the data of a LUKS1 volume, for [`Plan`](super::Plan): as the state of
/// its re-encryption would have it.
///
/// # Errors
/// Sizes that no volume can have.
pub fn planned(header: &luks1::Header) -> Result<Luks> {
    let key = Secret::zeroed(header.key_bytes as usize);
    let file = Arc::new(crate::device::storage::Memory::zeroed(STATE_LEN as usize));
    describe(file, Side { header, key: &key }, &mut crate::OsRandom)
}

/// Whether both sides have the same ciphertext.
fn has_same_data(old: Side<'_>, new: Side<'_>) -> bool {
    old.header.cipher() == new.header.cipher()
        && old.key.expose() == new.key.expose()
        && old.header.payload_offset == new.header.payload_offset
}

/// Takes the volume out of use: nothing opens the header from here on.
///
/// # Errors
/// The header changed meanwhile, or cannot be written.
pub fn mark(luks: &Luks) -> Result<()> {
    let Header::Luks1(_) = luks.header() else {
        return Err(shared::only_luks1());
    };
    let lock = luks.lock_for(Edit::Change)?;
    write(&**luks.storage(), &DEAD_MAGIC, 0)?;
    drop(lock);
    Ok(())
}

/// How far a re-encryption is that another program began, in bytes of the volume.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Done {
    /// From the start to here.
    UpTo(u64),
    /// From here to the end.
    From(u64),
}

/// Tells a state that [`prepare`] has written how far another program has got. `device_len` is the
/// length of the data device in bytes.
///
/// # Errors
/// It goes the other way, or is beyond the end.
pub fn advance(file: Arc<dyn Storage>, done: Done, device_len: u64, rng: &mut dyn Random) -> Result<()> {
    let mut luks = Luks::open_with(file, Access::Write, Locking::default())?;
    let what = under_way(&luks)?;
    let Header::Luks2 { binary, metadata } = luks.header() else {
        return Err(shared::only_luks2());
    };
    let (binary, mut metadata) = (binary.clone(), metadata.clone());
    let state = what.state(&metadata)?;
    let len = volume_len(&what, &state, device_len)?;
    let done = match (done, what.direction) {
        (Done::UpTo(0), Direction::Forward) => return Ok(()),
        (Done::UpTo(end), Direction::Forward) if end < len => 0..end,
        (Done::UpTo(_), Direction::Forward) => 0..state.total,
        // Before the first part, cryptsetup writes the largest number.
        (Done::From(start), Direction::Backward) if start >= len => return Ok(()),
        (Done::From(start), Direction::Backward) => start..state.total,
        _ => return Err(Refusal::Geometry.because("the log and the data go in opposite directions")),
    };
    if !done.start.is_multiple_of(512) || (done.end < len && !done.end.is_multiple_of(512)) {
        return Err(Refusal::Geometry.because("the log ends inside a sector"));
    }
    metadata.set_reencryption_state(&what, &State { done, ..state })?;
    let lock = luks.lock_for(Edit::Reencryption)?;
    commit_luks2(&mut luks, binary, &metadata, rng)?;
    drop(lock);
    Ok(())
}

/// Whether data may have changed since [`prepare`]. Before, the header must be taken out of use.
///
/// # Errors
/// The state contradicts itself.
pub fn has_begun(state: &Luks) -> Result<bool> {
    let metadata = metadata(state)?;
    Ok(match metadata.reencryption()? {
        Some(what) => {
            let state = what.state(metadata)?;
            state.hot.is_some() || !state.done.is_empty()
        }
        None => true,
    })
}

/// Puts the new header, which is in a file, where the old one was. Old keyslots are overwritten. May
/// be repeated until it succeeds: the header on the device is not valid before.
///
/// # Errors
/// It does not fit, or the device fails.
pub fn install(new: &Luks, storage: &dyn Storage, holds_data: bool, rng: &mut dyn Random) -> Result<()> {
    let Header::Luks1(header) = new.header() else {
        return Err(shared::only_luks1());
    };
    let areas_end = luks1_disk::areas_end(header);
    let end = if holds_data { header.payload_offset.0 * 512 } else { areas_end };
    if end < areas_end {
        return Err(Refusal::NoRoom.because(format!("the keyslots end at byte {areas_end}, over the data")));
    }
    let lock = HeaderLock::acquire(storage, LockMode::Exclusive, new.locking())?;
    extend_to(storage, end).map_err(io)?;
    write(storage, &DEAD_MAGIC, 0)?;
    zero(storage, HEADER_LEN as u64..end, &Meter::new())?;
    for slot in &header.slots {
        let mut material = vec![0; luks1_disk::material_len(header) as usize];
        match slot.state {
            SlotState::Enabled => new.storage().read_at(&mut material, slot.offset.0 * 512).map_err(io)?,
            SlotState::Disabled | SlotState::Damaged(_) => rng.fill(&mut material)?,
        }
        crate::change::edit::write_material(storage, slot.offset.0 * 512, &material)?;
    }
    let bytes = header.to_bytes();
    write(storage, &bytes[MAGIC.len()..], MAGIC.len() as u64)?;
    write(storage, &bytes[..MAGIC.len()], 0)?;
    drop(lock);
    Ok(())
}

/// Zeroes what a decrypted volume leaves at the end of its device: as many bytes as its header and
/// keyslots took at the start.
///
/// # Errors
/// The device fails.
pub fn wipe_rest(old: &Luks, data: &dyn Storage) -> Result<()> {
    let rest = old.data_offset()?.min(data.len());
    zero(data, data.len() - rest..data.len(), &Meter::new())
}

fn write(storage: &dyn Storage, bytes: &[u8], offset: u64) -> Result<()> {
    storage.write_at(bytes, offset).map_err(io)?;
    storage.flush().map_err(io)
}

fn io(source: std::io::Error) -> Error {
    Error::Io { what: "writing the LUKS1 header".into(), source }
}

/// A volume key is random: there is nothing to guess that would have to be slow.
fn cheap() -> KdfChoice {
    KdfChoice::Pbkdf2 { hash: "sha256".into(), cost: Cost::Forced(1000) }
}

/// Size of each copy of the state's header.
const SIZE: HeaderSize = HeaderSize::ALL[0];
/// The longest state in bytes: a header, and room for what protects a hot zone.
const STATE_LEN: u64 = 16 << 20;
