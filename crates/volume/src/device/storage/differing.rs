//! Reads what can be read of a damaged device, and writes only what differs: at every byte where
//! that is cut off, each byte on storage is the old one or the new one.

use super::Storage;
use std::io;
use std::ops::Range;

/// Writes `new` at `offset`, each run of differing blocks in one write. Blocks that cannot be read are
/// written.
pub(crate) fn write_differing(storage: &dyn Storage, new: &[u8], offset: u64, block: u64) -> io::Result<()> {
    let all = offset..offset + new.len() as u64;
    let read = read_readable(storage, offset, new.len());
    let (old, unreadable) = read.unwrap_or_else(|_| (vec![0; new.len()], vec![all]));
    let block = block as usize;
    let differs = |at: usize| {
        let end = (at + block).min(new.len());
        let place = offset + at as u64..offset + end as u64;
        old[at..end] != new[at..end]
            || unreadable.iter().any(|bad| bad.start < place.end && place.start < bad.end)
    };
    let mut at = 0;
    while at < new.len() {
        let start = at;
        while at < new.len() && differs(at) {
            at += block;
        }
        if at > start {
            storage.write_at(&new[start..at.min(new.len())], offset + start as u64)?;
        }
        at += block;
    }
    Ok(())
}

/// `len` bytes at `offset`, and which ranges of the storage among them cannot be read: these are 0xff,
/// which no header has (zeros, its padding, would look sound).
///
/// # Errors
/// Nothing can be read.
pub(crate) fn read_readable(
    storage: &dyn Storage,
    offset: u64,
    len: usize,
) -> io::Result<(Vec<u8>, Vec<Range<u64>>)> {
    let mut bytes = vec![0; len];
    let Err(error) = storage.read_at(&mut bytes, offset) else { return Ok((bytes, Vec::new())) };
    let mut unreadable: Vec<Range<u64>> = Vec::new();
    for (index, piece) in bytes.chunks_mut(PIECE).enumerate() {
        let at = offset + (index * PIECE) as u64;
        let end = at + piece.len() as u64;
        if storage.read_at(piece, at).is_ok() {
            continue;
        }
        piece.fill(0xff);
        match unreadable.last_mut().filter(|last| last.end == at) {
            Some(last) => last.end = end,
            None => unreadable.push(at..end),
        }
    }
    match unreadable.first() {
        Some(all) if *all == (offset..offset + len as u64) => Err(error),
        _ => Ok((bytes, unreadable)),
    }
}

/// What disks of today lose at once.
const PIECE: usize = 4096;
