//! Argon2 with the vector instructions of x86-64: AVX-512 and AVX2.

mod avx2;
mod avx512;

use super::sys::Fill;
use crate::Cpu;
use crate::cpu::Feature;

/// The widest code that `cpu` can run.
pub(super) fn choose(cpu: Cpu) -> Option<Fill> {
    if cpu.has(Feature::Avx512) {
        Some(avx512::FILL)
    } else if cpu.has(Feature::Avx2) {
        Some(avx2::FILL)
    } else {
        None
    }
}
