//! The matrix of blocks, which threads share, and the filling of segments in it.
//!
//! Safety rests on the RFC's rule: while a slice is filled, each of its segments is written by one thread, and a
//! segment reads its own blocks and blocks of finished slices only, never another lane's segment in the making
//! ([`super::slices`] keeps the threads in step, [`Segment::reference`] chooses the blocks).

use super::address::{Counter, Place, Segment};
use super::compress::{Block, Compress, Portable};
use super::{Shape, Stop};
use crate::Cpu;
use crate::sys::Pages;
use alloc::vec::Vec;
use core::ops::Range;

/// The blocks, lane after lane.
pub(super) struct Matrix {
    pages: Pages,
    start: *mut Block,
    shape: Shape,
}

// SAFETY: the pointer goes into `pages`, which the matrix owns; `fill` orders the threads' accesses.
unsafe impl Sync for Matrix {}

impl Matrix {
    /// All zero; `None` without memory.
    pub(super) fn new(shape: Shape) -> Option<Self> {
        let mut pages = Pages::huge(shape.blocks().checked_mul(size_of::<Block>())?)?;
        let start = pages.as_mut_slice().as_mut_ptr().cast();
        Some(Self { pages, start, shape })
    }

    pub(super) fn shape(&self) -> &Shape {
        &self.shape
    }

    /// Takes the memory of some lanes before they are filled.
    pub(super) fn populate(&self, lanes: Range<u32>) {
        let bytes = |lane: u32| lane as usize * self.shape.lane_len as usize * size_of::<Block>();
        self.pages.populate(bytes(lanes.start)..bytes(lanes.end));
    }

    pub(super) fn set(&mut self, lane: u32, column: u32, block: &Block) {
        // SAFETY: `self` is borrowed mutably, so no thread fills it.
        unsafe { *self.at(Place { lane, column }) = *block }
    }

    /// The sum of the last blocks of all lanes (C of RFC 9106, 3.2).
    pub(super) fn last_column(&mut self) -> Block {
        let mut sum = Block::ZERO;
        for lane in 0..self.shape.lanes {
            // SAFETY: `self` is borrowed mutably, so no thread fills it.
            let block = unsafe { &*self.at(Place { lane, column: self.shape.lane_len - 1 }) };
            sum.0.iter_mut().zip(block.0).for_each(|(sum, word)| *sum ^= word);
        }
        sum
    }

    #[inline(always)]
    fn at(&self, place: Place) -> *mut Block {
        let index = place.lane as usize * self.shape.lane_len as usize + place.column as usize;
        assert!(index < self.shape.blocks());
        // SAFETY: the index is below the number of blocks that `pages` has room for.
        unsafe { self.start.add(index) }
    }
}

impl Drop for Matrix {
    /// The last column makes the key: it is wiped. The rest goes back to the system, which clears pages before it
    /// hands them on.
    fn drop(&mut self) {
        for lane in 0..self.shape.lanes {
            self.set(lane, self.shape.lane_len - 1, &Block::ZERO);
        }
        core::hint::black_box(self.pages.as_slice());
    }
}

/// One instruction set's way to fill segments of one slice in turn. False when stopped.
#[derive(Clone, Copy)]
pub(super) struct Fill(unsafe fn(&Matrix, &[Segment], &Stop) -> bool);

impl Fill {
    pub(super) fn run(self, matrix: &Matrix, segments: &[Segment], stop: &Stop) -> bool {
        // SAFETY: `choose` picked a function for this CPU; `slices` calls it for each segment of a slice once, and for
        // the next slice after all segments are filled.
        unsafe { self.0(matrix, segments, stop) }
    }
}

/// The best code that `cpu` can run.
pub(super) fn choose(cpu: Cpu) -> Fill {
    #[cfg(target_arch = "x86_64")]
    {
        use super::x86;
        use crate::cpu::Feature;
        if cpu.has(Feature::Avx512) {
            return Fill(x86::fill_avx512);
        }
        if cpu.has(Feature::Avx2) {
            return Fill(x86::fill_avx2);
        }
    }
    let _ = cpu;
    Fill(fill_portable)
}

unsafe fn fill_portable(matrix: &Matrix, segments: &[Segment], stop: &Stop) -> bool {
    // SAFETY: by the caller.
    unsafe { fill(Portable, matrix, segments, stop) }
}

/// A segment being filled.
struct Cursor {
    segment: Segment,
    /// For data-independent segments.
    counter: Option<Counter>,
    /// What the next block refers to.
    reference: Place,
}

/// Fills segments of one slice, one block each in turn. Returns false when stopped.
///
/// # Safety
/// The segments belong to one pass and slice and are distinct; every slice before is complete; until this returns
/// nobody writes to finished slices or to these segments, and nobody reads these segments.
#[inline(always)]
pub(super) unsafe fn fill(
    compress: impl Compress,
    matrix: &Matrix,
    segments: &[Segment],
    stop: &Stop,
) -> bool {
    let shape = &matrix.shape;
    let Some(Segment { pass, slice, .. }) = segments.first().copied() else { return true };
    let first = segments[0].first_index();
    let start = slice * shape.segment_len();
    // Column -1 is the last one, from the pass before.
    let before = |column: u32| if column == 0 { shape.lane_len - 1 } else { column - 1 };
    let mut cursors: Vec<Cursor> = segments
        .iter()
        .map(|segment| {
            let mut counter = shape.is_data_independent(pass, slice).then(|| Counter::new(shape, segment));
            let bits = match &mut counter {
                Some(counter) => counter.bits(compress, first),
                None => {
                    let previous = Place { lane: segment.lane, column: before(start + first) };
                    // SAFETY: a finished block of the own lane.
                    unsafe { (*matrix.at(previous)).0[0] }
                }
            };
            Cursor { segment: *segment, counter, reference: segment.reference(shape, first, bits) }
        })
        .collect();
    for index in first..shape.segment_len() {
        if index % BLOCKS_A_LOOK == 0 && stop.is_stopped() {
            return false;
        }
        let column = start + index;
        for Cursor { segment, counter, reference } in &mut cursors {
            let lane = segment.lane;
            // SAFETY: a finished block of the own lane, and one of a finished slice or of the own segment; neither is
            // the block being written.
            let (previous, refers_to) =
                unsafe { (&*matrix.at(Place { lane, column: before(column) }), &*matrix.at(*reference)) };
            // SAFETY: this segment is written by this call alone.
            let out = unsafe { &mut *matrix.at(Place { lane, column }) };
            let more = index + 1 < shape.segment_len();
            if let Some(counter) = counter {
                if more {
                    let bits = counter.bits(compress, index + 1);
                    *reference = segment.reference(shape, index + 1, bits);
                    prefetch(matrix.at(*reference));
                }
                compress.compress(previous, refers_to, out, pass > 0, |_| ());
            } else {
                compress.compress(previous, refers_to, out, pass > 0, |bits| {
                    if more {
                        *reference = segment.reference(shape, index + 1, bits);
                        prefetch(matrix.at(*reference));
                    }
                });
            }
        }
    }
    true
}

/// Asks for a block's sixteen cache lines.
#[inline(always)]
fn prefetch(block: *const Block) {
    #[cfg(target_arch = "x86_64")]
    for line in 0..size_of::<Block>() / 64 {
        use core::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: a prefetch reads nothing; the address is inside the block.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(block.cast::<i8>().add(64 * line)) }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = block;
}

/// Blocks between two looks at [`Stop`]: some tens of microseconds.
const BLOCKS_A_LOOK: u32 = 128;
