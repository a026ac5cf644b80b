//! CPUs without dedicated code in this crate: this module takes none of the chains.

use super::chains::Chain;
use crate::Cpu;

pub(super) fn sha1(_: Cpu, _: &mut [Chain<[u32; 5]>], _: u32) -> usize {
    0
}

pub(super) fn sha256<const DIGEST: usize>(_: Cpu, _: &mut [Chain<[u32; 8]>], _: u32) -> usize {
    0
}

pub(super) fn sha512<const DIGEST: usize>(_: Cpu, _: &mut [Chain<[u64; 8]>], _: u32) -> usize {
    0
}

pub(super) fn ripemd160(_: Cpu, _: &mut [Chain<[u32; 5]>], _: u32) -> usize {
    0
}

pub(super) fn blake2s(_: Cpu, _: &mut [Chain<[u32; 8]>], _: u32) -> usize {
    0
}
