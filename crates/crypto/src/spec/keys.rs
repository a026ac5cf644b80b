//! How a volume key is divided, as dm-crypt does it
//! (drivers/md/dm-crypt.c, `crypt_ctr_ivmode`, `crypt_subkey_size`).
//!
//! ```text
//! key of cipher 0 | … | key of cipher n-1 | extra
//! ```
//!
//! The key of one cipher depends on its mode: two keys for XTS (data and tweak), a key and a
//! 128-bit tweak key for LRW. The extra part belongs to the IV: for loop-AES version 3 a seed as
//! long as one key (lmk), for TrueCrypt an IV and 128 bits of whitening (tcw), for BitLocker an AES
//! key as long as everything before it (elephant). cipher_null uses no key: dm-crypt gets none, but a
//! LUKS header has a volume key of any length all the same, as with cryptsetup.

use super::{CipherSpec, Iv, Mode, list};
use crate::Error;
use alloc::boxed::Box;
use alloc::string::ToString;
use alloc::vec::Vec;

/// The parts of a volume key, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct KeyLayout {
    /// The number of keys that sectors use in turn.
    pub(crate) keys: usize,
    /// The length of each key.
    pub(crate) each: usize,
    /// The length of the part after the keys, for the IV.
    pub(crate) extra: usize,
}

impl KeyLayout {
    /// The length of the volume key.
    pub(crate) fn len(self) -> usize {
        self.keys * self.each + self.extra
    }
}

impl CipherSpec {
    /// How a volume key of `len` bytes is divided. `None` for a length
    /// that [`CipherSpec::check_key_bits`] refuses.
    pub(crate) fn key_layout(&self, len: usize) -> Option<KeyLayout> {
        if self.is_null() {
            return Some(KeyLayout { keys: 1, each: 0, extra: len });
        }
        self.key_layouts().find(|layout| layout.len() == len)
    }

    /// Refuses a volume key of `bits` bits that the specification
    /// cannot take (XTS counts both halves).
    pub fn check_key_bits(&self, bits: usize) -> Result<(), Error> {
        if bits.is_multiple_of(8) && self.key_layout(bits / 8).is_some() {
            return Ok(());
        }
        let mut wants = list(&self.key_bits());
        wants += match (self.mode, self.iv) {
            (_, Iv::Elephant) => " (half for the data, half for the sector keys)",
            (_, Iv::Tcw) => " (the mode's key, an IV and 128 bits of whitening)",
            (_, Iv::Lmk) if self.keys > 1 => " (all keys, and loop-AES's seed or not)",
            (Mode::Xts, _) => " (two keys: one for the data, one for the tweak)",
            (Mode::Lrw, _) => " (the cipher's key and a 128-bit tweak key)",
            _ => "",
        };
        Err(Error::KeySize { spec: self.to_string(), got: bits, wants })
    }

    /// The sizes of volume keys that the specification takes, in bits, ascending.
    pub fn key_bits(&self) -> Vec<usize> {
        let mut sizes: Vec<usize> = self.key_layouts().map(|layout| 8 * layout.len()).collect();
        sizes.sort_unstable();
        sizes
    }

    fn key_layouts(&self) -> impl Iterator<Item = KeyLayout> {
        let plain = self.mode_keys().map(|each| KeyLayout { keys: self.keys as usize, each, extra: 0 });
        plain
            .flat_map(|layout| {
                let extra = |extra: usize| KeyLayout { extra, ..layout };
                match self.iv {
                    Iv::Tcw => [Some(extra(self.iv_len().max(8) + WHITENING)), None],
                    Iv::Elephant => {
                        [Some(extra(layout.len())).filter(|it| AES_KEYS.contains(&it.extra)), None]
                    }
                    Iv::Lmk => [Some(layout), Some(extra(layout.each)).filter(|it| it.has_seed())],
                    _ => [Some(layout), None],
                }
            })
            .flatten()
    }

    /// The key lengths of one cipher in its mode, in bytes.
    fn mode_keys(&self) -> Box<dyn Iterator<Item = usize>> {
        let cipher = self.cipher.key_bits().map(|bits| bits / 8);
        match self.mode {
            Mode::Xts => Box::new(cipher.map(|key| 2 * key)),
            Mode::Lrw => Box::new(cipher.map(|key| key + 16)),
            Mode::Adiantum { .. } => Box::new([32].into_iter()),
            _ => Box::new(cipher),
        }
    }
}

impl KeyLayout {
    /// dm-crypt treats the last key as a seed if the length is not a multiple of the number of
    /// keys, and reads 16 bytes of it.
    fn has_seed(&self) -> bool {
        !self.len().is_multiple_of(self.keys) && self.extra >= 16
    }
}

/// TrueCrypt's whitening in bytes.
const WHITENING: usize = 16;
/// AES key lengths in bytes.
const AES_KEYS: [usize; 3] = [16, 24, 32];
