//! Serpent with the vector instructions of x86-64: AVX-512 and AVX2.

mod avx2;
mod avx512;
mod ternary;

use super::schedule::Schedule;
use crate::Cpu;
use crate::block::bulk::Code;
use crate::cpu::Feature;

/// The widest code that `cpu` can run.
pub(super) fn choose(cpu: Cpu) -> Option<&'static Code<Schedule>> {
    if cpu.has(Feature::Avx512) {
        Some(&avx512::CODE)
    } else if cpu.has(Feature::Avx2) {
        Some(&avx2::CODE)
    } else {
        None
    }
}
