//! Adiantum against the authors' vectors, and every level of the CPU against a second
//! implementation, written from the paper over single words and blocks.

use super::Adiantum;
use crate::block::aes::Aes;
use crate::block_cipher::{Block, BlockCipher, Cipher128};
use crate::mode::wide::Wide;
use crate::{CipherSpec, Cpu, Secret, SectorCipher, SectorSize};
use alloc::boxed::Box;
use alloc::vec::Vec;
use proptest::prelude::*;

fn aes(key: &[u8], cpu: Cpu) -> Box<dyn Cipher128> {
    Box::new(Aes::new(key, cpu))
}

/// One of the authors' vectors.
#[derive(Default)]
struct Vector {
    rounds: u8,
    key: Vec<u8>,
    tweak: [u8; 32],
    plaintext: Vec<u8>,
    ciphertext: Vec<u8>,
}

fn published() -> Vec<Vector> {
    let bytes = |hex: &str| -> Vec<u8> {
        (0..hex.len()).step_by(2).map(|at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap()).collect()
    };
    let mut vectors: Vec<Vector> = Vec::new();
    let mut ciphertext = false;
    for line in include_str!("vectors.txt").lines().filter(|line| !line.is_empty() && !line.starts_with('#'))
    {
        match line.split_once(' ') {
            Some(("rounds", rounds)) => {
                vectors.push(Vector { rounds: rounds.parse().unwrap(), ..Vector::default() });
            }
            Some(("key", key)) => vectors.last_mut().unwrap().key = bytes(key),
            Some(("tweak", tweak)) => vectors.last_mut().unwrap().tweak = bytes(tweak).try_into().unwrap(),
            _ if line == "plaintext" => ciphertext = false,
            _ if line == "ciphertext" => ciphertext = true,
            _ if ciphertext => vectors.last_mut().unwrap().ciphertext.extend(bytes(line)),
            _ => vectors.last_mut().unwrap().plaintext.extend(bytes(line)),
        }
    }
    vectors
}

