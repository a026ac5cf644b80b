//! XTS (IEEE 1619-2018, section 5) over whole sectors; no ciphertext
//! stealing, as sectors are whole blocks.
//!
//! C_j = E_k1(P_j ^ T·x^j) ^ T·x^j with T = E_k2(IV), in GF(2^128) modulo x^128 + x^7 + x^2 +
//! x + 1, bits counted from the first byte's lowest.

#[cfg(feature = "alloc")]
#[cfg(all(target_arch = "x86_64", target_feature = "sse2"))]
pub(crate) mod x86;

use super::Block;

/// Masks a batch of whole sectors, runs the cipher over it, then masks again.
pub(crate) fn masked(
    code: &Masks,
    tweaks: &[Block],
    sector: usize,
    data: &mut [u8],
    run: impl Fn(&mut [Block]),
) {
    let blocks_a_sector = sector / size_of::<Block>();
    let sectors = MOST_BLOCKS / blocks_a_sector;
    let mut masks = [0; MOST_BLOCKS];
    let batches = data.as_chunks_mut().0.chunks_mut(sectors * blocks_a_sector);
    for (tweaks, batch) in tweaks.chunks(sectors).zip(batches) {
        let masks = &mut masks[..batch.len()];
        (code.powers)(tweaks, masks);
        (code.add)(batch, masks);
        run(batch);
        (code.add)(batch, masks);
    }
}

/// One instruction set's functions for masks, as a table.
pub(crate) struct Masks {
    /// The masks of sectors of the same size that are contiguous, from one tweak each.
    powers: fn(&[Block], &mut [u128]),
    /// Adds masks to blocks.
    add: fn(&mut [Block], &[u128]),
}

/// For every CPU.
pub(crate) static PORTABLE: Masks = Masks {
    powers: |tweaks, masks| {
        let blocks_a_sector = masks.len() / tweaks.len();
        for (tweak, masks) in tweaks.iter().zip(masks.chunks_exact_mut(blocks_a_sector)) {
            powers(u128::from_le_bytes(*tweak), masks);
        }
    },
    add,
};

#[inline(always)]
fn add(blocks: &mut [Block], masks: &[u128]) {
    for (block, mask) in blocks.iter_mut().zip(masks) {
        *block = (u128::from_le_bytes(*block) ^ mask).to_le_bytes();
    }
}

/// T, T·x, T·x^2, …: eight by doubling, the others from the mask eight earlier, so that eight
/// chains run side by side.
fn powers(tweak: u128, masks: &mut [u128]) {
    let mut window = [tweak; 8];
    for index in 1..window.len() {
        window[index] = double(window[index - 1]);
    }
    for masks in masks.as_chunks_mut().0 {
        *masks = window;
        window = window.map(times_x8);
    }
}

/// Multiplies by x, without a branch on the secret.
fn double(power: u128) -> u128 {
    (power << 1) ^ ((power >> 127).wrapping_neg() & 0x87)
}

/// Multiplies by x^8: x^128 is x^7 + x^2 + x + 1.
#[inline(always)]
fn times_x8(power: u128) -> u128 {
    let over = (power >> 120) as u64;
    (power << 8) ^ u128::from(over ^ (over << 1) ^ (over << 2) ^ (over << 7))
}

/// Blocks per cipher call: the largest sector, or several small ones, to give wide code full
/// batches.
const MOST_BLOCKS: usize = 256;

#[cfg(test)]
mod tests {
    use super::*;
    #[cfg(all(target_arch = "x86_64", target_feature = "sse2"))]
    use crate::{Cpu, cpu::Feature};

    /// The doubling of IEEE 1619-2018, 5.2, written bytewise as the standard does.
    #[test]
    fn doubling_follows_the_standard() {
        let mut power: u128 = 0x8123_4567_89ab_cdef_0fed_cba9_8765_4321;
        for _ in 0..200 {
            let mut bytes = power.to_le_bytes();
            let mut carry = 0;
            for byte in &mut bytes {
                let out = *byte >> 7;
                *byte = (*byte << 1) | carry;
                carry = out;
            }
            if carry == 1 {
                bytes[0] ^= 0x87;
            }
            assert_eq!(double(power), u128::from_le_bytes(bytes));
            power = double(power);
        }
    }

    #[test]
    fn masks_are_the_powers_of_x() {
        let tweaks: [u128; 3] = [0x8123_4567_89ab_cdef_0fed_cba9_8765_4321, u128::MAX, 1 << 127];
        #[cfg(all(target_arch = "x86_64", target_feature = "sse2"))]
        let wide = Cpu::detect().has(Feature::Avx512).then_some(&x86::AVX512);
        #[cfg(not(all(target_arch = "x86_64", target_feature = "sse2")))]
        let wide = None;
        for code in [&PORTABLE].into_iter().chain(wide) {
            let mut masks = [0; 96];
            (code.powers)(&tweaks.map(u128::to_le_bytes), &mut masks);
            for (tweak, masks) in tweaks.iter().zip(masks.chunks(32)) {
                let mut power = *tweak;
                for mask in masks {
                    assert_eq!(*mask, power);
                    power = double(power);
                }
            }
            let mut blocks = masks.map(u128::to_le_bytes);
            (code.add)(&mut blocks, &masks);
            assert_eq!(blocks, [[0; 16]; 96]);
        }
    }
}
