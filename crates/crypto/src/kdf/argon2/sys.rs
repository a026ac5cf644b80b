//! The matrix of blocks, which threads share, and the filling of segments in it.
//!
//! Safety rests on the RFC's rule: while a slice is filled, each of its segments is written by one
//! thread, and a segment reads its own blocks and blocks of finished slices only, never another
//! lane's segment in the making ([`super::slices`] keeps the threads in step,
//! [`Segment::reference`] chooses the blocks).

use super::address::{Counter, Place, Segment};
use super::compress::{Block, Compress, Portable};
use super::{Shape, Stop};
#[cfg(feature = "alloc")]
use crate::sys::Pages;
use core::marker::PhantomData;
use core::ops::Range;

/// The blocks, lane after lane, in separate pages or in memory borrowed for `'m`.
pub(super) struct Matrix<'m> {
    #[cfg(feature = "alloc")]
    pages: Option<Pages>,
    start: *mut Block,
    shape: Shape,
    lent: PhantomData<&'m mut [Block]>,
}

// SAFETY: the pointer goes into memory that the matrix owns or
// borrows mutably; `fill` orders the threads' accesses.
unsafe impl Sync for Matrix<'_> {}

impl<'m> Matrix<'m> {
    /// All zero; `None` if there is no memory.
    #[cfg(feature = "alloc")]
    pub(super) fn new(shape: Shape) -> Option<Self> {
        let mut pages = Pages::huge(shape.blocks().checked_mul(size_of::<Block>())?)?;
        let start = pages.as_mut_slice().as_mut_ptr().cast();
        Some(Self { pages: Some(pages), start, shape, lent: PhantomData })
    }

    /// In the first blocks of `memory`, whatever they contain; `None` if `memory` is too short.
    pub(super) fn lent(shape: Shape, memory: &'m mut [Block]) -> Option<Self> {
        let start = memory.get_mut(..shape.blocks())?.as_mut_ptr();
        Some(Self {
            #[cfg(feature = "alloc")]
            pages: None,
            start,
            shape,
            lent: PhantomData,
        })
    }

    pub(super) fn shape(&self) -> &Shape {
        &self.shape
    }

    /// Populates the memory of some lanes before they are filled.
    pub(super) fn populate(&self, lanes: Range<u32>) {
        let bytes = |lane: u32| lane as usize * self.shape.lane_len as usize * size_of::<Block>();
        let range = bytes(lanes.start)..bytes(lanes.end);
        #[cfg(feature = "alloc")]
        if let Some(pages) = &self.pages {
            pages.populate(range);
        }
        #[cfg(not(feature = "alloc"))]
        let _ = range;
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
        // SAFETY: the index is below the number of blocks that there is memory for.
        unsafe { self.start.add(index) }
    }
}

impl Drop for Matrix<'_> {
    /// The key comes from the last column, which is wiped. The rest goes back to the system, which
    /// clears pages before giving them to another process.
    fn drop(&mut self) {
        for lane in 0..self.shape.lanes {
            self.set(lane, self.shape.lane_len - 1, &Block::ZERO);
        }
        core::hint::black_box(self.start);
    }
}

impl Block {
    /// The whole blocks that fit in `memory`, from the first aligned address.
    pub fn slice_of(memory: &mut [u8]) -> &mut [Self] {
        // SAFETY: any bytes are a valid block: it consists of words only.
        unsafe { memory.align_to_mut().1 }
    }
}

/// One instruction set's function that fills the segments of one slice in turn. Returns false if
/// stopped.
#[derive(Clone, Copy)]
pub(super) struct Fill(pub(super) unsafe fn(&Matrix, &[Segment], &Stop) -> bool);

impl Fill {
    pub(super) fn run(self, matrix: &Matrix, segments: &[Segment], stop: &Stop) -> bool {
        // SAFETY: the function was chosen for this CPU; `slices` calls it once for each segment
        // of a slice, and moves to the next slice only after all segments are filled.
        unsafe { self.0(matrix, segments, stop) }
    }
}

/// For every CPU.
pub(super) const PORTABLE: Fill = Fill(fill_portable);

unsafe fn fill_portable(matrix: &Matrix, segments: &[Segment], stop: &Stop) -> bool {
    // SAFETY: guaranteed by the caller.
    unsafe { fill(Portable, matrix, segments, stop) }
}

