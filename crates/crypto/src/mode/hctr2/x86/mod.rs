//! POLYVAL with the carry-less multiplication of x86-64.

mod pclmul;
mod vpclmul256;
mod vpclmul512;

use super::code::Code;
use crate::Cpu;
use crate::cpu::Feature;

/// The widest code that `cpu` can run.
pub(super) fn choose(cpu: Cpu) -> Option<&'static Code> {
    if cpu.has(Feature::Vaes512) {
        Some(&vpclmul512::CODE)
    } else if cpu.has(Feature::Vaes256) {
        Some(&vpclmul256::CODE)
    } else if cpu.has(Feature::AesNi) {
        Some(&pclmul::CODE)
    } else {
        None
    }
}
