//! The chains of ciphers and the modes that the programs used them in.
//!
//! Names have the ciphers in the order in which they encrypt, as cryptsetup's have. TrueCrypt's and
//! VeraCrypt's own names go the other way: "AES-Twofish-Serpent" is "serpent-twofish-aes".
//! (TrueCrypt, src/Common/Crypto.c; cryptsetup, lib/tcrypt/tcrypt.c, `tcrypt_cipher`.)

use super::Program;
use CascadeMode::{Cbc, Lrw, Xts};
use alloc::format;
use alloc::string::String;
use keyway_crypto::{Cascade, CascadeMode, Error, Secret};

/// A chain of ciphers in a mode.
#[derive(Debug, PartialEq, Eq)]
pub struct Cipher {
    /// The ciphers, as [`Cascade`] takes them.
    pub chain: &'static str,
    /// Their mode.
    pub mode: CascadeMode,
    era: Era,
}

/// The programs that have it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Era {
    TrueCrypt,
    Both,
    VeraCrypt,
}

impl Cipher {
    /// Whether headers and volumes of the program may be encrypted so.
    pub fn is_of(&self, program: Program) -> bool {
        match self.era {
            Era::Both => true,
            Era::TrueCrypt => program == Program::TrueCrypt,
            Era::VeraCrypt => program == Program::VeraCrypt,
        }
    }

    /// Whether it is one cipher.
    pub fn is_single(&self) -> bool {
        !self.chain.contains('-')
    }

    /// The mode, as cryptsetup names it: "xts-plain64", "cbci-tcrypt".
    pub fn mode_name(&self) -> &'static str {
        match self.mode {
            Xts => "xts-plain64",
            Lrw => "lrw-benbi",
            Cbc if self.chain.contains("blowfish_le") => "cbc-tcrypt",
            Cbc if self.is_single() => "cbc-tcw",
            Cbc => "cbci-tcrypt",
        }
    }

    /// The whole specification where dm-crypt has it: a single cipher, but for little-endian
    /// Blowfish.
    pub fn dm_crypt(&self) -> Option<String> {
        let known = self.is_single() && self.chain != "blowfish_le";
        known.then(|| format!("{}-{}", self.chain, self.mode_name()))
    }

    /// The length of [`Cipher::volume_key`] in bytes.
    pub fn key_len(&self) -> usize {
        let keys: usize = self.chain.split('-').map(|cipher| self.key_of(cipher)).sum();
        keys + match self.mode {
            Xts => KEY * self.count(),
            Lrw => LRW_TWEAK * self.count(),
            Cbc => self.seed_and_whitening(),
        }
    }

    /// The volume key as cryptsetup hands it to dm-crypt and shows it, out of a header's keys: the
    /// key of each cipher in order, followed by its tweak key in XTS, by the one tweak key in LRW; in
    /// CBC the IV's seed and the whitening come behind all keys.
    ///
    /// # Errors
    /// The area is too short.
    pub fn volume_key(&self, area: &Secret) -> Result<Secret, Error> {
        if area.len() < Cascade::key_len(self.chain, self.mode)? {
            return Err(Error::Cost("the header's keys end before the cipher's"));
        }
        let mut volume_key = Secret::zeroed(self.key_len());
        let mut rest = volume_key.expose_mut();
        let mut put = |part: &[u8]| {
            let (place, behind) = core::mem::take(&mut rest).split_at_mut(part.len());
            place.copy_from_slice(part);
            rest = behind;
        };
        match Cascade::layers(self.chain, self.mode, area)? {
            Some(layers) => layers.iter().for_each(|layer| put(layer.key.expose())),
            None => {
                let (head, mut keys) = area.expose().split_at(HEAD);
                for cipher in self.chain.split('-') {
                    let (key, behind) = keys.split_at(self.key_of(cipher));
                    put(key);
                    keys = behind;
                }
                put(&head[..self.seed_and_whitening()]);
            }
        }
        Ok(volume_key)
    }

    fn count(&self) -> usize {
        self.chain.split('-').count()
    }

    /// The key of one of the ciphers, in bytes.
    fn key_of(&self, cipher: &str) -> usize {
        SMALL_BLOCKS.iter().find(|(name, _)| *name == cipher).map_or(KEY, |(_, len)| *len)
    }

    /// CBC's seed is as long as the block of a single cipher; chains take that of the largest.
    fn seed_and_whitening(&self) -> usize {
        let is_small = SMALL_BLOCKS.iter().any(|(name, _)| *name == self.chain);
        if is_small { 8 + WHITENING } else { 16 + WHITENING }
    }
}

const fn row(chain: &'static str, mode: CascadeMode, era: Era) -> Cipher {
    Cipher { chain, mode, era }
}

/// All of them, the likely ones first.
pub static CIPHERS: [Cipher; 36] = [
    row("aes", Xts, Era::Both),
    row("serpent", Xts, Era::Both),
    row("twofish", Xts, Era::Both),
    row("twofish-aes", Xts, Era::Both),
    row("serpent-twofish-aes", Xts, Era::Both),
    row("aes-serpent", Xts, Era::Both),
    row("aes-twofish-serpent", Xts, Era::Both),
    row("serpent-twofish", Xts, Era::Both),
    row("camellia", Xts, Era::VeraCrypt),
    row("kuznyechik", Xts, Era::VeraCrypt),
    row("kuznyechik-camellia", Xts, Era::VeraCrypt),
    row("twofish-kuznyechik", Xts, Era::VeraCrypt),
    row("serpent-camellia", Xts, Era::VeraCrypt),
    row("aes-kuznyechik", Xts, Era::VeraCrypt),
    row("camellia-serpent-kuznyechik", Xts, Era::VeraCrypt),
    row("aes", Lrw, Era::TrueCrypt),
    row("serpent", Lrw, Era::TrueCrypt),
    row("twofish", Lrw, Era::TrueCrypt),
    row("twofish-aes", Lrw, Era::TrueCrypt),
    row("serpent-twofish-aes", Lrw, Era::TrueCrypt),
    row("aes-serpent", Lrw, Era::TrueCrypt),
    row("aes-twofish-serpent", Lrw, Era::TrueCrypt),
    row("serpent-twofish", Lrw, Era::TrueCrypt),
    row("aes", Cbc, Era::TrueCrypt),
    row("serpent", Cbc, Era::TrueCrypt),
    row("twofish", Cbc, Era::TrueCrypt),
    row("twofish-aes", Cbc, Era::TrueCrypt),
    row("serpent-twofish-aes", Cbc, Era::TrueCrypt),
    row("aes-serpent", Cbc, Era::TrueCrypt),
    row("aes-twofish-serpent", Cbc, Era::TrueCrypt),
    row("serpent-twofish", Cbc, Era::TrueCrypt),
    row("blowfish_le", Cbc, Era::TrueCrypt),
    row("cast5", Cbc, Era::TrueCrypt),
    row("des3_ede", Cbc, Era::TrueCrypt),
    row("blowfish_le-aes", Cbc, Era::TrueCrypt),
    row("serpent-blowfish_le-aes", Cbc, Era::TrueCrypt),
];

/// Ciphers of 64-bit blocks, with their keys in bytes.
const SMALL_BLOCKS: [(&str, usize); 3] = [("blowfish_le", 56), ("cast5", 16), ("des3_ede", 24)];
/// The key of a cipher of 128-bit blocks, in bytes.
const KEY: usize = 32;
/// What comes before the ciphers' keys in LRW and CBC.
const HEAD: usize = 32;
const LRW_TWEAK: usize = 16;
const WHITENING: usize = 16;
