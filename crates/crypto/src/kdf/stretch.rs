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

use super::Stop;
use crate::Error;
use crate::secret::on_clean_stack;
use zeroize::{Zeroize, Zeroizing};

/// The rounds of every BitLocker volume.
pub const STRETCH_ROUNDS: u64 = 1 << 20;

/// The key that a secret's `digest` becomes after `rounds` rounds.
///
/// # Errors
/// [`Error::Stopped`].
pub fn stretch(
    digest: &[u8; 32],
    salt: &[u8; 16],
    rounds: u64,
    key: &mut [u8; 32],
    stop: &Stop,
) -> Result<(), Error> {
    on_clean_stack(|| {
        let mut blocks = Zeroizing::new(padded(digest, salt));
        let mut state = START;
        for round in 0..rounds {
            if round.is_multiple_of(ROUNDS_A_LOOK) && stop.is_stopped() {
                state.zeroize();
                return Err(Error::Stopped);
            }
            blocks[1][16..24].copy_from_slice(&round.to_le_bytes());
            state = START;
            sha2::block_api::compress256(&mut state, &*blocks);
            write(&state, &mut blocks[0]);
        }
        key.copy_from_slice(&blocks[0][..32]);
        state.zeroize();
        Ok(())
    })
}

/// The two blocks of the message, with SHA-256's padding.
fn padded(digest: &[u8; 32], salt: &[u8; 16]) -> [[u8; 64]; 2] {
    let mut blocks = [[0; 64]; 2];
    blocks[0][32..].copy_from_slice(digest);
    blocks[1][..16].copy_from_slice(salt);
    blocks[1][24] = 0x80;
    blocks[1][56..].copy_from_slice(&(8 * 88_u64).to_be_bytes());
    blocks
}

fn write(state: &[u32; 8], block: &mut [u8; 64]) {
    for (bytes, word) in block.as_chunks_mut::<4>().0.iter_mut().zip(state) {
        *bytes = word.to_be_bytes();
    }
}

/// Rounds between two checks of [`Stop`]: less than a millisecond.
const ROUNDS_A_LOOK: u64 = 4096;

/// FIPS 180-4, section 5.3.3.
#[rustfmt::skip]
const START: [u32; 8] = [
    0x6a09_e667, 0xbb67_ae85, 0x3c6e_f372, 0xa54f_f53a, 0x510e_527f, 0x9b05_688c, 0x1f83_d9ab, 0x5be0_cd19,
];

#[cfg(all(test, feature = "alloc"))]
mod tests {
    use super::*;
    use crate::{AesCcm, Cpu, Hash};

    fn bytes<const N: usize>(hex: &str) -> [u8; N] {
        core::array::from_fn(|index| u8::from_str_radix(&hex[2 * index..][..2], 16).unwrap())
    }

    #[test]
    fn equals_the_definition() {
        let (digest, salt) = ([0x5a; 32], [0xc3; 16]);
        let mut expected = vec![0; 32];
        for round in 0..9_u64 {
            expected = Hash::Sha256.digest(&[&expected, &digest, &salt, &round.to_le_bytes()]);
        }
        let mut key = [0; 32];
        stretch(&digest, &salt, 9, &mut key, &Stop::new()).unwrap();
        assert_eq!(key[..], expected);
    }

    /// hashcat's example of mode 22100: a volume master key that the passphrase "hashcat" unwraps.
    #[test]
    fn hashcats_example() {
        let passphrase: Vec<u8> = "hashcat".encode_utf16().flat_map(u16::to_le_bytes).collect();
        let mut digest = [0; 32];
        Hash::Sha256.digest_into(&[&Hash::Sha256.digest(&[&passphrase])], &mut digest);
        let mut key = [0; 32];
        let salt = bytes("6f972989ddc209f1eccf07313a7266a2");
        stretch(&digest, &salt, STRETCH_ROUNDS, &mut key, &Stop::new()).unwrap();
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
        assert_eq!(stretch(&[0; 32], &[0; 16], u64::MAX, &mut [0; 32], &stop), Err(Error::Stopped));
    }
}
