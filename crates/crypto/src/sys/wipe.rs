//! The list of all secrets in the process, to wipe them at once when the process ends or crashes.
//!
//! The list of regions is read by signal handlers: it is made of atomics, nothing in it is ever
//! freed, and no lock is taken. Adding a region writes its start and then its length; removing it
//! clears them in reverse order, so a handler never sees a region with another region's length.
//!
//! After the wipe other threads may still run for a moment, with keys that are zeros now. Their
//! output must not reach a disk: [`stop_if_wiped`] follows every encryption and decryption, and
//! then does not return.

use alloc::boxed::Box;
use core::ptr::{NonNull, null_mut};
use core::sync::atomic::{AtomicBool, AtomicPtr, AtomicUsize, Ordering, fence};

/// Adds a region. It must stay mapped until [`remove`].
pub(super) fn add(start: NonNull<u8>, bytes: usize) {
    FIRST.add(start, bytes);
}

/// Removes a region, before it is unmapped.
pub(super) fn remove(start: NonNull<u8>) {
    FIRST.remove(start);
}

/// Overwrites every region. A signal handler may call it.
pub(crate) fn wipe_all() {
    WIPED.store(true, Ordering::SeqCst);
    fence(Ordering::SeqCst);
    let mut block = Some(&FIRST);
    while let Some(now) = block {
        now.regions.iter().for_each(Region::wipe);
        block = now.next();
    }
    fence(Ordering::SeqCst);
}

/// Does not return once secrets have been wiped: anything computed since then used zeros as keys.
#[inline]
pub(crate) fn stop_if_wiped() {
    // A thread that has read a wiped key also sees the flag, which was set earlier.
    fence(Ordering::Acquire);
    if WIPED.load(Ordering::Relaxed) {
        stop();
    }
}

#[cold]
fn stop() -> ! {
    loop {
        std::thread::park();
    }
}

struct Region {
    start: AtomicPtr<u8>,
    bytes: AtomicUsize,
}

impl Region {
    const fn none() -> Self {
        Self { start: AtomicPtr::new(null_mut()), bytes: AtomicUsize::new(0) }
    }

    fn wipe(&self) {
        let start = self.start.load(Ordering::SeqCst).cast::<u64>();
        let words = self.bytes.load(Ordering::SeqCst) / size_of::<u64>();
        if start.is_null() || start != self.start.load(Ordering::SeqCst).cast() {
            return;
        }
        for index in 0..words {
            // SAFETY: the region is mapped and writable from `add` to `remove`, whole pages long
            // and page-aligned. No other thread uses the zeros: the process is about to end, and a
            // thread that computes with them stops in `stop_if_wiped`.
            unsafe { start.add(index).write_volatile(0) }
        }
    }
}

/// Some regions, and the link to the next block of the list.
struct Block {
    regions: [Region; REGIONS],
    next: AtomicPtr<Block>,
}

impl Block {
    const fn empty() -> Self {
        Self { regions: [const { Region::none() }; REGIONS], next: AtomicPtr::new(null_mut()) }
    }

    fn add(&'static self, start: NonNull<u8>, bytes: usize) {
        let mut block = self;
        loop {
            for region in &block.regions {
                let free = region.start.load(Ordering::Relaxed).is_null();
                let taken = Ordering::AcqRel;
                if free
                    && region
                        .start
                        .compare_exchange(null_mut(), start.as_ptr(), taken, Ordering::Relaxed)
                        .is_ok()
                {
                    region.bytes.store(bytes, Ordering::Release);
                    return;
                }
            }
            block = block.next_or_new();
        }
    }

    fn remove(&'static self, start: NonNull<u8>) {
        let mut block = Some(self);
        while let Some(now) = block {
            let found =
                now.regions.iter().find(|region| region.start.load(Ordering::Relaxed) == start.as_ptr());
            if let Some(region) = found {
                region.bytes.store(0, Ordering::SeqCst);
                region.start.store(null_mut(), Ordering::SeqCst);
                return;
            }
            block = now.next();
        }
    }

    fn next(&self) -> Option<&'static Self> {
        // SAFETY: null, or a leaked box, which lives for ever.
        unsafe { self.next.load(Ordering::Acquire).as_ref() }
    }

    fn next_or_new(&self) -> &'static Self {
        if let Some(next) = self.next() {
            return next;
        }
        let fresh = Box::into_raw(Box::new(Self::empty()));
        let added = self.next.compare_exchange(null_mut(), fresh, Ordering::AcqRel, Ordering::Acquire);
        let next = added.map_or_else(
            |theirs| {
                // SAFETY: no other thread has seen `fresh`, which came from a box.
                drop(unsafe { Box::from_raw(fresh) });
                theirs
            },
            |_| fresh,
        );
        // SAFETY: a leaked box, as in `next`.
        unsafe { &*next }
    }
}

static FIRST: Block = Block::empty();
static WIPED: AtomicBool = AtomicBool::new(false);

/// A volume uses a handful.
const REGIONS: usize = 256;

#[cfg(test)]
mod tests {
    use super::*;

    /// A separate list for the test: in the process-wide list, other tests' secrets come and go.
    static LIST: Block = Block::empty();

    fn is_listed(start: NonNull<u8>) -> bool {
        let blocks = core::iter::successors(Some(&LIST), |block| block.next());
        let mut regions = blocks.flat_map(|block| &block.regions);
        regions.any(|region| region.start.load(Ordering::SeqCst) == start.as_ptr())
    }

    #[test]
    fn more_regions_than_a_block_holds() {
        let mut bytes = vec![0; 3 * REGIONS];
        let starts: Vec<_> = bytes.iter_mut().map(NonNull::from).collect();
        starts.iter().for_each(|start| LIST.add(*start, 1));
        assert!(starts.iter().all(|start| is_listed(*start)));
        starts.iter().for_each(|start| LIST.remove(*start));
        assert!(starts.iter().all(|start| !is_listed(*start)));
    }
}
