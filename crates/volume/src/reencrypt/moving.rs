//! What moves before a re-encryption: the first part of the data, to where it waits, and a header that
//! takes its place.

use super::CHUNK;
use super::keys::metadata;
use crate::{Error, Luks, Refusal, Result, Storage};
use keyway_crypto::Secret;
use keyway_format::luks2::Reencryption;

/// Copies the first part of the data to where it waits, and waits until that is on stable storage.
pub(super) fn move_first(what: &Reencryption, data: &dyn Storage) -> Result<()> {
    let Some(moved) = &what.moved else { return Ok(()) };
    let io = |source| Error::Io { what: "moving the first part of the data".into(), source };
    let (from, to, len) = (what.old.segment.offset.0, moved.segment.offset.0, what.moved_len());
    let mut buffer = Secret::zeroed(len.min(CHUNK) as usize);
    let mut at = 0;
    while at < len {
        let part = &mut buffer.expose_mut()[..(len - at).min(CHUNK) as usize];
        data.read_at(part, from + at).map_err(io)?;
        data.write_at(part, to + at).map_err(io)?;
        at += part.len() as u64;
    }
    data.flush().map_err(io)
}

/// Puts a header that was begun in a file in front of the data whose first part has moved. The header
/// in the file stays good: after a cut, the re-encryption goes on with it.
///
/// # Errors
/// The header does not fit before the data, or cannot be read or written.
pub fn install(header: &Luks, device: &dyn Storage) -> Result<()> {
    let (metadata, from) = (metadata(header)?, header.storage());
    let (end, copy) = (metadata.header_and_keyslots_size().0, metadata.header_size().bytes().0);
    if end > metadata.data_offset_of_new() {
        return Err(
            Refusal::NoRoom.because(format!("the header ends at byte {end}, after the start of the data"))
        );
    }
    let io = |source| Error::Io { what: "putting the header in front of the data".into(), source };
    // Key material first, then the copies one after the other: the last write makes it a volume.
    for range in [2 * copy..end, copy..2 * copy, 0..copy] {
        let mut bytes = vec![0; (range.end - range.start) as usize];
        from.read_at(&mut bytes, range.start).map_err(io)?;
        device.write_at(&bytes, range.start).map_err(io)?;
        device.flush().map_err(io)?;
    }
    Ok(())
}
