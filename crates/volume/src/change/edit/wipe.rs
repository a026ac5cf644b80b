//! Overwrites key material that must not be recoverable.

use crate::error::Unwiped;
use crate::{Error, Random, Result, Storage};
use std::io;
use std::ops::Range;

/// Overwrites a keyslot's area with patterns, flushing each, and finally with random bytes.
pub(crate) fn wipe_area(storage: &dyn Storage, area: Range<u64>, rng: &mut dyn Random) -> Result<()> {
    let io = |source| Error::Io { what: format!("wiping key material at offset {}", area.start), source };
    let mut content = vec![0; (area.end - area.start) as usize];
    for pattern in PATTERNS {
        fill(&mut content, pattern, rng)?;
        storage.write_at(&content, area.start).map_err(io)?;
        storage.flush().map_err(io)?;
    }
    Ok(())
}

/// As [`wipe_area`], but a place that cannot be written keeps no other from being overwritten: if the
/// area cannot be written as a whole, it is piece by piece. What no pattern reached is returned.
pub(crate) fn wipe_what_can_be(
    storage: &dyn Storage,
    keyslot: u32,
    area: Range<u64>,
    rng: &mut dyn Random,
) -> Option<Unwiped> {
    let mut content = vec![0; (area.end - area.start) as usize];
    let mut reached = vec![false; content.len().div_ceil(PIECE)];
    let mut why = None;
    for pattern in PATTERNS {
        // Without random bytes the patterns before them have overwritten the area.
        if fill(&mut content, pattern, rng).is_err() {
            continue;
        }
        let written = write_what_can_be(storage, &content, area.start, &mut why);
        match storage.flush() {
            Ok(()) => reached.iter_mut().zip(written).for_each(|(reached, written)| *reached |= written),
            // What was written may not have landed.
            Err(source) => {
                why.get_or_insert(source);
            }
        }
    }
    let mut places: Vec<Range<u64>> = Vec::new();
    for (start, _) in (area.start..area.end).step_by(PIECE).zip(reached).filter(|(_, reached)| !reached) {
        let end = area.end.min(start + PIECE as u64);
        match places.last_mut() {
            Some(last) if last.end == start => last.end = end,
            _ => places.push(start..end),
        }
    }
    why.filter(|_| !places.is_empty()).map(|source| Unwiped { keyslot, places, source })
}

/// Writes in one piece, or else all pieces that can be written; says which were, and why others were not.
fn write_what_can_be(
    storage: &dyn Storage,
    content: &[u8],
    start: u64,
    why: &mut Option<io::Error>,
) -> Vec<bool> {
    let whole = storage.write_at(content, start).is_ok();
    let pieces = (start..).step_by(PIECE).zip(content.chunks(PIECE));
    let write = |(at, piece): (u64, &[u8])| match whole {
        true => true,
        false => match storage.write_at(piece, at) {
            Ok(()) => true,
            Err(source) => {
                why.get_or_insert(source);
                false
            }
        },
    };
    pieces.map(write).collect()
}

fn fill(content: &mut [u8], pattern: Option<u8>, rng: &mut dyn Random) -> Result<()> {
    match pattern {
        Some(byte) => content.fill(byte),
        None => rng.fill(content)?,
    }
    Ok(())
}

/// What is tried alone where a whole area cannot be written: the largest sector of a device.
const PIECE: usize = 4096;
/// `None` stands for random bytes.
const PATTERNS: [Option<u8>; 6] = [Some(0x00), Some(0xff), Some(0x55), Some(0xaa), None, None];
