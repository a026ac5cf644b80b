//! Pages from the system: zeroed, page-aligned, given back when dropped.
//!
//! With `std` on Linux they are separate mappings, which can be locked (mlock), kept out of core
//! dumps (MADV_DONTDUMP) and advised to be huge (MADV_HUGEPAGE). Elsewhere they come from the
//! allocator.

use core::ops::Range;
use core::ptr::NonNull;
use core::slice;

/// An owned run of whole pages.
pub(crate) struct Pages {
    start: NonNull<u8>,
    bytes: usize,
    locked: bool,
}

impl Pages {
    /// Allocates at least `len` bytes (one page at least), zeroed, locked if the system allows it.
    ///
    /// # Panics
    /// If the system has no memory left for a few pages, like any allocation.
    pub(crate) fn locked(len: usize) -> Self {
        let mut pages = Self::map(len).expect("memory for a secret");
        pages.locked = os::lock(pages.start, pages.bytes);
        #[cfg(feature = "std")]
        super::wipe::add(pages.start, pages.bytes);
        pages
    }

    /// Allocates `len` bytes for a large work area, zeroed, on huge pages if available. `None` if
    /// there is no memory.
    pub(crate) fn huge(len: usize) -> Option<Self> {
        let pages = Self::map(len)?;
        os::advise_huge(pages.start, pages.bytes);
        Some(pages)
    }

    /// Populates the memory behind a range of bytes before use, and gives up huge pages where they
    /// are slow to arrive: in a virtual machine whose host reclaims idle memory, each huge page is
    /// faulted in anew, while small pages were in use recently.
    pub(crate) fn populate(&self, range: Range<usize>) {
        assert!(range.end <= self.bytes);
        os::populate(self.start, range);
    }

    fn map(len: usize) -> Option<Self> {
        let bytes = len.max(1).checked_next_multiple_of(PAGE)?;
        Some(Self { start: os::map(bytes)?, bytes, locked: false })
    }

    pub(crate) fn as_slice(&self) -> &[u8] {
        // SAFETY: `start` is the beginning of `bytes` readable, initialised bytes that `self` owns.
        unsafe { slice::from_raw_parts(self.start.as_ptr(), self.bytes) }
    }

    pub(crate) fn as_mut_slice(&mut self) -> &mut [u8] {
        // SAFETY: as in `as_slice`, and `self` is borrowed mutably.
        unsafe { slice::from_raw_parts_mut(self.start.as_ptr(), self.bytes) }
    }

    pub(crate) fn is_locked(&self) -> bool {
        self.locked
    }
}

impl Drop for Pages {
    fn drop(&mut self) {
        #[cfg(all(test, feature = "std"))]
        given_back::note(self.as_slice());
        #[cfg(feature = "std")]
        super::wipe::remove(self.start);
        // SAFETY: `start` and `bytes` are what `map` returned, and no reference to the range is
        // left. Unmapping also unlocks.
        unsafe { os::unmap(self.start, self.bytes) }
    }
}

// SAFETY: the pages belong to this value alone, like a `Box<[u8]>`.
unsafe impl Send for Pages {}
// SAFETY: shared references only read.
unsafe impl Sync for Pages {}

/// For tests: the contents of the pages that a thread released last.
#[cfg(all(test, feature = "std"))]
pub(crate) mod given_back {
    use std::cell::Cell;

    std::thread_local! { static LEFT: Cell<usize> = const { Cell::new(0) } }

    pub(super) fn note(bytes: &[u8]) {
        LEFT.set(bytes.iter().filter(|byte| **byte != 0).count());
    }

    /// How many bytes were not zero.
    pub(crate) fn left() -> usize {
        LEFT.get()
    }
}

/// The alignment and granularity of [`Pages`]; a system with larger pages rounds up itself.
const PAGE: usize = 4096;

#[cfg(all(feature = "std", target_os = "linux"))]
mod os {
    use core::ops::Range;
    use core::ptr::{NonNull, null_mut};
    use rustix::mm::{self, Advice, MapFlags, ProtFlags};
    use rustix::time::{ClockId, clock_gettime};
    use std::time::Duration;

    /// Bytes of a huge page on x86-64 and aarch64 with 4 KiB pages.
    const HUGE_PAGE: usize = 2 << 20;

