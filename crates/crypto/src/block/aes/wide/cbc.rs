//! CBC over [`Lanes`].
//!
//! Encryption is serial inside a sector, but sectors are independent: each lane of a register takes
//! its own sector, and as many registers are in flight as there are sectors to fill them. Blocks of
//! `Lanes::BLOCKS` sectors are read in whole registers and transposed, so that register j holds
//! block j of each sector; the ciphertext goes back the same way. That costs two lane exchanges per
//! register each way, on top of one instruction per round.

use super::{IN_FLIGHT, cipher};
use crate::block::aes::lanes::{Lanes, WIDEST};
use crate::block::aes::schedule::Schedule;
use crate::block_cipher::Block;

/// CBC decryption: eight registers of a sector side by side.
#[inline(always)]
pub(in crate::block::aes) fn cbc_decrypt<V: Lanes>(
    proof: V::Proof,
    schedule: &Schedule,
    ivs: &[Block],
    sector: usize,
    data: &mut [u8],
) {
    for (iv, sector) in ivs.iter().zip(data.chunks_exact_mut(sector)) {
        let mut previous = *iv;
        for batch in sector.as_chunks_mut().0.chunks_exact_mut(IN_FLIGHT * V::BLOCKS) {
            // Masks are the preceding ciphertext blocks; all are read before the first block is
            // written.
            let mut first = [previous; WIDEST];
            first[1..V::BLOCKS].copy_from_slice(&batch[..V::BLOCKS - 1]);
            previous = batch[IN_FLIGHT * V::BLOCKS - 1];
            let mut masks = [V::load(proof, &first); IN_FLIGHT];
            let mut state = [V::load(proof, batch); IN_FLIGHT];
            for index in 1..IN_FLIGHT {
                masks[index] = V::load(proof, &batch[index * V::BLOCKS - 1..]);
                state[index] = V::load(proof, &batch[index * V::BLOCKS..]);
            }
            cipher::<V, IN_FLIGHT, false>(proof, schedule, &mut state);
            for index in 0..IN_FLIGHT {
                state[index].xor(masks[index]).store(&mut batch[index * V::BLOCKS..]);
            }
        }
    }
}

/// CBC encryption: sectors side by side, in groups as large as the remaining sectors allow.
#[inline(always)]
pub(in crate::block::aes) fn cbc_encrypt<V: Lanes, N: Lanes>(
    proof: V::Proof,
    narrow: N::Proof,
    schedule: &Schedule,
    ivs: &[Block],
    sector: usize,
    data: &mut [u8],
) {
    let mut work =
        Sectors { schedule, ivs, length: sector / size_of::<Block>(), blocks: data.as_chunks_mut().0 };
    work.in_groups::<V, 8>(proof);
    work.in_groups::<V, 4>(proof);
    work.in_groups::<V, 2>(proof);
    work.in_groups::<V, 1>(proof);
    work.in_groups::<N, 1>(narrow);
}

/// The sectors that are left to encrypt.
struct Sectors<'a> {
    schedule: &'a Schedule,
    ivs: &'a [Block],
    /// Blocks per sector.
    length: usize,
    blocks: &'a mut [Block],
}

impl Sectors<'_> {
    /// Takes groups of `REGISTERS` registers of sectors from the front while enough are left.
    #[inline(always)]
    fn in_groups<V: Lanes, const REGISTERS: usize>(&mut self, proof: V::Proof) {
        let sectors = REGISTERS * V::BLOCKS;
        while self.ivs.len() >= sectors {
            let (ivs, later) = self.ivs.split_at(sectors);
            let (group, rest) = core::mem::take(&mut self.blocks).split_at_mut(sectors * self.length);
            side_by_side::<V, REGISTERS>(proof, self.schedule, ivs, self.length, group);
            (self.ivs, self.blocks) = (later, rest);
        }
    }
}

/// Encrypts `REGISTERS * V::BLOCKS` sectors of `length` blocks, which are contiguous in `blocks`.
#[inline(always)]
#[allow(clippy::needless_range_loop)] // Registers and lanes by their numbers: that is what is transposed.
fn side_by_side<V: Lanes, const REGISTERS: usize>(
    proof: V::Proof,
    schedule: &Schedule,
    ivs: &[Block],
    length: usize,
    blocks: &mut [Block],
) {
    let mut state = [V::load(proof, ivs); REGISTERS];
    for register in 1..REGISTERS {
        state[register] = V::load(proof, &ivs[register * V::BLOCKS..]);
    }
    for index in (0..length).step_by(V::BLOCKS) {
        let mut columns = [[state[0]; WIDEST]; REGISTERS];
        for register in 0..REGISTERS {
            for lane in 0..V::BLOCKS {
                let sector = register * V::BLOCKS + lane;
                columns[register][lane] = V::load(proof, &blocks[sector * length + index..]);
            }
            columns[register] = V::transpose(columns[register]);
        }
        for lane in 0..V::BLOCKS {
            for register in 0..REGISTERS {
                state[register] = state[register].xor(columns[register][lane]);
            }
            cipher::<V, REGISTERS, true>(proof, schedule, &mut state);
            for register in 0..REGISTERS {
                columns[register][lane] = state[register];
            }
        }
        for register in 0..REGISTERS {
            columns[register] = V::transpose(columns[register]);
            for lane in 0..V::BLOCKS {
                let sector = register * V::BLOCKS + lane;
                columns[register][lane].store(&mut blocks[sector * length + index..]);
            }
        }
    }
}
