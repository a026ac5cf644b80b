//! BitLocker's stretching of a passphrase or a recovery password (libyal, "BitLocker Drive Encryption (BDE) format",
//! "Recovery key" and "User key").
//!
//! A round is SHA-256 of 88 bytes, and gives the first 32 of the next:
//!
//! | offset | length | what                                        |
//! |--------|--------|---------------------------------------------|
//! | 0      | 32     | the digest of the round before, first zeros |
//! | 32     | 32     | the digest of the secret                    |
//! | 64     | 16     | salt                                        |
//! | 80     | 8      | number of the round, little endian          |

#[cfg(all(target_arch = "x86_64", target_feature = "sse2"))]
mod x86;

use super::Stop;
use crate::hash::sha2::START;
use crate::secret::on_clean_stack;
use crate::{Cpu, Error};
use zeroize::Zeroizing;

/// The rounds of every BitLocker volume.
pub const STRETCH_ROUNDS: u64 = 1 << 20;

/// The key that a secret's `digest` becomes after `rounds` rounds, with the CPU's fastest code.
///
/// # Errors
/// [`Error::Stopped`].
pub fn stretch(
    cpu: Cpu,
    digest: &[u8; 32],
    salt: &[u8; 16],
    rounds: u64,
    key: &mut [u8; 32],
    stop: &Stop,
) -> Result<(), Error> {
    on_clean_stack(|| {
        let message = Message { digest: Zeroizing::new(words(digest)), salt: words(salt) };
        let mut link = Zeroizing::new([0; 8]);
        for first in (0..rounds).step_by(ROUNDS_A_LOOK as usize) {
            if stop.is_stopped() {
                return Err(Error::Stopped);
            }
            let many = ROUNDS_A_LOOK.min(rounds - first);
            if !machine(cpu, &message, first, many, &mut link) {
                portable(&message, first, many, &mut link);
            }
        }
        key.as_chunks_mut().0.copy_from_slice(&link.map(u32::to_be_bytes));
        Ok(())
    })
}

#[cfg(all(target_arch = "x86_64", target_feature = "sse2"))]
use x86::rounds as machine;

/// CPUs without dedicated code in this crate.
#[cfg(not(all(target_arch = "x86_64", target_feature = "sse2")))]
fn machine(_: Cpu, _: &Message, _: u64, _: u64, _: &mut [u32; 8]) -> bool {
    false
}

/// RustCrypto's compression, which uses the CPU's SHA instructions where available.
fn portable(message: &Message, first: u64, many: u64, link: &mut [u32; 8]) {
    let mut blocks = Zeroizing::new([[0; 64]; 2]);
    write(&message.digest[..], &mut blocks[0][32..]);
    for round in first..first + many {
        write(&link[..], &mut blocks[0]);
        write(&message.second_block(round), &mut blocks[1]);
        *link = START;
        sha2::block_api::compress256(link, &*blocks);
    }
}

/// What the message of a round is made of, beside the digest of the one before.
struct Message {
    digest: Zeroizing<[u32; 8]>,
    salt: [u32; 4],
}

impl Message {
    /// The second block of a round's message, with SHA-256's padding.
    #[inline(always)]
    fn second_block(&self, round: u64) -> [u32; 16] {
        let mut block = [0; 16];
        block[..4].copy_from_slice(&self.salt);
        (block[4], block[5]) = ((round as u32).swap_bytes(), ((round >> 32) as u32).swap_bytes());
        block[6] = 1 << 31;
        block[15] = 8 * 88;
        block
    }
}

/// The words of a message's bytes.
fn words<const BYTES: usize, const WORDS: usize>(bytes: &[u8; BYTES]) -> [u32; WORDS] {
    let bytes = bytes.as_chunks().0;
    core::array::from_fn(|word| u32::from_be_bytes(bytes[word]))
}

