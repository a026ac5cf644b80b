//! POLYVAL's functions for one instruction set, as a table: chosen once at key set-up, called once
//! per batch of sectors.

use super::polyval::Powers;
use crate::block_cipher::Block;

/// One instruction set's functions.
pub(super) struct Code {
    /// Fills in the powers of a key.
    pub(super) raise: fn(Block, &mut Powers),
    /// Multiplies each block by the key.
    pub(super) dot: fn(&Powers, &mut [Block]),
    /// The hash of each sector with its first block replaced. Takes the key, the sector size in
    /// bytes, the sectors, and the replacements, which the results overwrite.
    pub(super) hash: fn(&Powers, usize, &[u8], &mut [Block]),
}
