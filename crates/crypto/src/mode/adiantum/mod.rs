//! Adiantum (Crowley and Biggers, "Adiantum: length-preserving encryption for entry-level
//! processors", section 2; Linux crypto/adiantum.c): a wide mode made of XChaCha, NH, Poly1305 and,
//! per sector, one block of a cipher with 256-bit keys.
//!
//! ```text
//! sector = bulk (all but the last 16 bytes) || right (16 bytes)      sums are modulo 2^128, little endian
//! hash   = Poly1305(bits of the bulk, 128-bit || IV of 32 bytes) + NHPoly1305(bulk)
//! middle = E(right + hash)             bulk ^= XChaCha(nonce = middle || 1 || 0^63)             right = middle - hash
//! K_E (32) || K_header (16) || K_bulk (16) || K_NH (1072) = XChaCha(nonce = 1 || 0^191)
//! ```
//!
//! All sectors of a batch go through each step together: the hashes of all, their blocks in one
//! call of the cipher, their ChaCha keys in one register's lanes.

#[cfg(target_arch = "aarch64")]
mod arm;
mod chacha;
mod code;
mod nh;
mod poly1305;
mod portable;
#[cfg(any(all(target_arch = "x86_64", target_feature = "sse2"), target_arch = "aarch64"))]
mod sys;
#[cfg(test)]
mod tests;
mod words;
#[cfg(all(target_arch = "x86_64", target_feature = "sse2"))]
mod x86;

use crate::Cpu;
use crate::block_cipher::Make128;
use crate::block_cipher::{Block, Cipher128};
use crate::mode::wide::Wide;
use crate::secret::{Plain, SecretBox};
use crate::simd::vector_code;
use alloc::boxed::Box;
use code::{Code, StreamKey};
use nh::HashKey;
use poly1305::{Point, Poly1305};
use portable::PORTABLE;
use zeroize::Zeroizing;

/// An expanded key.
pub(crate) struct Adiantum {
    code: &'static Code,
    keys: SecretBox<Keys>,
    cipher: Box<dyn Cipher128>,
}

/// The keys of the hashes and of the stream.
#[derive(Clone, Copy)]
struct Keys {
    stream: StreamKey,
    header: Point,
    bulk: HashKey,
}

impl Plain for Keys {
    const EMPTY: Self = Self {
        stream: StreamKey { key: [0; 8], rounds: 0, nonce_end: 0 },
        header: Point::ZERO,
        bulk: HashKey::EMPTY,
    };
}

impl Adiantum {
    /// Expands a key of 32 bytes; XChaCha has `rounds` rounds (12 or 20),
    /// `cipher` makes a cipher from a 256-bit key.
    ///
    /// # Panics
    /// For a key of any other length: callers check it.
    pub(crate) fn new(key: &[u8], rounds: u8, cipher: Make128, cpu: Cpu) -> Self {
        let mut derived = Zeroizing::new([0; DERIVED]);
        let keys = SecretBox::new_with(|keys: &mut Keys| {
            for (word, bytes) in keys.stream.key.iter_mut().zip(key.as_chunks().0) {
                *word = u32::from_le_bytes(*bytes);
            }
            assert_eq!(key.len(), 32, "the key of XChaCha");
            keys.stream.rounds = rounds;
            let mut nonce = [0; 16];
            nonce[0] = 1;
            keys.stream.nonce_end = 0;
            (PORTABLE.stream)(&keys.stream, &[nonce], DERIVED, &mut *derived);
            keys.stream.nonce_end = 1;
            let (header, bulk) = derived[32..].split_first_chunk().expect("enough key stream");
            keys.header = Point::new(*header);
            keys.bulk.fill(&bulk[..HashKey::BYTES]);
        });
        Self { code: choose(cpu), keys, cipher: cipher(&derived[..32], cpu) }
    }

