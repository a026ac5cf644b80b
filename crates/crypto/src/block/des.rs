//! DES (FIPS 46-3) and triple DES (NIST SP 800-67, three keys):
//! 64-bit blocks, 56 of every 64 key bits.
//!
//! Weak keys, and triple DES with equal parts, are accepted: the kernel refuses them only when its
//! caller asks it to, and dm-crypt does not (crypto/des_generic.c). Parity bits do not matter.
//!
//! Its tables are indexed by secrets: on a shared CPU their cache lines can be watched. Kept for
//! reading old volumes. [`LANES`] blocks are processed side by side, to hide the latency of a
//! lookup.

use crate::block_cipher::BlockCipher;
use crate::secret::{Plain, SecretBox};

/// One or three expanded keys.
pub(crate) struct Des {
    keys: SecretBox<RoundKeys>,
    rounds: usize,
}

impl Des {
    /// DES for 8 bytes, triple DES (encrypt, decrypt, encrypt) for 24.
    ///
    /// # Panics
    /// If `key` has another length.
    pub(crate) fn new(key: &[u8]) -> Self {
        let (parts, []) = key.as_chunks::<8>() else { panic!("a DES key of {} bytes", key.len()) };
        assert!([1, 3].contains(&parts.len()), "a DES key of {} bytes", key.len());
        let keys = SecretBox::new_with(|keys: &mut RoundKeys| {
            for (index, (part, keys)) in parts.iter().zip(keys.0.chunks_exact_mut(16)).enumerate() {
                expand(part, keys);
                if index == 1 {
                    keys.reverse();
                }
            }
        });
        Self { keys, rounds: 16 * parts.len() }
    }

    fn encrypt<const L: usize>(&self, blocks: &mut [[u8; 8]; L]) {
        let (mut left, mut right) = begin(blocks);
        for keys in self.keys.0[..self.rounds].as_chunks::<16>().0 {
            for [even, odd] in keys.as_chunks().0 {
                add(&mut left, &right, *even);
                add(&mut right, &left, *odd);
            }
            (left, right) = (right, left);
        }
        end(left, right, blocks);
    }

    fn decrypt<const L: usize>(&self, blocks: &mut [[u8; 8]; L]) {
        let (mut left, mut right) = begin(blocks);
        for keys in self.keys.0[..self.rounds].as_chunks::<16>().0.iter().rev() {
            for [even, odd] in keys.as_chunks().0.iter().rev() {
                add(&mut left, &right, *odd);
                add(&mut right, &left, *even);
            }
            (left, right) = (right, left);
        }
        end(left, right, blocks);
    }
}

impl BlockCipher<8> for Des {
    fn encrypt_blocks(&self, blocks: &mut [[u8; 8]]) {
        let (groups, rest) = blocks.as_chunks_mut::<LANES>();
        groups.iter_mut().for_each(|group| self.encrypt(group));
        rest.as_chunks_mut::<1>().0.iter_mut().for_each(|block| self.encrypt(block));
    }

    fn decrypt_blocks(&self, blocks: &mut [[u8; 8]]) {
        let (groups, rest) = blocks.as_chunks_mut::<LANES>();
        groups.iter_mut().for_each(|group| self.decrypt(group));
        rest.as_chunks_mut::<1>().0.iter_mut().for_each(|block| self.decrypt(block));
    }

    fn parallel(&self) -> usize {
        LANES
    }
}

/// One round in every lane.
#[inline(always)]
fn add<const L: usize>(to: &mut [u32; L], from: &[u32; L], key: RoundKey) {
    to.iter_mut().zip(from).for_each(|(to, from)| *to ^= f(*from, key));
}

/// Expansion, S-boxes and permutation P. The six bits for S-box i are at bit 4i of the half,
/// starting with the bit before its first: every other group is in the upper bits of a byte.
#[inline(always)]
fn f(half: u32, [even, odd]: RoundKey) -> u32 {
    let expanded = half.rotate_right(1);
    let boxes = |groups: u32, first: usize| {
        let [a, b, c, d] = groups.to_be_bytes().map(|byte| usize::from(byte >> 2));
        TABLES[first][a] ^ TABLES[first + 2][b] ^ TABLES[first + 4][c] ^ TABLES[first + 6][d]
    };
    boxes(expanded ^ even, 0) ^ boxes(expanded.rotate_left(4) ^ odd, 1)
}

