//! SHA-1 and SHA-2 (FIPS 180-4) as [`Compression`]s: the portable functions are RustCrypto's, which use the CPU's SHA
//! instructions where there are any.

use super::chains::{Chain, Compression, Keyed, iterate_one};
#[cfg(target_arch = "x86_64")]
use super::x86;
use crate::Cpu;
#[cfg(target_arch = "x86_64")]
use crate::cpu::Feature;

pub(super) struct Sha1;
pub(super) struct Sha224;
pub(super) struct Sha256;
pub(super) struct Sha384;
pub(super) struct Sha512;

/// What is the same for all: words, their size, the block, and the compression function.
macro_rules! words {
    ($word:ty, $count:literal, $block:literal, $compress:path) => {
        type State = [$word; $count];
        type Block = [u8; $block];
        const BLANK: Self::Block = [0; $block];

        fn compress(state: &mut Self::State, block: &Self::Block) {
            $compress(state, core::slice::from_ref(block));
        }

        fn write(state: &Self::State, digest: &mut [u8]) {
            for (bytes, word) in digest.as_chunks_mut().0.iter_mut().zip(state) {
                *bytes = word.to_be_bytes();
            }
        }

        fn read(digest: &[u8]) -> Self::State {
            let mut state = [0; $count];
            for (word, bytes) in state.iter_mut().zip(digest.as_chunks().0) {
                *word = <$word>::from_be_bytes(*bytes);
            }
            state
        }

        fn add(sum: &mut Self::State, link: &Self::State) {
            sum.iter_mut().zip(link).for_each(|(sum, word)| *sum ^= word);
        }
    };
}

impl Compression for Sha1 {
    words!(u32, 5, 64, sha1::block_api::compress);
    const DIGEST: usize = 20;
    const SIDE_BY_SIDE: usize = 4;
    const START: Self::State = [0x6745_2301, 0xefcd_ab89, 0x98ba_dcfe, 0x1032_5476, 0xc3d2_e1f0];

    fn iterate(cpu: Cpu, key: &Keyed<Self::State>, chains: &mut [Chain<Self::State>], rounds: u32) {
        #[cfg(target_arch = "x86_64")]
        if cpu.has(Feature::ShaNi) {
            return x86::sha1(cpu, key, chains, rounds);
        }
        let _ = cpu;
        chains.iter_mut().for_each(|chain| iterate_one::<Self>(key, chain, rounds));
    }
}

impl Compression for Sha224 {
    words!(u32, 8, 64, sha2::block_api::compress256);
    const DIGEST: usize = 28;
    const SIDE_BY_SIDE: usize = 1;
    const START: Self::State = [
        0xc105_9ed8,
        0x367c_d507,
        0x3070_dd17,
        0xf70e_5939,
        0xffc0_0b31,
        0x6858_1511,
        0x64f9_8fa7,
        0xbefa_4fa4,
    ];
}

impl Compression for Sha256 {
    words!(u32, 8, 64, sha2::block_api::compress256);
    const DIGEST: usize = 32;
    const SIDE_BY_SIDE: usize = 2;
    const START: Self::State = [
        0x6a09_e667,
        0xbb67_ae85,
        0x3c6e_f372,
        0xa54f_f53a,
        0x510e_527f,
        0x9b05_688c,
        0x1f83_d9ab,
        0x5be0_cd19,
    ];

    fn iterate(cpu: Cpu, key: &Keyed<Self::State>, chains: &mut [Chain<Self::State>], rounds: u32) {
        #[cfg(target_arch = "x86_64")]
        if cpu.has(Feature::ShaNi) {
            return x86::sha256(cpu, key, chains, rounds);
        }
        let _ = cpu;
        chains.iter_mut().for_each(|chain| iterate_one::<Self>(key, chain, rounds));
    }
}

impl Compression for Sha384 {
    words!(u64, 8, 128, sha2::block_api::compress512);
    const DIGEST: usize = 48;
    const SIDE_BY_SIDE: usize = 1;
    const START: Self::State = [
        0xcbbb_9d5d_c105_9ed8,
        0x629a_292a_367c_d507,
        0x9159_015a_3070_dd17,
        0x152f_ecd8_f70e_5939,
        0x6733_2667_ffc0_0b31,
        0x8eb4_4a87_6858_1511,
        0xdb0c_2e0d_64f9_8fa7,
        0x47b5_481d_befa_4fa4,
    ];
}

impl Compression for Sha512 {
    words!(u64, 8, 128, sha2::block_api::compress512);
    const DIGEST: usize = 64;
    const SIDE_BY_SIDE: usize = 1;
    const START: Self::State = [
        0x6a09_e667_f3bc_c908,
        0xbb67_ae85_84ca_a73b,
        0x3c6e_f372_fe94_f82b,
        0xa54f_f53a_5f1d_36f1,
        0x510e_527f_ade6_82d1,
        0x9b05_688c_2b3e_6c1f,
        0x1f83_d9ab_fb41_bd6b,
        0x5be0_cd19_137e_2179,
    ];

    fn iterate(cpu: Cpu, key: &Keyed<Self::State>, chains: &mut [Chain<Self::State>], rounds: u32) {
        for chain in chains {
            #[cfg(target_arch = "x86_64")]
            if cpu.has(Feature::Avx2) && cpu.has(Feature::Bmi2) {
                x86::sha512(cpu, key, chain, rounds);
                continue;
            }
            let _ = cpu;
            iterate_one::<Self>(key, chain, rounds);
        }
    }
}