#[test]
fn the_authors_vectors() {
    let vectors = published();
    assert_eq!(vectors.len(), 6);
    for vector in vectors {
        for cpu in Cpu::levels() {
            let adiantum = Adiantum::new(&vector.key, vector.rounds, aes, cpu);
            let mut data = vector.plaintext.clone();
            adiantum.encrypt(&[vector.tweak], data.len(), &mut data);
            assert!(data == vector.ciphertext, "{} rounds, {} bytes, {cpu}", vector.rounds, data.len());
            adiantum.decrypt(&[vector.tweak], data.len(), &mut data);
            assert!(data == vector.plaintext, "{} rounds, {} bytes, {cpu}", vector.rounds, data.len());
        }
        let mut data = vector.plaintext.clone();
        second::encrypt(&vector.key, vector.rounds, &vector.tweak, &mut data);
        assert!(data == vector.ciphertext, "the second implementation");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// Runs of any length, at any alignment, at every level: must match the second implementation,
    /// both ways.
    #[test]
    fn every_level_follows_the_paper(
        key in any::<[u8; 32]>(),
        rounds in prop::sample::select(vec![12, 20]),
        sector in prop::sample::select(vec![512, 1024, 2048, 4096]),
        sectors in 1usize..=70,
        offset in 0usize..64,
        seed in any::<u64>(),
    ) {
        let mut state = seed;
        let mut random = || {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (state >> 56) as u8
        };
        let ivs: Vec<[u8; 32]> = (0..sectors).map(|_| [0; 32].map(|_: u8| random())).collect();
        let plaintext: Vec<u8> = (0..offset + sectors * sector).map(|_| random()).collect();
        let mut expected = plaintext.clone();
        for (iv, sector) in ivs.iter().zip(expected[offset..].chunks_exact_mut(sector)) {
            second::encrypt(&key, rounds, iv, sector);
        }
        for cpu in Cpu::levels() {
            let adiantum = Adiantum::new(&key, rounds, aes, cpu);
            let mut data = plaintext.clone();
            adiantum.encrypt(&ivs, sector, &mut data[offset..]);
            prop_assert!(data == expected, "encrypts differently on {}", cpu);
            adiantum.decrypt(&ivs, sector, &mut data[offset..]);
            prop_assert!(data == plaintext, "decrypts differently on {}", cpu);
        }
    }
}

/// A specification's IVs are 32 bytes: the number, then zeros; the
/// cipher's rounds come from its name.
#[test]
fn a_specification_chooses_ivs_and_rounds() {
    let key = [0x42; 32];
    for (rounds, spec) in [(12, "xchacha12,aes-adiantum-plain64"), (20, "xchacha20,aes-adiantum-plain64")] {
        let spec = CipherSpec::parse(spec).unwrap();
        let cipher =
            SectorCipher::new(&spec, &Secret::copy_from(&key), SectorSize::S4096, Cpu::detect()).unwrap();
        let mut data = [0x17; 3 * 4096];
        let mut expected = data;
        for (index, sector) in expected.chunks_exact_mut(4096).enumerate() {
            let mut iv = [0; 32];
            iv[..8].copy_from_slice(&((1 << 40) + 8 * index as u64).to_le_bytes());
            second::encrypt(&key, rounds, &iv, sector);
        }
        cipher.encrypt(1 << 40, &mut data);
        assert_eq!(data, expected);
        cipher.decrypt(1 << 40, &mut data);
        assert_eq!(data, [0x17; 3 * 4096]);
    }
}

/// All ones carry through every sum of the hashes.
#[test]
fn extreme_sectors() {
    for fill in [0, 0xff] {
        for cpu in Cpu::levels() {
            let adiantum = Adiantum::new(&[fill; 32], 12, aes, cpu);
            let mut data = [fill; 4096];
            let mut expected = data;
            second::encrypt(&[fill; 32], 12, &[fill; 32], &mut expected);
            adiantum.encrypt(&[[fill; 32]], 4096, &mut data);
            assert_eq!(data, expected, "{cpu}");
        }
    }
}

#[test]
fn an_empty_run_is_nothing() {
    Adiantum::new(&[1; 32], 12, aes, Cpu::detect()).encrypt(&[], 512, &mut []);
}

/// Adiantum straight from the paper: one sector, one word and one bit at a time.
mod second {
    use super::*;

    pub(super) fn encrypt(key: &[u8], rounds: u8, tweak: &[u8; 32], sector: &mut [u8]) {
        let mut nonce = [0; 24];
        nonce[0] = 1;
        let derived = xchacha(key, rounds, &nonce, 32 + 16 + 16 + 1072);
        let (bulk, right) = sector.split_at_mut(sector.len() - 16);
        let middle = number(right).wrapping_add(hash(&derived, tweak, bulk));
        let mut blocks = [middle.to_le_bytes()];
        Aes::new(&derived[..32], Cpu::portable()).encrypt_blocks(&mut blocks);
        nonce[..16].copy_from_slice(&blocks[0]);
        nonce[16] = 1;
        bulk.iter_mut().zip(xchacha(key, rounds, &nonce, 4096)).for_each(|(byte, stream)| *byte ^= stream);
        let middle = number(&blocks[0]);
        right.copy_from_slice(&middle.wrapping_sub(hash(&derived, tweak, bulk)).to_le_bytes());
    }

    fn hash(derived: &[u8], tweak: &[u8; 32], bulk: &[u8]) -> u128 {
        let mut header = (8 * bulk.len() as u128).to_le_bytes().to_vec();
        header.extend(tweak);
        let mut sums = Vec::new();
        for message in bulk.chunks(1024) {
            for pass in 0..4 {
                let sum = message.chunks(16).enumerate().fold(0u64, |sum, (unit, m)| {
                    let word = |bytes: &[u8], index: usize| {
                        u32::from_le_bytes(bytes[4 * index..4 * index + 4].try_into().unwrap())
                    };
                    let k = &derived[64 + 16 * (unit + pass)..];
                    let keyed = |index| u64::from(word(m, index).wrapping_add(word(k, index)));
                    sum.wrapping_add(keyed(0).wrapping_mul(keyed(2)))
                        .wrapping_add(keyed(1).wrapping_mul(keyed(3)))
                });
                sums.extend(sum.to_le_bytes());
            }
        }
        poly1305(&derived[32..48], &header).wrapping_add(poly1305(&derived[48..64], &sums))
    }

    /// RFC 8439, 2.5, without the final addition: Horner's rule
    /// modulo 2^130 - 5, multiplying bit by bit.
    fn poly1305(key: &[u8], message: &[u8]) -> u128 {
        let point = number(key) & 0x0fff_fffc_0fff_fffc_0fff_fffc_0fff_ffff;
        let mut value = (0, 0);
        for block in message.chunks(16) {
            let sum = add(value, (number(block), 1));
            value = (0, 0);
            for bit in (0..128).rev() {
                value = add(value, value);
                if point >> bit & 1 == 1 {
                    value = add(value, sum);
                }
            }
        }
        value.0
    }

    /// Adds two numbers below 2^130 - 5, as their lower 128 bits and the rest.
    fn add(a: (u128, u8), b: (u128, u8)) -> (u128, u8) {
        let (low, carry) = a.0.overflowing_add(b.0);
        let high = a.1 + b.1 + u8::from(carry);
        let modulus = (u128::MAX - 4, 3);
        if (high, low) < (modulus.1, modulus.0) {
            return (low, high);
        }
        let (low, borrow) = low.overflowing_sub(modulus.0);
        (low, high - modulus.1 - u8::from(borrow))
    }

    fn number(bytes: &[u8]) -> u128 {
        u128::from_le_bytes(Block::try_from(bytes).unwrap())
    }

    /// draft-irtf-cfrg-xchacha, 2.3, with a 64-bit counter from 0.
    fn xchacha(key: &[u8], rounds: u8, nonce: &[u8; 24], len: usize) -> Vec<u8> {
        let state = rounded(&initial(key, &nonce[..16]), rounds);
        let subkey: Vec<u8> =
            [&state[..4], &state[12..]].concat().iter().flat_map(|word| word.to_le_bytes()).collect();
        let mut stream = Vec::new();
        for counter in 0u64..len.div_ceil(64) as u64 {
            let end = [&counter.to_le_bytes(), &nonce[16..]].concat();
            let start = initial(&subkey, &end);
            let end = rounded(&start, rounds);
            stream.extend(start.iter().zip(end).flat_map(|(a, b)| a.wrapping_add(b).to_le_bytes()));
        }
        stream.truncate(len);
        stream
    }

    fn initial(key: &[u8], end: &[u8]) -> [u32; 16] {
        let bytes = [b"expand 32-byte k", key, end].concat();
        core::array::from_fn(|word| u32::from_le_bytes(bytes[4 * word..4 * word + 4].try_into().unwrap()))
    }

    fn rounded(start: &[u32; 16], rounds: u8) -> [u32; 16] {
        let mut x = *start;
        for round in 0..rounds {
            for column in 0..4 {
                let diagonal = if round % 2 == 1 { 1 } else { 0 };
                let at = |row: usize| 4 * row + (column + diagonal * row) % 4;
                let [a, b, c, d] = [at(0), at(1), at(2), at(3)];
                for (turn_d, turn_b) in [(16, 12), (8, 7)] {
                    x[a] = x[a].wrapping_add(x[b]);
                    x[d] = (x[d] ^ x[a]).rotate_left(turn_d);
                    x[c] = x[c].wrapping_add(x[d]);
                    x[b] = (x[b] ^ x[c]).rotate_left(turn_b);
                }
            }
        }
        x
    }

    /// RFC 8439, 2.3.2, and draft-irtf-cfrg-xchacha, 2.2.1.
    #[test]
    fn the_permutation() {
        let key: Vec<u8> = (0..32).collect();
        let start = initial(&key, &0x4a00_0000_0900_0000_0000_0001_u128.to_le_bytes());
        let end = rounded(&start, 20);
        let sums = [0, 15].map(|word| start[word].wrapping_add(end[word]));
        assert_eq!(start[12..], [1, 0x0900_0000, 0x4a00_0000, 0]);
        assert_eq!(sums, [0xe4e7_f110, 0x4e3c_50a2]);
        let nonce = 0x2759_4131_0000_0000_4a00_0000_0900_0000_u128.to_le_bytes();
        let end = rounded(&initial(&key, &nonce), 20);
        assert_eq!(
            [end[0], end[15]].map(u32::to_le_bytes),
            [[0x82, 0x41, 0x3b, 0x42], [0x26, 0xd3, 0xec, 0xdc]]
        );
    }
}