    /// Clearing a huge page takes a fifth of this time.
    const SLOW_HUGE_PAGE: Duration = Duration::from_micros(1200);

    pub(super) fn map(bytes: usize) -> Option<NonNull<u8>> {
        // SAFETY: a fresh anonymous mapping at an address of the kernel's choice overlaps nothing.
        let start = unsafe {
            mm::mmap_anonymous(null_mut(), bytes, ProtFlags::READ | ProtFlags::WRITE, MapFlags::PRIVATE)
                .ok()?
        };
        // SAFETY: the range was mapped just now; the advice changes core dumps only, not contents.
        let _ = unsafe { mm::madvise(start, bytes, Advice::LinuxDontDump) };
        NonNull::new(start.cast())
    }

    pub(super) fn lock(start: NonNull<u8>, bytes: usize) -> bool {
        // SAFETY: the range is a mapping that the caller owns; locking changes no contents.
        unsafe { mm::mlock(start.as_ptr().cast(), bytes).is_ok() }
    }

    pub(super) fn advise_huge(start: NonNull<u8>, bytes: usize) {
        // SAFETY: the range is a mapping that the caller owns; the advice changes no contents.
        let _ = unsafe { mm::madvise(start.as_ptr().cast(), bytes, Advice::LinuxHugepage) };
    }

    /// Populates huge pages one after another until several in a row are slow, then advises small
    /// pages for the rest.
    pub(super) fn populate(start: NonNull<u8>, range: Range<usize>) {
        let mut slow = 0;
        let first = start.as_ptr().align_offset(HUGE_PAGE);
        let mut at = first + range.start.next_multiple_of(HUGE_PAGE);
        while at + HUGE_PAGE <= range.end {
            let before = processor_time();
            // SAFETY: the huge page lies inside the caller's mapping;
            // populating changes no contents.
            let taken =
                unsafe { mm::madvise(start.as_ptr().add(at).cast(), HUGE_PAGE, Advice::LinuxPopulateWrite) };
            if taken.is_err() {
                // Linux before 5.14: pages are populated when they are touched.
                return;
            }
            at += HUGE_PAGE;
            slow = if processor_time() - before > SLOW_HUGE_PAGE { slow + 1 } else { 0 };
            if slow == 3 {
                let rest = range.end.saturating_sub(at);
                // SAFETY: the rest lies inside the caller's mapping;
                // the advice changes no contents.
                let _ = unsafe { mm::madvise(start.as_ptr().add(at).cast(), rest, Advice::LinuxNoHugepage) };
                return;
            }
        }
    }

    /// Processor time of this thread; time used by others does not count against huge pages.
    fn processor_time() -> Duration {
        let time = clock_gettime(ClockId::ThreadCPUTime);
        Duration::new(time.tv_sec.unsigned_abs(), time.tv_nsec.unsigned_abs() as u32)
    }

    pub(super) unsafe fn unmap(start: NonNull<u8>, bytes: usize) {
        // SAFETY: guaranteed by the caller: the range came from `map` and is no longer used.
        let _ = unsafe { mm::munmap(start.as_ptr().cast(), bytes) };
    }
}

#[cfg(not(all(feature = "std", target_os = "linux")))]
mod os {
    use super::PAGE;
    use alloc::alloc::{Layout, alloc_zeroed, dealloc};
    use core::ops::Range;
    use core::ptr::NonNull;

    pub(super) fn map(bytes: usize) -> Option<NonNull<u8>> {
        let layout = Layout::from_size_align(bytes, PAGE).ok()?;
        // SAFETY: `bytes` is never zero (at least a page).
        NonNull::new(unsafe { alloc_zeroed(layout) })
    }

    pub(super) fn lock(_: NonNull<u8>, _: usize) -> bool {
        false
    }

    pub(super) fn advise_huge(_: NonNull<u8>, _: usize) {}

    pub(super) fn populate(_: NonNull<u8>, _: Range<usize>) {}

    pub(super) unsafe fn unmap(start: NonNull<u8>, bytes: usize) {
        // SAFETY: guaranteed by the caller: `start` came from `map` with the same size, whose
        // layout was valid.
        unsafe { dealloc(start.as_ptr(), Layout::from_size_align_unchecked(bytes, PAGE)) }
    }
}
