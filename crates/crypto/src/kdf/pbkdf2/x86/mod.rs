//! PBKDF2's chains with the instructions of x86-64: SHA-1 and SHA-256 on the SHA extensions or in
//! vector lanes, SHA-512, and SHA-256 where those are missing, with their message schedule on vectors and
//! their rounds on BMI2, or in vector lanes, RIPEMD-160 and BLAKE2s in vector lanes, Whirlpool on AVX-512 with GFNI.
//!
//! Which is faster depends on the number of chains. Cycles per compression on Golden Cove, from
//! instruction and port counts, confirmed by measurement:
//!
//! | hash    | alone          | lanes, 128 or 256 bits | lanes, 512 bits |
//! |---------|----------------|------------------------|-----------------|
//! | SHA-1   | 105 (SHA-NI)   | 250 for 4 or 8         | 375 for 16      |
//! | SHA-256 | 95 (SHA-NI)    | 560 for 8              | 840 for 16      |
//! | SHA-512 | 560 (BMI2)     | 690 for 4              | 1030 for 8      |
//!
//! SHA-NI runs at its lower bound: 32 SHA256RNDS2 every 2.9 cycles are 93, 20 SHA1RNDS4 every three
//! and 16 SHA1MSG2 every 3.8 share their port in part. The lanes run at theirs: about 750, 1680 and
//! 2060 instructions over three vector ports (two with 512 bits).

mod avx2;
mod avx512;
mod sha256;
mod sha512;
mod sha_ni;
mod whirlpool;

use super::chains::Chain;
use crate::Cpu;
use crate::cpu::Feature;
use crate::hash::sha2::x86::is_best;
pub(super) use whirlpool::whirlpool;

/// Iterates the first chains of SHA-1 and returns how many it took: none if portable code is as
/// fast.
pub(super) fn sha1(cpu: Cpu, chains: &mut [Chain<[u32; 5]>], rounds: u32) -> usize {
    let (avx512, sha_ni) = (cpu.has(Feature::Avx512), cpu.has(Feature::ShaNi));
    match chains.len() {
        9.. if avx512 => avx512::sha1_16(cpu, chains, rounds),
        5.. if avx512 => avx512::sha1_8(cpu, chains, rounds),
        3.. if avx512 => avx512::sha1_4(cpu, chains, rounds),
        5.. if cpu.has(Feature::Avx2) => avx2::sha1_8(cpu, chains, rounds),
        1.. if sha_ni => sha_ni::sha1(cpu, chains, rounds),
        1.. if avx512 => avx512::sha1_4(cpu, chains, rounds),
        2.. if cpu.has(Feature::Avx2) => avx2::sha1_8(cpu, chains, rounds),
        _ => 0,
    }
}

/// Iterates the first chains of the SHA-256 whose digest has `DIGEST`
/// words and returns how many it took.
pub(super) fn sha256<const DIGEST: usize>(cpu: Cpu, chains: &mut [Chain<[u32; 8]>], rounds: u32) -> usize {
    let avx512 = cpu.has(Feature::Avx512);
    // The SHA-NI code handles whole digests only.
    let sha_ni = cpu.has(Feature::ShaNi) && DIGEST == 8;
    match chains.len() {
        9.. if avx512 => avx512::sha256_16::<DIGEST>(cpu, chains, rounds),
        5.. if avx512 => avx512::sha256_8::<DIGEST>(cpu, chains, rounds),
        1.. if sha_ni => sha_ni::sha256(cpu, chains, rounds),
        3.. if avx512 => avx512::sha256_8::<DIGEST>(cpu, chains, rounds),
        4.. if cpu.has(Feature::Avx2) => avx2::sha256_8::<DIGEST>(cpu, chains, rounds),
        1.. if is_best(cpu) => sha256::sha256::<DIGEST>(cpu, &mut chains[0], rounds),
        _ => 0,
    }
}

/// SHA-256 of each `piece` bytes of `data`, side by side. Returns how many of the first it took: none where messages
/// one after another are as fast.
pub(in crate::kdf) fn sha256_pieces(cpu: Cpu, data: &[u8], piece: usize, digests: &mut [[u8; 32]]) -> usize {
    let (avx512, avx2) = (cpu.has(Feature::Avx512), cpu.has(Feature::Avx2));
    let (blocks, rest) = (piece / 64, piece % 64);
    if rest > 0 || !(1..1 << 23).contains(&blocks) {
        return 0;
    }
    let mut done = 0;
    loop {
        let (data, digests) = (&data[done * piece..], &mut digests[done..]);
        done += match data.len() / piece {
            16.. if avx512 => avx512::sha256_pieces_16(cpu, data, blocks, digests),
            8.. if avx512 => avx512::sha256_pieces_8(cpu, data, blocks, digests),
            8.. if avx2 && !cpu.has(Feature::ShaNi) => avx2::sha256_pieces_8(cpu, data, blocks, digests),
            _ => return done,
        }
    }
}

