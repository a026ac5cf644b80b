//! AES on ARMv8: with the cryptography extension, and in bit slices on NEON where it is absent (as
//! on the Raspberry Pi 3 and 4).

mod crypto;
mod neon;

use super::code::Code;
use crate::Cpu;
use crate::cpu::Feature;

/// The fastest code that `cpu` can run.
pub(super) fn choose(cpu: Cpu) -> Option<&'static Code> {
    if cpu.has(Feature::ArmAes) {
        Some(&crypto::CODE)
    } else if cpu.has(Feature::Neon) {
        Some(&neon::CODE)
    } else {
        None
    }
}
