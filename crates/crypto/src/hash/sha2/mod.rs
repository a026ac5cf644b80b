//! SHA-256 (FIPS 180-4, 6.2) with the fastest code that the CPU has for one message: the SHA
//! extensions by the sha2 crate; where x86-64 lacks them, the schedule on vectors and the rounds on BMI2.

#[cfg(all(target_arch = "x86_64", target_feature = "sse2"))]
pub(crate) mod constants;
#[cfg(all(target_arch = "x86_64", target_feature = "sse2"))]
pub(crate) mod x86;

use super::Context;
use crate::Cpu;
#[cfg(all(target_arch = "x86_64", target_feature = "sse2"))]
use x86::compress_all as machine;
use zeroize::Zeroize;

/// The hash in progress.
#[derive(Clone)]
pub(crate) struct Sha256 {
    cpu: Cpu,
    state: [u32; 8],
    /// A block that is not full yet.
    buffer: [u8; 64],
    filled: usize,
    /// Bytes of the message so far.
    len: u64,
}

impl Sha256 {
    /// With the code for `cpu`.
    pub(crate) fn on(cpu: Cpu) -> Self {
        Self { cpu, state: START, buffer: [0; 64], filled: 0, len: 0 }
    }

    fn flush(&mut self) {
        compress(self.cpu, &mut self.state, &[self.buffer]);
        self.filled = 0;
    }

    /// Takes as much of `part` as the buffer has room for and returns the rest.
    fn fill<'a>(&mut self, part: &'a [u8]) -> &'a [u8] {
        let (now, later) = part.split_at(part.len().min(64 - self.filled));
        self.buffer[self.filled..self.filled + now.len()].copy_from_slice(now);
        self.filled += now.len();
        if self.filled == 64 {
            self.flush();
        }
        later
    }
}

impl Default for Sha256 {
    fn default() -> Self {
        Self::on(Cpu::detect())
    }
}

impl Context for Sha256 {
    fn update(&mut self, part: &[u8]) {
        self.len = self.len.wrapping_add(part.len() as u64);
        let rest = if self.filled > 0 { self.fill(part) } else { part };
        let (blocks, tail) = rest.as_chunks();
        compress(self.cpu, &mut self.state, blocks);
        self.fill(tail);
    }

    fn finish(mut self, out: &mut [u8]) {
        let bits = self.len.wrapping_mul(8);
        self.buffer[self.filled..].fill(0);
        self.buffer[self.filled] = 0x80;
        if self.filled >= 56 {
            self.flush();
            self.buffer.fill(0);
        }
        self.buffer[56..].copy_from_slice(&bits.to_be_bytes());
        self.flush();
        let mut digest = [0; 32];
        digest.as_chunks_mut().0.copy_from_slice(&self.state.map(u32::to_be_bytes));
        out.copy_from_slice(&digest[..out.len()]);
        digest.zeroize();
    }
}

impl Drop for Sha256 {
    fn drop(&mut self) {
        self.state.zeroize();
        self.buffer.zeroize();
    }
}

fn compress(cpu: Cpu, state: &mut [u32; 8], blocks: &[[u8; 64]]) {
    if !machine(cpu, state, blocks) {
        sha2::block_api::compress256(state, blocks);
    }
}

/// CPUs without dedicated code in this crate.
#[cfg(not(all(target_arch = "x86_64", target_feature = "sse2")))]
fn machine(_: Cpu, _: &mut [u32; 8], _: &[[u8; 64]]) -> bool {
    false
}

/// FIPS 180-4, section 5.3.3.
#[rustfmt::skip]
pub(crate) const START: [u32; 8] = [
    0x6a09_e667, 0xbb67_ae85, 0x3c6e_f372, 0xa54f_f53a, 0x510e_527f, 0x9b05_688c, 0x1f83_d9ab, 0x5be0_cd19,
];
