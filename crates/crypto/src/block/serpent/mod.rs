//! Serpent (Anderson, Biham, Knudsen: "Serpent: A Proposal for the Advanced Encryption Standard",
//! 1998), bit-sliced as its authors intended: words of many blocks side by side, S-boxes as
//! circuits.
//!
//! Everything here runs in constant time, the portable code too: no table, no branch on a secret.
//!
//! Bytes are in the order of the NESSIE submission, which is the Linux
//! kernel's `serpent`. The AES submission wrote blocks and keys the other way
//! round; the kernel called that `tnepres` (until 5.11).

#[cfg(target_arch = "aarch64")]
mod arm;
mod rounds;
mod sbox;
mod schedule;
#[cfg(test)]
mod tests;
mod words;
#[cfg(all(target_arch = "x86_64", target_feature = "sse2"))]
mod x86;

use super::bulk::{Bulk, Code};
use crate::Cpu;
use crate::block_cipher::{Block, BlockCipher, Cipher128};
use crate::chaining::xts;
use crate::simd::vector_code;
use schedule::Schedule;
use zeroize::Zeroizing;

/// An expanded Serpent key of up to 256 bits.
pub(crate) type Serpent = Bulk<Schedule>;

impl Serpent {
    /// Expands a key of up to 32 bytes for the best code that `cpu` can run.
    ///
    /// # Panics
    /// For a longer key: callers check it against the cipher's key sizes.
    pub(crate) fn new(key: &[u8], cpu: Cpu) -> Self {
        Self { schedule: Schedule::expand(key), code: choose(cpu) }
    }
}

/// Serpent with the bytes of the key and of each block reversed.
pub(crate) struct Tnepres(Serpent);

impl Tnepres {
    /// Expands a key of up to 32 bytes for the best code that `cpu` can run.
    ///
    /// # Panics
    /// For a longer key: callers check it against the cipher's key sizes.
    pub(crate) fn new(key: &[u8], cpu: Cpu) -> Self {
        let mut reversed = Zeroizing::new([0; 32]);
        let reversed = &mut reversed[..key.len()];
        reversed.copy_from_slice(key);
        reversed.reverse();
        Self(Serpent::new(reversed, cpu))
    }
}

impl BlockCipher for Tnepres {
    fn encrypt_blocks(&self, blocks: &mut [Block]) {
        blocks.iter_mut().for_each(|block| block.reverse());
        self.0.encrypt_blocks(blocks);
        blocks.iter_mut().for_each(|block| block.reverse());
    }

    fn decrypt_blocks(&self, blocks: &mut [Block]) {
        blocks.iter_mut().for_each(|block| block.reverse());
        self.0.decrypt_blocks(blocks);
        blocks.iter_mut().for_each(|block| block.reverse());
    }

    fn parallel(&self) -> usize {
        self.0.parallel()
    }

    fn code(&self) -> &'static str {
        self.0.code()
    }
}

impl Cipher128 for Tnepres {}

/// The widest code that `cpu` can run.
fn choose(cpu: Cpu) -> &'static Code<Schedule> {
    vector_code!(cpu).unwrap_or(&PORTABLE)
}

/// One block after the other.
static PORTABLE: Code<Schedule> = Code {
    name: "portable",
    parallel: 1,
    encrypt: |schedule, blocks| rounds::blocks::<u32, true>((), schedule, blocks),
    decrypt: |schedule, blocks| rounds::blocks::<u32, false>((), schedule, blocks),
    masks: &xts::PORTABLE,
};
