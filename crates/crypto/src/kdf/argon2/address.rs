//! Which block a block refers to (RFC 9106, section 3.4).

use super::compress::{Block, Compress};
use super::{SLICES, Shape};

/// A place in the matrix.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) lane: u32,
    pub(super) column: u32,
}

/// A segment: the part of a lane that one slice fills in one pass.
#[derive(Debug, Clone, Copy)]
pub(super) struct Segment {
    pub(super) pass: u32,
    pub(super) slice: u32,
    pub(super) lane: u32,
}

impl Segment {
    /// The first index to fill: the first pass starts after two blocks made from the seed.
    pub(super) fn first_index(&self) -> u32 {
        if self.pass == 0 && self.slice == 0 { 2 } else { 0 }
    }

    /// Maps the 64 bits J_1 (low) and J_2 (high) for block `index` of this segment to the block it
    /// refers to: J_2 picks the lane, J_1 an existing block, newer ones more likely (3.4.2).
    #[inline(always)]
    pub(super) fn reference(&self, shape: &Shape, index: u32, bits: u64) -> Place {
        let Self { pass, slice, lane } = *self;
        let segment_len = shape.segment_len();
        let first_slice = pass == 0 && slice == 0;
        let other = if first_slice || shape.lanes == 1 {
            lane
        } else {
            ((bits >> 32) % u64::from(shape.lanes)) as u32
        };
        // Blocks to choose from: finished slices, and, in this lane, also this segment except its
        // latest block.
        let finished = if pass == 0 { slice * segment_len } else { shape.lane_len - segment_len };
        let area = if other == lane { finished + index - 1 } else { finished - u32::from(index == 0) };
        let low = bits & 0xffff_ffff;
        let back = (u64::from(area) * ((low * low) >> 32)) >> 32;
        let oldest = if pass == 0 { 0 } else { (slice + 1) % SLICES * segment_len };
        let column = oldest + area - 1 - back as u32;
        Place { lane: other, column: if column >= shape.lane_len { column - shape.lane_len } else { column } }
    }
}

/// J_1 and J_2 of a data-independent segment: a counter, compressed
/// twice, gives 128 of them (3.4.1.2).
pub(super) struct Counter {
    input: Block,
    bits: Block,
}

impl Counter {
    pub(super) fn new(shape: &Shape, segment: &Segment) -> Self {
        let mut input = Block::ZERO;
        let head = [
            u64::from(segment.pass),
            u64::from(segment.lane),
            u64::from(segment.slice),
            shape.blocks() as u64,
            u64::from(shape.passes),
            u64::from(shape.type_number()),
        ];
        input.0[..head.len()].copy_from_slice(&head);
        Self { input, bits: Block::ZERO }
    }

    /// The bits for block `index`. Indices come in ascending order; the counter's block is
    /// recomputed at multiples of 128, and when a segment starts in the middle of one.
    #[inline(always)]
    pub(super) fn bits(&mut self, compress: impl Compress, index: u32) -> u64 {
        let count = u64::from(index / 128) + 1;
        if self.input.0[6] != count {
            self.input.0[6] = count;
            let mut once = Block::ZERO;
            compress.compress(&Block::ZERO, &self.input, &mut once, false, |_| ());
            compress.compress(&Block::ZERO, &once, &mut self.bits, false, |_| ());
        }
        self.bits.0[index as usize % 128]
    }
}
