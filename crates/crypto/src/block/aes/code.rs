//! The AES functions of one instruction set, as a table: chosen once at key set-up, called once per
//! run of sectors.

use super::schedule::Schedule;
use crate::block_cipher::Block;

/// One instruction set's functions.
pub(super) struct Code {
    /// The name shown in tables: "vaes-avx512", "portable".
    pub(super) name: &'static str,
    pub(super) encrypt_blocks: Blocks,
    pub(super) decrypt_blocks: Blocks,
    pub(super) xts_encrypt: Sectors,
    pub(super) xts_decrypt: Sectors,
    pub(super) xctr: Sectors,
    pub(super) cbc_encrypt: Sectors,
    pub(super) cbc_decrypt: Sectors,
}

/// Works on each block on its own.
type Blocks = fn(&Schedule, &mut [Block]);

/// Works on sectors: takes the key, one IV, encrypted tweak or start value per sector, the sector
/// size in bytes, and the sectors.
type Sectors = fn(&Schedule, &[Block], usize, &mut [u8]);
