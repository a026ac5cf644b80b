//! Camellia with the vector instructions of x86-64: AVX-512 with GFNI, and AVX2 with AES-NI.

mod aesni;
mod gfni;
mod linear;

use super::schedule::Schedule;
use crate::Cpu;
use crate::block::bulk::Code;
use crate::cpu::Feature;

/// The widest code that `cpu` can run.
pub(super) fn choose(cpu: Cpu) -> Option<&'static Code<Schedule>> {
    if cpu.has(Feature::Gfni) {
        Some(&gfni::CODE)
    } else if cpu.has(Feature::Avx2) && cpu.has(Feature::AesNi) {
        Some(&aesni::CODE)
    } else {
        None
    }
}