/// Iterates the first chains of the SHA-512 whose digest has `DIGEST`
/// words and returns how many it took.
pub(super) fn sha512<const DIGEST: usize>(cpu: Cpu, chains: &mut [Chain<[u64; 8]>], rounds: u32) -> usize {
    let (avx512, avx2) = (cpu.has(Feature::Avx512), cpu.has(Feature::Avx2));
    match chains.len() {
        5.. if avx512 => avx512::sha512_8::<DIGEST>(cpu, chains, rounds),
        2.. if avx512 => avx512::sha512_4::<DIGEST>(cpu, chains, rounds),
        3.. if avx2 => avx2::sha512_4::<DIGEST>(cpu, chains, rounds),
        1.. if avx2 && cpu.has(Feature::Bmi2) => sha512::sha512::<DIGEST>(cpu, &mut chains[0], rounds),
        _ => 0,
    }
}

/// Iterates the first chains of RIPEMD-160 and returns how many it took: none if portable code is as
/// fast.
pub(super) fn ripemd160(cpu: Cpu, chains: &mut [Chain<[u32; 5]>], rounds: u32) -> usize {
    let avx512 = cpu.has(Feature::Avx512);
    match chains.len() {
        9.. if avx512 => avx512::ripemd160_16(cpu, chains, rounds),
        2.. if avx512 => avx512::ripemd160_8(cpu, chains, rounds),
        2.. if cpu.has(Feature::Avx2) => avx2::ripemd160_8(cpu, chains, rounds),
        _ => 0,
    }
}

/// The same of BLAKE2s-256.
pub(super) fn blake2s(cpu: Cpu, chains: &mut [Chain<[u32; 8]>], rounds: u32) -> usize {
    let avx512 = cpu.has(Feature::Avx512);
    match chains.len() {
        9.. if avx512 => avx512::blake2s_16(cpu, chains, rounds),
        2.. if avx512 => avx512::blake2s_8(cpu, chains, rounds),
        2.. if cpu.has(Feature::Avx2) => avx2::blake2s_8(cpu, chains, rounds),
        _ => 0,
    }
}

/// Defines the functions of one width: each iterates up to that many of the first chains and
/// returns the number iterated.
macro_rules! define_lanes {
    ($($name:ident: $hash:ident::<$vector:ty $(, $digest:ident)?>, [$word:ty; $count:literal], $feature:ident, $enable:literal;)*) => {
        $(
            pub(super) fn $name$(<const $digest: usize>)?(
                cpu: Cpu,
                chains: &mut [Chain<[$word; $count]>],
                rounds: u32,
            ) -> usize {
                #[target_feature(enable = $enable)]
                fn inside$(<const $digest: usize>)?(chains: &mut [Chain<[$word; $count]>], rounds: u32) {
                    lanes::$hash::<$vector $(, $digest)?>(Proof::inside(), chains, rounds)
                }
                assert!(cpu.has(Feature::$feature));
                let many = chains.len().min(<$vector as Lanes>::LANES);
                // SAFETY: the CPU has the features.
                unsafe { inside$(::<$digest>)?(&mut chains[..many], rounds) }
                many
            }
        )*
    };
}
use define_lanes;

/// Defines the functions of one width: each hashes that many of the first messages and returns their number.
macro_rules! define_pieces {
    ($($name:ident: $vector:ty, $feature:ident, $enable:literal;)*) => {
        $(
            pub(super) fn $name(cpu: Cpu, data: &[u8], blocks: usize, digests: &mut [[u8; 32]]) -> usize {
                #[target_feature(enable = $enable)]
                fn inside(data: &[u8], blocks: usize, digests: &mut [[u8; 32]]) {
                    lanes::sha256_pieces::<$vector>(Proof::inside(), data, blocks, digests)
                }
                assert!(cpu.has(Feature::$feature));
                // SAFETY: the CPU has the features.
                unsafe { inside(data, blocks, &mut digests[..<$vector as Lanes>::LANES]) }
                <$vector as Lanes>::LANES
            }
        )*
    };
}
use define_pieces;
