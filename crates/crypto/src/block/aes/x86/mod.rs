//! AES with the instructions of x86-64: AES-NI, and VAES on 256-bit and 512-bit registers.

mod aesni;
mod vaes256;
mod vaes512;

use super::code::Code;
use crate::Cpu;
use crate::cpu::Feature;

/// The widest code that `cpu` can run.
pub(super) fn choose(cpu: Cpu) -> Option<&'static Code> {
    if cpu.has(Feature::Vaes512) {
        Some(&vaes512::CODE)
    } else if cpu.has(Feature::Vaes256) {
        Some(&vaes256::CODE)
    } else if cpu.has(Feature::AesNi) {
        Some(&aesni::CODE)
    } else {
        None
    }
}
