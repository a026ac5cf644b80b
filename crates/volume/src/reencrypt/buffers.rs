//! Memory for a zone: buffers that are used again, and what was read of a zone until it is written.

use super::CHUNK;
use crate::Storage;
use std::ops::{Deref, DerefMut};
use std::sync::{Mutex, MutexGuard, PoisonError};
use zeroize::Zeroizing;

/// A chunk of what lies on the device. It is not locked in memory, where there is little room: what
/// is decrypted goes through a small buffer that is (`Transform`). It begins at a page: the kernel copies
/// to and from other places at half the speed, and direct requests need it.
pub(super) struct Buffer {
    bytes: Zeroizing<Vec<u8>>,
    start: usize,
    len: usize,
}

impl Buffer {
    fn new(len: usize) -> Self {
        let bytes = Zeroizing::new(vec![0; len + PAGE]);
        let start = bytes.as_ptr().align_offset(PAGE).min(PAGE);
        Self { bytes, start, len }
    }

    fn room(&self) -> usize {
        self.bytes.len() - PAGE
    }
}

impl Deref for Buffer {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.bytes[self.start..self.start + self.len]
    }
}

impl DerefMut for Buffer {
    fn deref_mut(&mut self) -> &mut [u8] {
        &mut self.bytes[self.start..self.start + self.len]
    }
}

/// Buffers that are not used at the moment. New memory is dear: the kernel fills it with zeros.
#[derive(Default)]
pub(super) struct Buffers(Mutex<Vec<Buffer>>);

impl Buffers {
    pub(super) fn take(&self, len: usize) -> Buffer {
        let kept = unpoisoned(&self.0).pop().filter(|buffer| buffer.room() >= len);
        kept.map_or_else(|| Buffer::new(len), |buffer| Buffer { len, ..buffer })
    }

    pub(super) fn give(&self, buffer: Buffer) {
        unpoisoned(&self.0).push(buffer);
    }
}

/// What was read of a zone to protect it, so that writing the zone need not read it again.
pub(super) struct Kept {
    chunks: Mutex<Vec<(u64, Buffer)>>,
    most: usize,
}

impl Kept {
    /// Of a zone of this storage.
    pub(super) fn of(data: &dyn Storage) -> Self {
        Self { chunks: Mutex::default(), most: if data.is_cached() { 0 } else { MOST } }
    }

    /// Keeps the chunk at `start` if there is room, or gives its buffer back.
    pub(super) fn keep(&self, start: u64, buffer: Buffer, buffers: &Buffers) {
        let mut kept = unpoisoned(&self.chunks);
        if kept.len() < self.most {
            kept.push((start, buffer));
        } else {
            drop(kept);
            buffers.give(buffer);
        }
    }

    /// The chunk at `start`, if it was kept.
    pub(super) fn take(&self, start: u64) -> Option<Buffer> {
        let mut kept = unpoisoned(&self.chunks);
        let found = kept.iter().position(|(own, _)| *own == start)?;
        Some(kept.swap_remove(found).1)
    }
}

fn unpoisoned<T>(lock: &Mutex<T>) -> MutexGuard<'_, T> {
    lock.lock().unwrap_or_else(PoisonError::into_inner)
}

const PAGE: usize = 4096;
/// The most chunks that are kept: 24 MiB.
const MOST: usize = (24 << 20) / CHUNK as usize;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device::storage::Memory;

    #[test]
    fn no_more_is_kept_than_memory_allows() {
        let kept = Kept { chunks: Mutex::default(), most: MOST };
        let buffers = Buffers::default();
        for number in 0..=MOST as u64 {
            let mut buffer = buffers.take(8);
            buffer.fill(number as u8);
            kept.keep(number * CHUNK, buffer, &buffers);
        }
        assert!(kept.take(MOST as u64 * CHUNK).is_none(), "one too many");
        assert_eq!(unpoisoned(&buffers.0).len(), 1, "its buffer is used again");
        let last = kept.take((MOST as u64 - 1) * CHUNK).unwrap();
        assert_eq!(last[..], [MOST as u8 - 1; 8]);
        assert!(kept.take((MOST as u64 - 1) * CHUNK).is_none(), "it was taken");
    }

    #[test]
    fn what_is_at_hand_is_not_kept() {
        let (kept, buffers) = (Kept::of(&Memory::zeroed(512)), Buffers::default());
        kept.keep(0, buffers.take(8), &buffers);
        assert!(kept.take(0).is_none());
    }

    #[test]
    fn a_buffer_begins_at_a_page_and_has_the_length_asked_for() {
        let buffers = Buffers::default();
        buffers.give(Buffer::new(8192));
        let buffer = buffers.take(4);
        assert_eq!((buffer.len(), buffer.as_ptr().align_offset(PAGE)), (4, 0));
        assert_eq!(buffer.room(), 8192, "it is used again");
        buffers.give(buffer);
        let larger = buffers.take(8193);
        assert_eq!((larger.len(), larger.as_ptr().align_offset(PAGE)), (8193, 0));
    }
}
