//! Adiantum with the vector instructions of x86-64.

mod avx2;
mod avx512;

use super::code::Code;
use crate::Cpu;
use crate::cpu::Feature;

/// The widest code that `cpu` can run.
pub(super) fn choose(cpu: Cpu) -> Option<&'static Code> {
    if cpu.has(Feature::Avx512) {
        Some(&avx512::CODE)
    } else if cpu.has(Feature::Avx2) {
        Some(&avx2::CODE)
    } else {
        None
    }
}