fn write(words: &[u32], bytes: &mut [u8]) {
    for (bytes, word) in bytes.as_chunks_mut().0.iter_mut().zip(words) {
        *bytes = word.to_be_bytes();
    }
}

/// Rounds between two checks of [`Stop`]: less than a millisecond.
const ROUNDS_A_LOOK: u64 = 4096;

#[cfg(all(test, feature = "alloc"))]
mod tests {
    use super::*;
    use crate::{AesCcm, Hash};
    use alloc::vec;
    use alloc::vec::Vec;

    fn bytes<const N: usize>(hex: &str) -> [u8; N] {
        core::array::from_fn(|index| u8::from_str_radix(&hex[2 * index..][..2], 16).unwrap())
    }

    #[test]
    fn equals_the_definition() {
        let (digest, salt) =
            (core::array::from_fn(|at| at as u8), core::array::from_fn(|at| 0xc3 ^ at as u8));
        let mut expected = [vec![0; 32], Vec::new()];
        for round in 0..9_u64 {
            expected[1] = expected[0].clone();
            expected[0] = Hash::Sha256.digest(&[&expected[0], &digest, &salt, &round.to_le_bytes()]);
        }
        for cpu in Cpu::levels() {
            let [mut eight, mut nine] = [[0; 32]; 2];
            stretch(cpu, &digest, &salt, 8, &mut eight, &Stop::new()).unwrap();
            stretch(cpu, &digest, &salt, 9, &mut nine, &Stop::new()).unwrap();
            assert_eq!([&nine[..], &eight], [&expected[0][..], &expected[1]], "{cpu}");
        }
    }

    /// Numbers of rounds that differ in every byte of their lower half, and go beyond it.
    #[test]
    fn every_code_counts_alike() {
        let message = Message { digest: Zeroizing::new([0x5a5a_5a5a; 8]), salt: [1, 2, 3, 4] };
        for first in [0x0102_0304, u64::from(u32::MAX) - 3] {
            let mut expected = [7; 8];
            portable(&message, first, 21, &mut expected);
            for cpu in Cpu::levels() {
                let mut link = [7; 8];
                if machine(cpu, &message, first, 21, &mut link) {
                    assert_eq!(link, expected, "{cpu}");
                }
            }
        }
    }

    /// hashcat's example of mode 22100: a volume master key that the passphrase "hashcat" unwraps.
    #[test]
    fn hashcats_example() {
        let passphrase: Vec<u8> = "hashcat".encode_utf16().flat_map(u16::to_le_bytes).collect();
        let mut digest = [0; 32];
        Hash::Sha256.digest_into(&[&Hash::Sha256.digest(&[&passphrase])], &mut digest);
        let mut key = [0; 32];
        let salt = bytes("6f972989ddc209f1eccf07313a7266a2");
        stretch(Cpu::detect(), &digest, &salt, STRETCH_ROUNDS, &mut key, &Stop::new()).unwrap();
        let nonce: [u8; 12] = bytes("3a33a8eaff5e6f81d907b591");
        let tag: [u8; 16] = bytes("316b0f6d4cb445fb056f0e3e0633c413");
        let mut wrapped: [u8; 44] =
            bytes("526ff4481bbf588917b70a4e8f8075f5ceb45958a800b42cb7ff9b7f5e17c6145bf8561ea86f52d3592059fb");
        assert!(AesCcm::new(&key, Cpu::detect()).unwrap().decrypt(&nonce, &[], &mut wrapped, &tag));
        assert_eq!(wrapped[..12], [44, 0, 0, 0, 1, 0, 0, 0, 0, 0x20, 0, 0], "an entry of a key");
    }

    #[test]
    fn stops() {
        let stop = Stop::new();
        stop.stop();
        assert_eq!(
            stretch(Cpu::detect(), &[0; 32], &[0; 16], u64::MAX, &mut [0; 32], &stop),
            Err(Error::Stopped)
        );
    }
}