/// The initial permutation: an 8 × 8 matrix of bits transposed and its rows in another order.
fn begin<const L: usize>(blocks: &[[u8; 8]; L]) -> ([u32; L], [u32; L]) {
    let mut halves = ([0; L], [0; L]);
    for (lane, block) in blocks.iter().enumerate() {
        let both = u64::from_be_bytes(*block);
        let (mut left, mut right) = ((both >> 32) as u32, both as u32);
        exchange(&mut left, &mut right, 4, 0x0f0f_0f0f);
        exchange(&mut left, &mut right, 16, 0x0000_ffff);
        exchange(&mut right, &mut left, 2, 0x3333_3333);
        exchange(&mut right, &mut left, 8, 0x00ff_00ff);
        exchange(&mut left, &mut right, 1, 0x5555_5555);
        (halves.0[lane], halves.1[lane]) = (left, right);
    }
    halves
}

/// The inverse of [`begin`].
fn end<const L: usize>(left: [u32; L], right: [u32; L], blocks: &mut [[u8; 8]; L]) {
    for (lane, block) in blocks.iter_mut().enumerate() {
        let (mut left, mut right) = (left[lane], right[lane]);
        exchange(&mut left, &mut right, 1, 0x5555_5555);
        exchange(&mut right, &mut left, 8, 0x00ff_00ff);
        exchange(&mut right, &mut left, 2, 0x3333_3333);
        exchange(&mut left, &mut right, 16, 0x0000_ffff);
        exchange(&mut left, &mut right, 4, 0x0f0f_0f0f);
        *block = (u64::from(left) << 32 | u64::from(right)).to_be_bytes();
    }
}

/// Exchanges the bits of `a` that are `shift` above `mask` with those of `b` below it.
#[inline(always)]
fn exchange(a: &mut u32, b: &mut u32, shift: u32, mask: u32) {
    let difference = ((*a >> shift) ^ *b) & mask;
    *b ^= difference;
    *a ^= difference << shift;
}

/// The key schedule (FIPS 46-3, appendix 1).
fn expand(key: &[u8; 8], keys: &mut [RoundKey]) {
    let chosen = permuted(u64::from_be_bytes(*key), 64, &CHOICE_1);
    let (mut c, mut d) = (chosen >> 28, chosen & HALF);
    for (key, shift) in keys.iter_mut().zip(SHIFTS) {
        [c, d] = [c, d].map(|half| (half << shift | half >> (28 - shift)) & HALF);
        let bits = permuted(c << 28 | d, 56, &CHOICE_2);
        let group = |index: u32| (bits >> (42 - 6 * index)) as u32 & 63;
        *key = [0, 1].map(|odd| (0..4).fold(0, |word, byte| word << 8 | group(2 * byte + odd) << 2));
    }
}

/// The bits of a `width`-bit number that `places` lists, counted from 1 at its highest.
const fn permuted(bits: u64, width: u32, places: &[u8]) -> u64 {
    let mut result = 0;
    let mut index = 0;
    while index < places.len() {
        result = result << 1 | bits >> (width - places[index] as u32) & 1;
        index += 1;
    }
    result
}

/// Key bits of the even and of the odd S-boxes, each six in the upper bits of a byte.
type RoundKey = [u32; 2];

#[derive(Clone, Copy)]
struct RoundKeys([RoundKey; 48]);

impl Plain for RoundKeys {
    const EMPTY: Self = Self([[0; 2]; 48]);
}

/// Blocks side by side.
const LANES: usize = 4;

/// S-boxes with permutation P behind them.
static TABLES: [[u32; 64]; 8] = tables();

const fn tables() -> [[u32; 64]; 8] {
    let mut tables = [[0; 64]; 8];
    let mut index = 0;
    while index < 8 * 64 {
        let (sbox, x) = (index / 64, index % 64);
        let row = SBOXES[sbox][x >> 4 & 2 | x & 1];
        let value = row >> (60 - 4 * (x >> 1 & 15)) & 15;
        tables[sbox][x] = permuted(value << (28 - 4 * sbox), 32, &P) as u32;
        index += 1;
    }
    tables
}

