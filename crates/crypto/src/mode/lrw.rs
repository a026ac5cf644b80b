//! LRW (IEEE P1619 draft 00.00.0D; Liskov, Rivest and Wagner, CRYPTO 2002) over whole sectors, as
//! in Linux, crypto/lrw.c.
//!
//! C_j = E(P_j ^ T_j) ^ T_j with T_j = K2·(I + j) in GF(2^128) modulo x^128 + x^7 + x^2 +
//! x + 1. I is the IV, a big-endian number; bits of I, K2 and T count from the last
//! byte's lowest. K2 is the last 16 bytes of the key.
//!
//! Counting up flips the lowest bits of I + j up to some bit k: K2·(1 + x + … + x^k) is the
//! difference. Key set-up computes all 128 of these multiples, and the products of K2 with the
//! numbers below [`WINDOW`]; the masks of a window of that many blocks differ from those products
//! by one constant. Which of them are read depends on sector numbers only, never on the key.

use crate::block_cipher::{Block, BlockCipher};
use crate::engine::{BATCH, Engine, Run};
use crate::iv::IvGenerator;
use crate::secret::{Plain, SecretBox};
use alloc::boxed::Box;

pub(crate) struct Lrw {
    cipher: Box<dyn BlockCipher>,
    multiples: SecretBox<Multiples>,
    iv: IvGenerator<16>,
}

impl Lrw {
    /// `tweak_key` is K2 as bytes.
    pub(crate) fn new(cipher: Box<dyn BlockCipher>, tweak_key: &Block, iv: IvGenerator<16>) -> Self {
        Self { cipher, multiples: Multiples::of(tweak_key), iv }
    }

    /// Masks whole sectors, runs `work` over their blocks, then masks again.
    fn masked(&self, run: &Run, data: &mut [u8], work: impl Fn(&mut [Block])) {
        run.batches(data, |run, data| {
            let mut ivs = [[0; 16]; BATCH];
            let ivs = self.iv.fill(run, data.len(), &mut ivs);
            let sectors = MOST_BYTES / run.sector;
            let mut masks = [0; MOST_BYTES / 16];
            for (ivs, batch) in ivs.chunks(sectors).zip(data.chunks_mut(sectors * run.sector)) {
                let blocks = batch.as_chunks_mut().0;
                let masks = &mut masks[..blocks.len()];
                for (iv, masks) in ivs.iter().zip(masks.chunks_exact_mut(run.sector / 16)) {
                    self.multiples.fill(u128::from_be_bytes(*iv), masks);
                }
                mask(blocks, masks);
                work(blocks);
                mask(blocks, masks);
            }
        });
    }
}

impl Engine for Lrw {
    fn encrypt(&self, run: &Run, data: &mut [u8]) {
        self.masked(run, data, |blocks| self.cipher.encrypt_blocks(blocks));
    }

    fn decrypt(&self, run: &Run, data: &mut [u8]) {
        self.masked(run, data, |blocks| self.cipher.decrypt_blocks(blocks));
    }

    fn code(&self) -> &'static str {
        self.cipher.code()
    }
}

#[derive(Clone, Copy)]
struct Multiples {
    /// K2·(1 + x + … + x^k) for every k.
    runs: [u128; 128],
    /// K2 times the numbers below [`WINDOW`], in native byte order.
    small: [u128; WINDOW],
}

impl Plain for Multiples {
    const EMPTY: Self = Self { runs: [0; 128], small: [0; WINDOW] };
}

impl Multiples {
    fn of(key: &Block) -> SecretBox<Self> {
        SecretBox::new_with(|multiples: &mut Self| {
            let mut power = u128::from_be_bytes(*key);
            let mut sum = 0;
            for run in &mut multiples.runs {
                sum ^= power;
                *run = sum;
                power = double(power);
            }
            for number in 0..WINDOW {
                multiples.small[number] = multiples.product(number as u128).to_be();
            }
        })
    }

