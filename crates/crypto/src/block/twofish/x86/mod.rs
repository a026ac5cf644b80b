//! Twofish with the vector instructions of x86-64: AVX-512 with VBMI and GFNI.
//!
//! Without VBMI there is nothing better than tables: AVX2's gathers
//! are no faster than scalar loads.

mod vbmi;

use super::schedule::Schedule;
use crate::Cpu;
use crate::block::bulk::Code;
use crate::cpu::Feature;

/// The widest code that `cpu` can run.
pub(super) fn choose(cpu: Cpu) -> Option<&'static Code<Schedule>> {
    cpu.has(Feature::Gfni).then_some(&vbmi::CODE)
}
