//! SHA-1 and SHA-2 (FIPS 180-4) as [`Chained`] hashes: the portable functions are RustCrypto's,
//! which use the CPU's SHA instructions where available.

use super::chains::{Chain, Chained, Words};
use super::machine;
use crate::Cpu;

pub(super) struct Sha1;
pub(super) struct Sha224;
pub(super) struct Sha256;
pub(super) struct Sha384;
pub(super) struct Sha512;

/// Defines a hash: its state and block, its digest, the CPU's code for many chains, the portable
/// compression function, and the state before the first block.
macro_rules! sha {
    ($name:ident, $word:ty, $count:literal, $block:literal, $digest:literal, $machine:path, $compress:path, $start:expr) => {
        impl Chained for $name {
            type State = [$word; $count];
            const DIGEST: usize = $digest;

            fn keyed(_: Cpu, block: &[u8]) -> Self::State {
                let mut state: Self::State = $start;
                $compress(&mut state, block.as_chunks::<$block>().0);
                state
            }

            fn iterate(cpu: Cpu, chains: &mut [Chain<Self::State>], rounds: u32) {
                let compress = |state: &mut Self::State, block: &[u8; $block]| $compress(state, &[*block]);
                let mut left = chains;
                while !left.is_empty() {
                    let mut done = $machine(cpu, left, rounds);
                    if done == 0 {
                        iterate_one::<$digest, _, _>(&mut left[0], rounds, compress);
                        done = 1;
                    }
                    left = &mut left[done..];
                }
            }
        }
    };
}

sha!(Sha1, u32, 5, 64, 20, machine::sha1, sha1::block_api::compress, SHA1);
sha!(Sha224, u32, 8, 64, 28, machine::sha256::<7>, sha2::block_api::compress256, SHA224);
sha!(Sha256, u32, 8, 64, 32, machine::sha256::<8>, sha2::block_api::compress256, SHA256);
sha!(Sha384, u64, 8, 128, 48, machine::sha512::<6>, sha2::block_api::compress512, SHA384);
sha!(Sha512, u64, 8, 128, 64, machine::sha512::<8>, sha2::block_api::compress512, SHA512);

/// One chain over a portable compression function.
fn iterate_one<const DIGEST: usize, const BLOCK: usize, S: Words + AddWords>(
    chain: &mut Chain<S>,
    rounds: u32,
    compress: impl Fn(&mut S, &[u8; BLOCK]),
) {
    // FIPS 180-4's padding of a message that is one block (the key's) and a digest long.
    let mut block = [0; BLOCK];
    block[DIGEST] = 0x80;
    block[BLOCK - 8..].copy_from_slice(&(8 * (BLOCK + DIGEST) as u64).to_be_bytes());
    for _ in 0..rounds {
        for start in [&chain.inner, &chain.outer] {
            chain.link.write(&mut block[..DIGEST]);
            chain.link = *start;
            compress(&mut chain.link, &block);
        }
        chain.sum.add(&chain.link);
    }
}

/// `sum ^= link`.
trait AddWords {
    fn add(&mut self, link: &Self);
}

impl<W: Copy + core::ops::BitXorAssign, const N: usize> AddWords for [W; N] {
    fn add(&mut self, link: &Self) {
        self.iter_mut().zip(link).for_each(|(sum, word)| *sum ^= *word);
    }
}

/// FIPS 180-4, section 5.3.
const SHA1: [u32; 5] = [0x6745_2301, 0xefcd_ab89, 0x98ba_dcfe, 0x1032_5476, 0xc3d2_e1f0];
#[rustfmt::skip]
const SHA224: [u32; 8] = [
    0xc105_9ed8, 0x367c_d507, 0x3070_dd17, 0xf70e_5939, 0xffc0_0b31, 0x6858_1511, 0x64f9_8fa7, 0xbefa_4fa4,
];
#[rustfmt::skip]
const SHA256: [u32; 8] = [
    0x6a09_e667, 0xbb67_ae85, 0x3c6e_f372, 0xa54f_f53a, 0x510e_527f, 0x9b05_688c, 0x1f83_d9ab, 0x5be0_cd19,
];
const SHA384: [u64; 8] = [
    0xcbbb_9d5d_c105_9ed8,
    0x629a_292a_367c_d507,
    0x9159_015a_3070_dd17,
    0x152f_ecd8_f70e_5939,
    0x6733_2667_ffc0_0b31,
    0x8eb4_4a87_6858_1511,
    0xdb0c_2e0d_64f9_8fa7,
    0x47b5_481d_befa_4fa4,
];
const SHA512: [u64; 8] = [
    0x6a09_e667_f3bc_c908,
    0xbb67_ae85_84ca_a73b,
    0x3c6e_f372_fe94_f82b,
    0xa54f_f53a_5f1d_36f1,
    0x510e_527f_ade6_82d1,
    0x9b05_688c_2b3e_6c1f,
    0x1f83_d9ab_fb41_bd6b,
    0x5be0_cd19_137e_2179,
];
