//! Adiantum's two parts for one instruction set, as a table: chosen once at key set-up, called once
//! per batch of sectors.

use super::nh::HashKey;
use crate::block_cipher::Block;

/// One instruction set's functions.
pub(super) struct Code {
    /// "avx512", "avx2", "neon", "portable".
    pub(super) name: &'static str,
    /// The hash of the bulk of each sector. Takes the key, the sector size in bytes, the sectors,
    /// and one result per sector.
    pub(super) hash: fn(&HashKey, usize, &[u8], &mut [u128]),
    /// Adds XChaCha's key stream to each sector.
    pub(super) stream: fn(&StreamKey, &[Block], usize, &mut [u8]),
}

/// XChaCha's key, rounds, and the last word of every nonce.
#[derive(Clone, Copy)]
pub(super) struct StreamKey {
    pub(super) key: [u32; 8],
    pub(super) rounds: u8,
    /// The third of the nonce's three 64-bit words.
    pub(super) nonce_end: u32,
}