    /// K2·index, K2·(index + 1), …, in native byte order.
    fn fill(&self, index: u128, mut masks: &mut [u128]) {
        let mut skipped = index as usize % WINDOW;
        let mut window = index / WINDOW as u128;
        let mut base = self.product(window * WINDOW as u128);
        while !masks.is_empty() {
            let small = &self.small[skipped..];
            let (now, later) = masks.split_at_mut(small.len().min(masks.len()));
            let swapped = base.to_be();
            now.iter_mut().zip(small).for_each(|(mask, small)| *mask = swapped ^ small);
            // All bits flip when the counter wraps from the last number to zero.
            let flipped = (window.trailing_ones() + WINDOW.ilog2()).min(127);
            base ^= self.runs[flipped as usize] ^ self.runs[WINDOW.ilog2() as usize - 1];
            window = window.wrapping_add(1);
            (masks, skipped) = (later, 0);
        }
    }

    /// K2·index, from the powers that are the differences of adjacent runs.
    fn product(&self, index: u128) -> u128 {
        let mut product = 0;
        let mut rest = index;
        while rest != 0 {
            let bit = rest.trailing_zeros() as usize;
            product ^= self.runs[bit] ^ if bit > 0 { self.runs[bit - 1] } else { 0 };
            rest &= rest - 1;
        }
        product
    }
}

fn mask(blocks: &mut [Block], masks: &[u128]) {
    for (block, mask) in blocks.iter_mut().zip(masks) {
        *block = (u128::from_ne_bytes(*block) ^ mask).to_ne_bytes();
    }
}

/// Multiplies by x, without a branch on the secret.
fn double(power: u128) -> u128 {
    (power << 1) ^ ((power >> 127).wrapping_neg() & 0x87)
}

/// Blocks whose numbers differ only in the lowest bits: a 512-byte sector.
const WINDOW: usize = 32;

/// Bytes per cipher call: the largest sector, or several small ones.
const MOST_BYTES: usize = 4096;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Cpu;
    use crate::block::aes::Aes;
    use crate::block::vectors::hex;

    /// IEEE P1619 LRW-32-AES (draft of 2006, annex), as in Linux,
    /// crypto/testmgr.h, aes_lrw_tv_template: one block each.
    #[test]
    fn p1619_vectors() {
        let plaintext = "30313233343536373839414243444546";
        for (key, index, ciphertext) in [
            (
                "4562ac25f828176d4c268414b5680185258e2a05e73e9d03ee5a830ccc094c87",
                1,
                "f1b273cd65a3df5fe95d489254634eb8",
            ),
            (
                "59704714f557478cd779e80f548879440d48f0b7b15a53ea1caa6b29c2cafbaf",
                2,
                "00c82bae95bbcde5274f0769b260e136",
            ),
            (
                "d82a9134b26a565030fe69e2377f9847cdf90b160c648fb6b00d0d1bae85871f",
                0x2_0000_0000,
                "76322183ed8ff182f9596203690e5e01",
            ),
        ] {
            let key = hex(key);
            let (cipher, tweak) = key.split_at(16);
            let aes = Aes::new(cipher, Cpu::detect());
            let mut masks = [0];
            Multiples::of(tweak.try_into().unwrap()).fill(index, &mut masks);
            let mut blocks: [Block; 1] = [hex(plaintext).try_into().unwrap()];
            mask(&mut blocks, &masks);
            aes.encrypt_blocks(&mut blocks);
            mask(&mut blocks, &masks);
            assert_eq!(blocks[0][..], hex(ciphertext));
        }
    }

    /// Counting equals multiplying, across carries and across the wrap to zero.
    #[test]
    fn counting_equals_multiplying() {
        let multiples = Multiples::of(&hex("258e2a05e73e9d03ee5a830ccc094c87").try_into().unwrap());
        for first in [0, 1, 31, 0xffff_fffe, u128::from(u64::MAX) - 40, u128::MAX - 2, u128::MAX - 70] {
            let mut masks = [0; 80];
            multiples.fill(first, &mut masks);
            for (offset, mask) in (0..).zip(masks) {
                assert_eq!(u128::from_be(mask), schoolbook(&multiples, first.wrapping_add(offset)));
            }
        }
    }

    /// The product by Horner's rule, from the highest bit of the public factor.
    fn schoolbook(multiples: &Multiples, index: u128) -> u128 {
        let key = multiples.runs[0];
        (0..128).rev().fold(0, |product, bit| double(product) ^ if index >> bit & 1 == 1 { key } else { 0 })
    }
}
