//! HCTR2 (Crowley, Huckleberry and Biggers, "Length-preserving encryption with HCTR2", section
//! 2; Linux crypto/hctr2.c): a wide mode of a cipher of 128-bit blocks, for CPUs with
//! instructions for AES and carry-less multiplication.
//!
//! ```text
//! sector = first (one block) || rest            H = E(0), L = E(1)
//! hash   = POLYVAL(H, 2 · bits of the IV + 2 || IV of 32 bytes || rest)
//! middle = first + hash                         encrypted = E(middle)
//! rest  += XCTR(middle + encrypted + L): block i, counted from 1, += E(i + middle + encrypted + L)
//! first  = encrypted + hash (of the new rest)
//! ```
//!
//! Numbers are little endian, sums are exclusive ors. Decryption differs only in D(middle). Sectors
//! are whole blocks, so the paper's case of a partial last block does not occur. Both passes run
//! over whole sectors: POLYVAL replaces the first block with the hash of everything before it, and
//! XCTR's block 0 is overwritten.

#[cfg(target_arch = "aarch64")]
mod arm;
mod code;
mod lanes;
mod polyval;
mod portable;
#[cfg(any(all(target_arch = "x86_64", target_feature = "sse2"), target_arch = "aarch64"))]
mod sys;
#[cfg(test)]
mod tests;
#[cfg(all(target_arch = "x86_64", target_feature = "sse2"))]
mod x86;

use crate::Cpu;
use crate::block_cipher::Make128;
use crate::block_cipher::{Block, Cipher128};
use crate::chaining::xor;
use crate::mode::wide::Wide;
use crate::secret::{Plain, SecretBox};
use crate::simd::vector_code;
use alloc::boxed::Box;
use code::Code;
use polyval::{Powers, STRIDE};
use portable::PORTABLE;
use zeroize::Zeroizing;

/// An expanded key.
pub(crate) struct Hctr2 {
    code: &'static Code,
    keys: SecretBox<Keys>,
    cipher: Box<dyn Cipher128>,
}

/// What the hash and the counters need.
#[derive(Clone, Copy)]
struct Keys {
    powers: Powers,
    /// The hash of the block that holds the IV's length.
    length: Block,
    /// L.
    counter: Block,
}

impl Plain for Keys {
    const EMPTY: Self = Self { powers: Powers([[0; 16]; STRIDE]), length: [0; 16], counter: [0; 16] };
}

impl Hctr2 {
    /// Expands one of the cipher's keys.
    pub(crate) fn new(key: &[u8], cipher: Make128, cpu: Cpu) -> Self {
        let (cipher, code) = (cipher(key, cpu), choose(cpu));
        let keys = SecretBox::new_with(|keys: &mut Keys| {
            let mut derived = Zeroizing::new([[0; 16], 1u128.to_le_bytes()]);
            cipher.encrypt_blocks(&mut *derived);
            (code.raise)(derived[0], &mut keys.powers);
            keys.counter = derived[1];
            keys.length = IV_LENGTH.to_le_bytes();
            (code.dot)(&keys.powers, core::slice::from_mut(&mut keys.length));
        });
        Self { code, keys, cipher }
    }

    /// Divides the run into batches that stay in the cache between the passes over them.
    fn in_batches(&self, ivs: &[[u8; 32]], sector: usize, data: &mut [u8], cipher: impl Fn(&mut [Block])) {
        let sectors = (BATCH_BYTES / sector).clamp(1, MOST_SECTORS);
        for (ivs, batch) in ivs.chunks(sectors).zip(data.chunks_mut(sectors * sector)) {
            self.batch(ivs, sector, batch, &cipher);
        }
    }

    fn batch(&self, ivs: &[[u8; 32]], sector: usize, data: &mut [u8], cipher: impl Fn(&mut [Block])) {
        let mut blocks = [[[0; 16]; MOST_SECTORS]; 4];
        let [heads, hashes, middles, starts] = blocks.each_mut().map(|blocks| &mut blocks[..ivs.len()]);

        self.heads(ivs, heads);
        hashes.copy_from_slice(heads);
        (self.code.hash)(&self.keys.powers, sector, data, hashes);
        for (index, sector) in data.chunks_exact(sector).enumerate() {
            middles[index] = *sector.first_chunk().expect("a block");
            xor(&mut middles[index], &hashes[index]);
        }
        starts.copy_from_slice(middles);
        cipher(middles);
        for (start, middle) in starts.iter_mut().zip(&*middles) {
            xor(start, middle);
            xor(start, &self.keys.counter);
        }
        self.cipher.xctr(starts, sector, data);
        (self.code.hash)(&self.keys.powers, sector, data, heads);
        for (index, sector) in data.chunks_exact_mut(sector).enumerate() {
            xor(&mut middles[index], &heads[index]);
            *sector.first_chunk_mut().expect("a block") = middles[index];
        }
    }

    /// The hash of all that comes before the IV's last block, plus that block: it replaces a
    /// sector's first block when the sector is hashed.
    fn heads(&self, ivs: &[[u8; 32]], heads: &mut [Block]) {
        for (head, iv) in heads.iter_mut().zip(ivs) {
            *head = *iv.first_chunk().expect("half of the IV");
            xor(head, &self.keys.length);
        }
        (self.code.dot)(&self.keys.powers, heads);
        for (head, iv) in heads.iter_mut().zip(ivs) {
            xor(head, iv.last_chunk().expect("half of the IV"));
        }
    }
}

impl Wide for Hctr2 {
    fn encrypt(&self, ivs: &[[u8; 32]], sector: usize, data: &mut [u8]) {
        self.in_batches(ivs, sector, data, |blocks| self.cipher.encrypt_blocks(blocks));
    }

    fn decrypt(&self, ivs: &[[u8; 32]], sector: usize, data: &mut [u8]) {
        self.in_batches(ivs, sector, data, |blocks| self.cipher.decrypt_blocks(blocks));
    }

    fn code(&self) -> &'static str {
        self.cipher.code()
    }
}

/// The widest code that `cpu` can run.
fn choose(cpu: Cpu) -> &'static Code {
    vector_code!(cpu).unwrap_or(&PORTABLE)
}

/// The first block of the hashed message: twice the IV's bits, and 2 because sectors are whole
/// blocks.
const IV_LENGTH: u128 = 2 * 256 + 2;

/// The most sectors in a batch.
const MOST_SECTORS: usize = 64;

/// Bytes that go through one step before the next step begins.
const BATCH_BYTES: usize = 32 << 10;
