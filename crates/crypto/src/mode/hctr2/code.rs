//! POLYVAL's functions for one instruction set, as a table: chosen once at key set-up, called once
//! per batch of sectors.

use super::polyval::{self, Powers};
use super::portable::Pair;
use crate::Cpu;
use crate::block::Block;

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

/// The readable reference, for every CPU.
pub(super) static PORTABLE: Code = Code {
    raise: |key, powers| polyval::raise::<Pair>((), key, powers),
    dot: |powers, blocks| {
        for block in blocks {
            *block = polyval::dot::<Pair>((), powers, block);
        }
    },
    hash: |powers, sector, data, heads| polyval::hash::<Pair>((), powers, sector, data, heads),
};

/// The widest code that `cpu` can run.
pub(super) fn choose(cpu: Cpu) -> &'static Code {
    #[cfg(all(target_arch = "x86_64", target_feature = "sse2"))]
    let vector = super::x86::choose(cpu);
    #[cfg(target_arch = "aarch64")]
    let vector = super::arm::choose(cpu);
    #[cfg(not(any(all(target_arch = "x86_64", target_feature = "sse2"), target_arch = "aarch64")))]
    let (vector, _) = (None, cpu);
    vector.unwrap_or(&PORTABLE)
}