/// Defines `FILL`, the [`Fill`] of the instruction set named by `$features`, over
/// [`Lanes`](super::lanes::Lanes), of which `$registers` hold a block.
///
/// The module that calls this keeps `FILL` behind a check of [`Cpu`](crate::Cpu).
#[cfg(any(all(target_arch = "x86_64", target_feature = "sse2"), target_arch = "aarch64"))]
macro_rules! define_fill {
    ($features:literal, $lanes:ty, $registers:literal) => {
        use crate::kdf::Stop;
        use crate::kdf::argon2::address::Segment;
        use crate::kdf::argon2::compress::{Block, Compress};
        use crate::kdf::argon2::lanes;
        use crate::kdf::argon2::sys::{self, Matrix};

        /// To be called only on a CPU that has the features this module is compiled for.
        pub(super) const FILL: sys::Fill = sys::Fill(fill);

        /// # Safety
        /// As [`fill`](crate::kdf::argon2::sys::fill); the CPU has the features.
        #[target_feature(enable = $features)]
        unsafe fn fill(matrix: &Matrix, segments: &[Segment], stop: &Stop) -> bool {
            // SAFETY: guaranteed by the caller.
            unsafe { sys::fill(Vector(Proof::inside()), matrix, segments, stop) }
        }

        #[derive(Clone, Copy)]
        struct Vector(Proof);

        impl Compress for Vector {
            #[inline(always)]
            fn compress(
                self,
                previous: &Block,
                reference: &Block,
                out: &mut Block,
                add: bool,
                early: impl FnOnce(u64),
            ) {
                // SAFETY: the proof shows the features.
                unsafe { compress(self.0, previous, reference, out, add, early) }
            }
        }

        #[inline]
        #[target_feature(enable = $features)]
        fn compress(
            proof: Proof,
            previous: &Block,
            reference: &Block,
            out: &mut Block,
            add: bool,
            early: impl FnOnce(u64),
        ) {
            lanes::compress::<$lanes, $registers>(proof, previous, reference, out, add, early);
        }
    };
}
#[cfg(any(all(target_arch = "x86_64", target_feature = "sse2"), target_arch = "aarch64"))]
pub(super) use define_fill;

/// A segment being filled.
struct Cursor {
    segment: Segment,
    /// For data-independent segments.
    counter: Option<Counter>,
    /// The block that the next block refers to.
    reference: Place,
}

/// Fills segments of one slice, one block each in turn. Returns false when stopped.
///
/// # Safety
/// The segments belong to one pass and slice and are distinct; all previous slices are complete;
/// until this function returns, no other thread writes to finished slices or accesses these
/// segments.
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
    // Column -1 is the last one, from the previous pass.
    let before = |column: u32| if column == 0 { shape.lane_len - 1 } else { column - 1 };
    assert!(segments.len() <= LANES_IN_TURN);
    let mut cursors: [Option<Cursor>; LANES_IN_TURN] = core::array::from_fn(|index| {
        segments.get(index).map(|segment| {
            let mut counter = shape.is_data_independent(pass, slice).then(|| Counter::new(shape, segment));
            let bits = match &mut counter {
                Some(counter) => counter.bits(compress, first),
                None => {
                    let previous = Place { lane: segment.lane, column: before(start + first) };
                    // SAFETY: a finished block of this lane.
                    unsafe { (*matrix.at(previous)).0[0] }
                }
            };
            Cursor { segment: *segment, counter, reference: segment.reference(shape, first, bits) }
        })
    });
    for index in first..shape.segment_len() {
        if index % BLOCKS_A_LOOK == 0 && stop.is_stopped() {
            return false;
        }
        let column = start + index;
        for Cursor { segment, counter, reference } in cursors.iter_mut().flatten() {
            let lane = segment.lane;
            // SAFETY: a finished block of this lane, and one of a finished slice or of this
            // segment; neither is the block being written.
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

/// Prefetches a block's sixteen cache lines.
#[inline(always)]
fn prefetch(block: *const Block) {
    #[cfg(all(target_arch = "x86_64", target_feature = "sse2"))]
    for line in 0..size_of::<Block>() / 64 {
        use core::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: a prefetch reads nothing; the address is inside the block.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(block.cast::<i8>().add(64 * line)) }
    }
    #[cfg(not(all(target_arch = "x86_64", target_feature = "sse2")))]
    let _ = block;
}

/// Segments that one call fills in turn: with two, the loads of one hide behind the rounds of the
/// other.
pub(super) const LANES_IN_TURN: usize = 2;

/// Blocks between two checks of [`Stop`]: some tens of microseconds.
const BLOCKS_A_LOOK: u32 = 128;
