//! lmk, the IV of loop-AES (Linux, drivers/md/dm-crypt.c,
//! `crypt_iv_lmk_*`): CBC whose IV depends on the sector's data.
//!
//! The IV is the state of MD5, without its padding, after: a seed of 64 bytes (16 from the key,
//! zeros; version 3 only), the sector's plaintext from byte 16 on, and 16 bytes of words: the
//! sector's number in 56 bits with a bit set above them, 4024, 0. CBC adds the IV to the first
//! block only, so the other blocks can be decrypted without it: the kernel decrypts with an IV of
//! zeros, computes the IV from the bytes after the first block, and then adds it. This code does
//! the same in both directions.
//!
//! Version 1 of loop-AES is plain CBC; versions 2 and 3 use 64 keys for sectors in turn.

use crate::engine::{Engine, Run};
use crate::secret::SecretBox;
use alloc::boxed::Box;
use md5::block_api::compress;
use zeroize::Zeroizing;

/// CBC with IVs of zeros, and the state that adds loop-AES's IVs to it.
pub(crate) struct Lmk {
    cbc: Box<dyn Engine>,
    /// The block length of the cipher: that many bytes of MD5's state are the IV.
    iv_len: usize,
    /// MD5's state after the seed.
    state: SecretBox<[u32; 4]>,
}

impl Lmk {
    /// `seed`: empty (version 2), or a key of which 16 bytes count (version 3).
    pub(crate) fn new(cbc: Box<dyn Engine>, iv_len: usize, seed: &[u8]) -> Self {
        let state = SecretBox::new_with(|state: &mut [u32; 4]| {
            *state = MD5_START;
            if !seed.is_empty() {
                let mut block = Zeroizing::new([0; 64]);
                block[..16].copy_from_slice(&seed[..16]);
                compress(state, core::slice::from_ref(&block));
            }
        });
        Self { cbc, iv_len, state }
    }

    /// Adds each sector's IV to its first block: the IV does not depend on the bytes it changes.
    fn add_ivs(&self, run: &Run, data: &mut [u8]) {
        for (index, sector) in data.chunks_exact_mut(run.sector).enumerate() {
            let iv = self.iv(run.iv(index), sector);
            sector.iter_mut().zip(&iv[..self.iv_len]).for_each(|(byte, iv)| *byte ^= iv);
        }
    }

    fn iv(&self, number: u64, sector: &[u8]) -> Zeroizing<[u8; 16]> {
        let mut message = Zeroizing::new([0; 512]);
        message[..496].copy_from_slice(&sector[16..]);
        message[496..504].copy_from_slice(&(number & MOST | MARK).to_le_bytes());
        message[504..508].copy_from_slice(&4024u32.to_le_bytes());
        let mut state = Zeroizing::new(*self.state);
        compress(&mut state, message.as_chunks().0);
        let mut iv = Zeroizing::new([0; 16]);
        iv.as_chunks_mut().0.iter_mut().zip(*state).for_each(|(bytes, word)| *bytes = word.to_le_bytes());
        iv
    }
}

impl Engine for Lmk {
    fn encrypt(&self, run: &Run, data: &mut [u8]) {
        self.add_ivs(run, data);
        self.cbc.encrypt(run, data);
    }

    fn decrypt(&self, run: &Run, data: &mut [u8]) {
        self.cbc.decrypt(run, data);
        self.add_ivs(run, data);
    }

    fn code(&self) -> &'static str {
        self.cbc.code()
    }
}

/// RFC 1321, section 3.3.
const MD5_START: [u32; 4] = [0x6745_2301, 0xefcd_ab89, 0x98ba_dcfe, 0x1032_5476];

/// The part of a sector's number that is used: 56 bits.
const MOST: u64 = (1 << 56) - 1;

/// The bit above them, MD5's end-of-message mark in loop-AES's view of the message.
const MARK: u64 = 1 << 63;
