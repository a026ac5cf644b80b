//! What a specification reveals by itself, whatever its key: the kinds of encryption that are never
//! intended for data in sectors, and the length of the key that has to be guessed.
//!
//! Sectors are rewritten in place under the same key and IV. A mode that derives a key stream from
//! these two produces the same stream again: two versions of a sector reveal their difference, and
//! a known version reveals the other.

use super::{CipherSpec, Iv, Mode};
use alloc::format;
use alloc::string::String;

/// Why a cipher hides less than its key's length promises.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Weakness {
    /// cipher_null: nothing is encrypted.
    NoEncryption,
    /// arc4, ctr, xctr, cfb, ofb: every version of a sector is encrypted with the same key stream.
    KeyStream,
    /// Equal blocks are equal on disk, wherever they are.
    Ecb,
    /// The IV "null": equal sectors are equal on disk.
    SameIv,
}

impl Weakness {
    /// The consequence of this weakness, as the end of a sentence about the cipher.
    pub const fn in_words(self) -> &'static str {
        match self {
            Self::NoEncryption => "encrypts nothing",
            Self::KeyStream => "uses the same key stream for each version of a sector",
            Self::Ecb => "shows which blocks are equal",
            Self::SameIv => "shows which sectors are equal",
        }
    }
}

impl CipherSpec {
    /// Whether it is cipher_null, which encrypts nothing and uses no key.
    pub fn is_null(&self) -> bool {
        self.cipher.name == "cipher_null"
    }

    /// The weakness of this specification; `None` if it is fit for sectors.
    pub fn weakness(&self) -> Option<Weakness> {
        // A new mode or IV has to be classified here.
        match self.mode {
            _ if self.is_null() => Some(Weakness::NoEncryption),
            // A cipher without blocks is a key stream, though the kernel calls its mode ecb.
            _ if self.cipher.block_bits() < 64 => Some(Weakness::KeyStream),
            Mode::Ctr | Mode::Xctr | Mode::Cfb | Mode::Ofb => Some(Weakness::KeyStream),
            Mode::Ecb => Some(Weakness::Ecb),
            Mode::Xts | Mode::Cbc | Mode::Pcbc | Mode::Lrw | Mode::Adiantum { .. } | Mode::Hctr2 => {
                match self.iv {
                    Iv::Absent | Iv::Null => Some(Weakness::SameIv),
                    Iv::Plain | Iv::Plain64 | Iv::Plain64be | Iv::Essiv(_) | Iv::Benbi => None,
                    Iv::Lmk | Iv::Tcw | Iv::Eboiv | Iv::Elephant => None,
                }
            }
        }
    }

    /// The number of bits to guess in a volume key of `bits` bits: half for XTS, one key for
    /// loop-AES, and none of the parts for IVs and tweaks. `None` if the specification takes no key
    /// of this size.
    pub(crate) fn guessed_bits(&self, bits: usize) -> Option<usize> {
        let each = 8 * self.key_layout(bits / 8).filter(|_| bits.is_multiple_of(8))?.each;
        Some(match self.mode {
            Mode::Xts => each / 2,
            Mode::Lrw => each - 128,
            _ => each,
        })
    }

    /// The number of bits to guess in a key of `len` bytes, where that is feasible. (For a cipher
    /// without a key there is nothing to guess.)
    pub fn short_key(&self, len: usize) -> Option<usize> {
        let bits = self.guessed_bits(len.saturating_mul(8))?;
        (bits < LEAST_KEY_BITS && !self.is_null()).then_some(bits)
    }

    /// Why this cipher with a key of `key_len` bytes is not safe for data or a key, as the part of a
    /// sentence that follows the cipher's name; `None` when it is safe.
    pub fn weakness_with(&self, key_len: usize) -> Option<String> {
        let cipher = self.weakness().map(|weakness| format!(", which {}", weakness.in_words()));
        cipher.or_else(|| {
            let bits = self.short_key(key_len)?;
            Some(format!(" with a key of {bits} bits ({LEAST_KEY_BITS} are needed)"))
        })
    }
}

/// The shortest key that cannot be guessed.
pub const LEAST_KEY_BITS: usize = 128;

#[cfg(test)]
mod tests {
    use super::*;

    fn spec(text: &str) -> CipherSpec {
        CipherSpec::parse(text).unwrap()
    }

    #[test]
    fn key_streams_ecb_and_no_encryption_are_weak() {
        for (text, weakness) in [
            ("cipher_null-ecb", Weakness::NoEncryption),
            ("capi:ecb(cipher_null)", Weakness::NoEncryption),
            ("arc4-ecb", Weakness::KeyStream),
            ("capi:ecb(arc4)", Weakness::KeyStream),
            ("aes-ctr-plain64", Weakness::KeyStream),
            ("capi:ctr(aes)-plain64", Weakness::KeyStream),
            ("aes-xctr-plain64", Weakness::KeyStream),
            ("aes-cfb-plain64", Weakness::KeyStream),
            ("aes-ofb-plain64", Weakness::KeyStream),
            ("blowfish-ctr-plain64", Weakness::KeyStream),
            ("aes-ecb", Weakness::Ecb),
            ("capi:ecb(aes)", Weakness::Ecb),
            ("aes-xts-null", Weakness::SameIv),
            ("aes-cbc-null", Weakness::SameIv),
        ] {
            assert_eq!(spec(text).weakness(), Some(weakness), "{text}");
            let verb = weakness.in_words().split(' ').next();
            assert!(matches!(verb, Some("encrypts" | "uses" | "shows")), "{text}");
        }
        for text in [
            "aes-xts-plain64",
            "aes-xts-plain",
            "aes-cbc-essiv:sha256",
            "aes-cbc-plain",
            "aes-lrw-benbi",
            "aes-pcbc-plain64",
            "xchacha12,aes-adiantum-plain64",
            "aes-hctr2-plain64",
            "aes:64-cbc-lmk",
            "aes-cbc-tcw",
            "aes-cbc-elephant",
            "aes-cbc-eboiv",
            "blowfish-cbc-plain64",
        ] {
            assert_eq!(spec(text).weakness(), None, "{text}");
        }
    }

    #[test]
    fn only_the_key_that_has_to_be_guessed_counts() {
        for (text, key, guessed) in [
            ("aes-xts-plain64", 256, Some(128)),
            ("aes-xts-plain64", 512, Some(256)),
            ("serpent-xts-plain64", 128, Some(64)),
            ("aes-cbc-plain64", 128, Some(128)),
            ("des-cbc-plain64", 64, Some(64)),
            ("cast5-cbc-plain64", 40, Some(40)),
            ("aes-lrw-benbi", 256, Some(128)),
            ("aes:64-cbc-lmk", 64 * 128, Some(128)),
            ("aes:64-cbc-lmk", 65 * 128, Some(128)),
            ("aes-cbc-tcw", 384, Some(128)),
            ("aes-cbc-elephant", 512, Some(256)),
            ("xchacha12,aes-adiantum-plain64", 256, Some(256)),
            ("arc4-ecb", 8, Some(8)),
            ("cipher_null-ecb", 0, Some(0)),
            ("aes-xts-plain64", 128, None),
            ("aes-cbc-plain64", 129, None),
        ] {
            assert_eq!(spec(text).guessed_bits(key), guessed, "{text} with {key} bits");
        }
    }
}
