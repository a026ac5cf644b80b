//! Random numbers that a seed repeats.

use keyway_volume::Random;

/// Cheap random numbers from a seed (xorshift64*): tests draw millions.
pub(crate) struct Draws(u64);

impl Draws {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    pub(crate) fn below(&mut self, limit: usize) -> usize {
        ((u128::from(self.next()) * limit as u128) >> 64) as usize
    }
}

impl Random for Draws {
    fn fill(&mut self, buf: &mut [u8]) -> keyway_volume::Result<()> {
        for part in buf.chunks_mut(8) {
            part.copy_from_slice(&self.next().to_le_bytes()[..part.len()]);
        }
        Ok(())
    }
}

pub(crate) fn seeded(seed: u64) -> Draws {
    Draws(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
}