    /// Divides the run into batches that stay in the second-level cache between the passes over
    /// them.
    fn in_batches(
        &self,
        ivs: &[[u8; 32]],
        sector: usize,
        data: &mut [u8],
        cipher: impl Fn(&mut [Block], &mut [Block]),
    ) {
        let sectors = (BATCH_BYTES / sector).clamp(1, chacha::MOST_SECTORS);
        for (ivs, batch) in ivs.chunks(sectors).zip(data.chunks_mut(sectors * sector)) {
            self.batch(ivs, sector, batch, &cipher);
        }
    }

    /// One batch. `cipher` replaces the middle blocks with the input for the right-hand parts, and
    /// fills in the nonces: the encrypted middle block, in both directions.
    fn batch(
        &self,
        ivs: &[[u8; 32]],
        sector: usize,
        data: &mut [u8],
        cipher: impl Fn(&mut [Block], &mut [Block]),
    ) {
        let mut headers = [0; chacha::MOST_SECTORS];
        let mut hashes = [0; chacha::MOST_SECTORS];
        let mut middles = [[0; 16]; chacha::MOST_SECTORS];
        let mut nonces = [[0; 16]; chacha::MOST_SECTORS];
        let (headers, hashes) = (&mut headers[..ivs.len()], &mut hashes[..ivs.len()]);
        let (middles, nonces) = (&mut middles[..ivs.len()], &mut nonces[..ivs.len()]);

        self.hash_headers(ivs, sector, headers);
        (self.code.hash)(&self.keys.bulk, sector, data, hashes);
        for (index, sector) in data.chunks_exact(sector).enumerate() {
            let right = u128::from_le_bytes(*sector.last_chunk().expect("a block"));
            let sum = right.wrapping_add(headers[index]).wrapping_add(hashes[index]);
            middles[index] = sum.to_le_bytes();
        }
        cipher(middles, nonces);
        (self.code.stream)(&self.keys.stream, nonces, sector, data);
        (self.code.hash)(&self.keys.bulk, sector, data, hashes);
        for (index, sector) in data.chunks_exact_mut(sector).enumerate() {
            let middle = u128::from_le_bytes(middles[index]);
            let right = middle.wrapping_sub(headers[index]).wrapping_sub(hashes[index]);
            *sector.last_chunk_mut().expect("a block") = right.to_le_bytes();
        }
    }

    /// The hash of the bulk's length and the IV, for each sector.
    fn hash_headers(&self, ivs: &[[u8; 32]], sector: usize, headers: &mut [u128]) {
        let mut start = Poly1305::new();
        start.block(&self.keys.header, [8 * (sector as u64 - 16), 0]);
        for (iv, header) in ivs.iter().zip(headers) {
            let mut poly = start;
            for half in iv.as_chunks::<16>().0 {
                let half = u128::from_le_bytes(*half);
                poly.block(&self.keys.header, [half as u64, (half >> 64) as u64]);
            }
            *header = poly.finish();
        }
    }
}

impl Wide for Adiantum {
    fn encrypt(&self, ivs: &[[u8; 32]], sector: usize, data: &mut [u8]) {
        self.in_batches(ivs, sector, data, |middles, nonces| {
            self.cipher.encrypt_blocks(middles);
            nonces.copy_from_slice(middles);
        });
    }

    fn decrypt(&self, ivs: &[[u8; 32]], sector: usize, data: &mut [u8]) {
        self.in_batches(ivs, sector, data, |middles, nonces| {
            nonces.copy_from_slice(middles);
            self.cipher.decrypt_blocks(middles);
        });
    }

    /// The code in use for the stream and the hash, which do nearly all of the work.
    fn code(&self) -> &'static str {
        self.code.name
    }
}

/// The widest code that `cpu` can run.
fn choose(cpu: Cpu) -> &'static Code {
    vector_code!(cpu).unwrap_or(&PORTABLE)
}

/// Bytes of key stream used for keys, rounded up to whole registers of the portable code.
const DERIVED: usize = 5 * 4 * chacha::BLOCK;

/// Bytes that go through one step before the next step begins.
const BATCH_BYTES: usize = 64 << 10;
