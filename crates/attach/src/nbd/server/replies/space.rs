//! Room for data.

use std::sync::{Mutex, PoisonError};

/// Buffers for data, shared by all connections: those used last are used next, while they are in some cache.
#[derive(Default)]
pub(in super::super) struct Spaces {
    free: Mutex<Vec<Vec<u8>>>,
}

impl Spaces {
    pub(super) fn take(&self) -> Space<'_> {
        let free = self.free.lock().unwrap_or_else(PoisonError::into_inner).pop();
        Space { spaces: self, bytes: free.unwrap_or_default() }
    }
}

/// A buffer of up to [`SPACE`] bytes, until dropped. It is as long as was ever needed: memory is not cleared for nothing.
pub(super) struct Space<'a> {
    spaces: &'a Spaces,
    bytes: Vec<u8>,
}

impl Space<'_> {
    /// Makes it at least `len` bytes long; what is in it is lost.
    pub(super) fn grow(&mut self, len: usize) {
        if self.len() < len {
            // The old one goes before the new one comes.
            self.bytes = Vec::new();
            self.bytes = vec![0; (len.max(LEAST) + PAGE).next_multiple_of(GRAIN)];
        }
    }

    pub(super) fn len(&self) -> usize {
        self.bytes.len().saturating_sub(PAGE)
    }

    /// It, from the start of a page on.
    pub(super) fn bytes(&mut self) -> &mut [u8] {
        let (offset, len) = (self.bytes.as_ptr().align_offset(PAGE), self.len());
        self.bytes.get_mut(offset..offset + len).unwrap_or_default()
    }
}

impl Drop for Space<'_> {
    fn drop(&mut self) {
        let mut free = self.spaces.free.lock().unwrap_or_else(PoisonError::into_inner);
        if free.len() < MOST_FREE {
            free.push(std::mem::take(&mut self.bytes));
        }
    }
}

/// The largest [`Space`]: as much as a kernel asks for in one request.
pub(in super::super) const SPACE: usize = 2 << 20;

/// The smallest: a batch with one more small reply.
const LEAST: usize = 128 << 10;

/// In between they grow by this much.
const GRAIN: usize = 64 << 10;

/// How many unused buffers are kept.
const MOST_FREE: usize = 16;

const PAGE: usize = 4096;