/// FIPS 46-3, appendix 1: S1 to S8, four rows each, a hexadecimal digit an entry.
const SBOXES: [[u64; 4]; 8] = [
    [0xe4d1_2fb8_3a6c_5907, 0x0f74_e2d1_a6cb_9538, 0x41e8_d62b_fc97_3a50, 0xfc82_4917_5b3e_a06d],
    [0xf18e_6b34_972d_c05a, 0x3d47_f28e_c01a_69b5, 0x0e7b_a4d1_58c6_932f, 0xd8a1_3f42_b67c_05e9],
    [0xa09e_63f5_1dc7_b428, 0xd709_346a_285e_cbf1, 0xd649_8f30_b12c_5ae7, 0x1ad0_6987_4fe3_b52c],
    [0x7de3_069a_1285_bc4f, 0xd8b5_6f03_472c_1ae9, 0xa690_cb7d_f13e_5284, 0x3f06_a1d8_945b_c72e],
    [0x2c41_7ab6_853f_d0e9, 0xeb2c_47d1_50fa_3986, 0x421b_ad78_f9c5_630e, 0xb8c7_1e2d_6f09_a453],
    [0xc1af_9268_0d34_e75b, 0xaf42_7c95_61de_0b38, 0x9ef5_28c3_704a_1db6, 0x432c_95fa_be17_608d],
    [0x4b2e_f08d_3c97_5a61, 0xd0b7_491a_e35c_2f86, 0x14bd_c37e_af68_0592, 0x6bd8_14a7_950f_e23c],
    [0xd284_6fb1_a93e_50c7, 0x1fd8_a374_c56b_0e92, 0x7b41_9ce2_06ad_f358, 0x21e7_4a8d_fc90_356b],
];

/// FIPS 46-3: permutation P.
const P: [u8; 32] = [
    16, 7, 20, 21, 29, 12, 28, 17, 1, 15, 23, 26, 5, 18, 31, 10, 2, 8, 24, 14, 32, 27, 3, 9, 19, 13, 30, 6,
    22, 11, 4, 25,
];

/// FIPS 46-3, appendix 1: permuted choices 1 and 2, and the shifts between rounds.
const CHOICE_1: [u8; 56] = [
    57, 49, 41, 33, 25, 17, 9, 1, 58, 50, 42, 34, 26, 18, 10, 2, 59, 51, 43, 35, 27, 19, 11, 3, 60, 52, 44,
    36, 63, 55, 47, 39, 31, 23, 15, 7, 62, 54, 46, 38, 30, 22, 14, 6, 61, 53, 45, 37, 29, 21, 13, 5, 28, 20,
    12, 4,
];
const CHOICE_2: [u8; 48] = [
    14, 17, 11, 24, 1, 5, 3, 28, 15, 6, 21, 10, 23, 19, 12, 4, 26, 8, 16, 7, 27, 20, 13, 2, 41, 52, 31, 37,
    47, 55, 30, 40, 51, 45, 33, 48, 44, 49, 39, 56, 34, 53, 46, 42, 50, 36, 29, 32,
];
const SHIFTS: [u32; 16] = [1, 1, 2, 2, 2, 2, 2, 2, 1, 2, 2, 2, 2, 2, 2, 1];

/// A half of the permuted key.
const HALF: u64 = (1 << 28) - 1;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::block::vectors::{check, hex};

    /// NIST SP 800-17, appendix B.1 (known answers), and SP 800-67's example of three keys.
    #[test]
    fn nist_vectors() {
        let one = |key, plaintext, ciphertext| {
            check::<8>(&Des::new(&hex(key)), &hex(plaintext), &hex(ciphertext));
        };
        one("0101010101010101", "8000000000000000", "95f8a5e5dd31d900");
        one("8001010101010101", "0000000000000000", "95a8d72813daa94d");
        let three = "0123456789abcdef23456789abcdef01456789abcdef0123";
        one(three, "5468652071756663", "a826fd8ce53b855f");
        one(three, "6b2062726f776e20", "cce21c8112256fe6");
    }

    /// A weak key is its own inverse and is taken; equal parts make triple DES single DES.
    #[test]
    fn weak_keys_are_taken() {
        let weak = Des::new(&[1; 8]);
        let mut blocks = [*b"sector 7"; 5];
        weak.encrypt_blocks(&mut blocks);
        weak.encrypt_blocks(&mut blocks);
        assert_eq!(blocks, [*b"sector 7"; 5]);
        check::<8>(&Des::new(&[1; 24]), &hex("8000000000000000"), &hex("95f8a5e5dd31d900"));
    }

    #[test]
    fn parity_bits_do_not_matter() {
        let mut blocks = [[7; 8]; 2];
        Des::new(&hex("114477aadd003366")).encrypt_blocks(&mut blocks[..1]);
        Des::new(&hex("104576abdc013267")).encrypt_blocks(&mut blocks[1..]);
        assert_eq!(blocks[0], blocks[1]);
    }
}
