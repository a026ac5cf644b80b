//! Buffers for payloads and data, from a budget shared by all connections: a thread that needs more
//! than is left waits for others to release theirs. No thread holds one buffer while waiting for
//! another, so none waits forever, given that clients are not waited for longer than their time
//! limit ([`Limits`](super::super::deadline::Limits)).

use crate::nbd::protocol::MAX_PAYLOAD;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// Data buffers shared by all connections: the most recently used ones are reused first, while they
/// are still in some cache.
#[derive(Default)]
pub(in super::super) struct Spaces {
    shelf: Mutex<Shelf>,
    returned: Condvar,
}

#[derive(Default)]
struct Shelf {
    free: Vec<Vec<u8>>,
    /// Bytes of buffers in use or free: of those of usual size, and of those for messages longer
    /// than [`SPACE`].
    usual: usize,
    long: usize,
    /// The number of waiting threads.
    waiting: usize,
}

impl Spaces {
    pub(super) fn take(&self) -> Space<'_> {
        Space { spaces: self, bytes: self.shelf().free.pop().unwrap_or_default() }
    }

    /// Waits until `size` more bytes may be used.
    fn reserve(&self, size: usize) {
        let mut shelf = self.shelf();
        while !shelf.reserve(size) {
            shelf.waiting += 1;
            shelf = self.returned.wait(shelf).unwrap_or_else(PoisonError::into_inner);
            shelf.waiting -= 1;
        }
    }

    fn change(&self, change: impl FnOnce(&mut Shelf)) {
        let mut shelf = self.shelf();
        change(&mut shelf);
        if shelf.waiting > 0 {
            self.returned.notify_all();
        }
    }

    fn shelf(&self) -> MutexGuard<'_, Shelf> {
        self.shelf.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Shelf {
    fn reserve(&mut self, size: usize) -> bool {
        while *self.used(size) + size > CEILING {
            // Frees unused buffers to make room.
            let free = if size <= LARGEST_USUAL { self.free.pop() } else { None };
            let Some(free) = free else { return false };
            self.release(&free);
        }
        *self.used(size) += size;
        true
    }

    fn keep(&mut self, bytes: Vec<u8>) {
        if bytes.len() <= LARGEST_USUAL && self.free.len() < MOST_FREE {
            self.free.push(bytes);
        } else {
            self.release(&bytes);
        }
    }

    fn release(&mut self, bytes: &[u8]) {
        *self.used(bytes.len()) -= bytes.len();
    }

    fn used(&mut self, size: usize) -> &mut usize {
        if size <= LARGEST_USUAL { &mut self.usual } else { &mut self.long }
    }
}

/// A buffer of up to [`MAX_PAYLOAD`] bytes, released on drop. It never shrinks, so that memory is
/// not cleared needlessly.
pub(super) struct Space<'a> {
    spaces: &'a Spaces,
    bytes: Vec<u8>,
}

impl Space<'_> {
    /// Makes the buffer at least `len` bytes long; its content is lost. Waits if too much memory is
    /// in use.
    pub(super) fn grow(&mut self, len: usize) {
        if self.len() < len {
            debug_assert!(len as u64 <= MAX_PAYLOAD);
            // Releases the old buffer before allocating the new one.
            let old = std::mem::take(&mut self.bytes);
            self.spaces.change(|shelf| shelf.release(&old));
            drop(old);
            let size = (len.max(LEAST) + PAGE).next_multiple_of(GRAIN);
            self.spaces.reserve(size);
            // (Pages that are not touched take no memory yet.)
            self.bytes = vec![0; size];
        }
    }

    pub(super) fn len(&self) -> usize {
        self.bytes.len().saturating_sub(PAGE)
    }

    /// The buffer, from the start of a page on.
    pub(super) fn bytes(&mut self) -> &mut [u8] {
        let (offset, len) = (self.bytes.as_ptr().align_offset(PAGE), self.len());
        self.bytes.get_mut(offset..offset + len).unwrap_or_default()
    }
}

impl Drop for Space<'_> {
    fn drop(&mut self) {
        let bytes = std::mem::take(&mut self.bytes);
        if !bytes.is_empty() {
            self.spaces.change(|shelf| shelf.keep(bytes));
        }
    }
}

/// The largest usual [`Space`]: the size of the largest request that a kernel issues.
pub(in super::super) const SPACE: usize = 2 << 20;

/// The budget in bytes for the usual buffers of all connections, and another for those of longer
/// messages. The latter cannot use up the former's share.
const CEILING: usize = 64 * LARGEST_USUAL;

/// The smallest size: a batch with one more small reply.
const LEAST: usize = 128 << 10;

/// The increment between sizes.
const GRAIN: usize = 64 << 10;

/// The maximum size of a usual buffer.
const LARGEST_USUAL: usize = SPACE + GRAIN;

/// How many unused buffers are kept.
const MOST_FREE: usize = 16;

const PAGE: usize = 4096;

#[cfg(test)]
mod tests {
    use super::*;
    use std::thread;
    use std::time::Duration;

    fn grown(spaces: &Spaces, len: usize) -> Space<'_> {
        let mut space = spaces.take();
        space.grow(len);
        assert!(space.len() >= len && space.bytes().len() >= len);
        space
    }

    #[test]
    fn whoever_wants_more_than_is_left_waits() {
        let spaces = Spaces::default();
        for (len, most) in [(SPACE, 64), (MAX_PAYLOAD as usize, 4)] {
            let mut held: Vec<_> = (0..most).map(|_| grown(&spaces, len)).collect();
            thread::scope(|scope| {
                let waiting = scope.spawn(|| drop(grown(&spaces, len)));
                thread::sleep(Duration::from_millis(50));
                assert!(!waiting.is_finished(), "{len}");
                held.pop();
                waiting.join().unwrap();
            });
            assert_eq!(spaces.shelf().waiting, 0);
            // The others' share is always available.
            drop(grown(&spaces, if len == SPACE { MAX_PAYLOAD as usize } else { SPACE }));
        }
    }

    #[test]
    fn what_is_free_makes_room() {
        let spaces = Spaces::default();
        let mut late = spaces.take();
        let mut held: Vec<_> = (0..64).map(|_| grown(&spaces, SPACE)).collect();
        held.pop();
        assert_eq!(spaces.shelf().free.len(), 1);
        late.grow(SPACE);
        assert_eq!(spaces.shelf().usual, CEILING);
        assert!(spaces.shelf().free.is_empty());
        drop(held);
        assert_eq!(spaces.shelf().free.len(), MOST_FREE);
        drop(late);
        assert_eq!(spaces.shelf().free.len(), MOST_FREE);
    }

    #[test]
    fn everything_is_given_back() {
        let spaces = Spaces::default();
        let mut space = grown(&spaces, 1);
        space.bytes()[0] = 7;
        space.grow(space.len());
        assert_eq!(space.bytes()[0], 7, "it is long enough");
        for len in [SPACE, MAX_PAYLOAD as usize] {
            space.grow(len);
        }
        assert_eq!(spaces.shelf().usual, 0);
        drop(space);
        assert_eq!(spaces.shelf().long, 0);
        assert!(spaces.shelf().free.iter().all(|free| free.len() <= LARGEST_USUAL));
    }
}
