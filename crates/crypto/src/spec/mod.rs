//! Cipher specifications as dm-crypt, LUKS and cryptsetup write them.
//!
//! ```text
//! cipher[:keycount][-mode[-iv[:hash]]]     "aes-xts-plain64", "aes:64-cbc-lmk", "xchacha12,aes-adiantum-plain64"
//! capi:algorithm[-iv[:hash]]               "capi:xts(aes)-plain64", "capi:essiv(cbc(aes),sha256)-plain64"
//! ```
//!
//! (Linux, Documentation/admin-guide/device-mapper/dm-crypt.rst.) "aes" alone means aes-cbc-plain.
//! A [`CipherSpec`] exists only for a combination that can exist: `classic` and `capi` parse the
//! two forms; `table` has the names, `rules` what may be combined, `keys` how a volume key is
//! divided, `short` what short names mean, and `strength` what is unfit for sectors. [`space()`] enumerates all combinations.

mod capi;
mod classic;
mod keys;
mod rules;
mod short;
mod space;
mod strength;
mod table;

use crate::block::table::Cipher;
use crate::{Error, SectorSize};
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt;
pub use space::{Combination, Existing, space};
pub use strength::{LEAST_KEY_BITS, Weakness};
use table::EssivHash;

/// A cipher, mode and IV that can exist together. Impossible combinations do not parse.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CipherSpec {
    cipher: &'static Cipher,
    /// The number of keys that sectors use in turn: 1, or loop-AES's 64.
    keys: u32,
    mode: Mode,
    iv: Iv,
    /// A "capi:" specification as it was written; the other fields hold its meaning.
    capi: Option<String>,
}

/// How blocks are chained into sectors.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mode {
    Xts,
    Cbc,
    Ctr,
    Ecb,
    Pcbc,
    Lrw,
    /// Up to Linux 6.8.
    Cfb,
    /// Up to Linux 6.8.
    Ofb,
    Xctr,
    /// With XChaCha of the given number of rounds as its stream cipher.
    Adiantum {
        rounds: u8,
    },
    Hctr2,
}

/// Where a sector's IV comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Iv {
    /// No IV, as in ECB.
    Absent,
    Null,
    Plain,
    Plain64,
    Plain64be,
    Essiv(&'static EssivHash),
    Benbi,
    Lmk,
    Tcw,
    Eboiv,
    Elephant,
}

impl CipherSpec {
    /// The specification used if none is chosen: cryptsetup's default.
    pub const DEFAULT: &'static str = "aes-xts-plain64";
    /// The default volume key size in bits.
    pub const DEFAULT_KEY_BITS: u32 = 2 * Self::DEFAULT_CIPHER_KEY_BITS;
    /// cryptsetup's default for one key of a cipher, in bits; XTS has two.
    pub const DEFAULT_CIPHER_KEY_BITS: u32 = 256;

    /// Parses a specification. The error names what is unknown, which rule an impossible
    /// combination breaks ([`Error::Impossible`]), or one of the few combinations that the kernel
    /// has but this build has no code for ([`Error::Unsupported`]).
    pub fn parse(text: &str) -> Result<Self, Error> {
        match text.strip_prefix("capi:") {
            Some(algorithm) => capi::parse(text, algorithm),
            None => classic::parse(text),
        }
    }

    /// The same specification in dm-crypt's own words: "aes-xts-plain64" for "capi:xts(aes)-plain64",
    /// or for the name of one of its drivers.
    pub fn classic(&self) -> Self {
        Self { capi: None, ..self.clone() }
    }

    /// Whether `other` means the same, whichever form it was written in ("capi:xts(aes)-plain64"
    /// and "aes-xts-plain64").
    pub fn means(&self, other: &Self) -> bool {
        (self.cipher, self.keys, self.mode, self.iv) == (other.cipher, other.keys, other.mode, other.iv)
    }

    /// Refuses a sector size that the IV does not support: those of loop-AES and TrueCrypt are
    /// defined for 512 bytes.
    pub fn check_sector_size(&self, size: SectorSize) -> Result<(), Error> {
        match self.iv {
            Iv::Lmk | Iv::Tcw if size != SectorSize::S512 => Err(Error::Impossible(format!(
                "{self}: the IV {} is defined for sectors of 512 bytes, not {}",
                self.iv.name(),
                size.bytes()
            ))),
            _ => Ok(()),
        }
    }

    /// The sector sizes that the specification supports, ascending.
    pub fn sector_sizes(&self) -> impl Iterator<Item = SectorSize> {
        SectorSize::ALL.into_iter().filter(|size| self.check_sector_size(*size).is_ok())
    }

    /// The size of the cipher's block in bytes: 8 or 16, and 1 for ciphers without blocks (those
    /// that exist only in ECB).
    pub fn block_len(&self) -> usize {
        self.cipher.block_bits() / 8
    }

    /// The size of a sector's IV in bytes: the block size, 32 for the wide modes, or 0 without an
    /// IV.
    pub fn iv_len(&self) -> usize {
        self.mode.iv_len(self.cipher)
    }

    /// The number of keys that sectors use in turn: 1 except for "aes:64-…".
    pub fn key_count(&self) -> usize {
        self.keys as usize
    }

    /// The cipher as LUKS1's cipher-name field has it: "aes",
    /// "aes:64", "xchacha12,aes", "capi:xts(aes)".
    pub fn cipher_name(&self) -> String {
        self.halves().0
    }

    /// Mode and IV as LUKS1's cipher-mode field has them: "xts-plain64", "cbc-essiv:sha256", "ecb";
    /// for a "capi:" specification what follows its first dash.
    pub fn mode_name(&self) -> String {
        self.halves().1
    }

    pub(crate) fn cipher(&self) -> &'static Cipher {
        self.cipher
    }

    /// The block size in bytes that the kernel's skcipher for the mode declares (`cra_blocksize`).
    pub(crate) fn mode_block_len(&self) -> usize {
        match self.mode {
            mode if mode.is_stream() => 1,
            _ => self.block_len(),
        }
    }

    pub(crate) fn mode(&self) -> Mode {
        self.mode
    }

    pub(crate) fn iv(&self) -> Iv {
        self.iv
    }

    /// The text before and after the first dash, as cryptsetup divides it.
    fn halves(&self) -> (String, String) {
        let text = self.to_string();
        match text.split_once('-') {
            Some((cipher, mode)) => (cipher.into(), mode.into()),
            None => (text, String::new()),
        }
    }
}

impl CipherSpec {
    /// Whether the text names an implementation ("aes-generic") where only an algorithm ("aes") has
    /// a meaning on every machine: "capi:" with a dash before its last parenthesis.
    pub fn names_driver(&self) -> bool {
        let capi = self.capi.as_deref().and_then(|text| text.rsplit_once(')'));
        capi.is_some_and(|(algorithm, _)| algorithm.contains('-'))
    }
}

/// The canonical text, which parses back to the same value; for a "capi:" specification, the text
/// as it was parsed.
impl fmt::Display for CipherSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(capi) = &self.capi {
            return f.write_str(capi);
        }
        if let Mode::Adiantum { rounds } = self.mode {
            write!(f, "xchacha{rounds},")?;
        }
        f.write_str(self.cipher.name)?;
        if self.keys > 1 {
            write!(f, ":{}", self.keys)?;
        }
        write!(f, "-{}", self.mode.name())?;
        match self.iv {
            Iv::Absent => Ok(()),
            Iv::Essiv(hash) => write!(f, "-essiv:{}", hash.name),
            iv => write!(f, "-{}", iv.name()),
        }
    }
}

/// "256, 384 or 512 bits"; a long list as "32 to 448 bits in steps of 8".
fn list(sizes: &[usize]) -> String {
    match sizes {
        [] => "no bits".into(),
        [only] => format!("{only} bits"),
        [first, second, .., last] if sizes.len() > 4 => {
            let step = second - first;
            match sizes.windows(2).all(|pair| pair[1] - pair[0] == step) {
                true => format!("{first} to {last} bits in steps of {step}"),
                false => format!("{first} to {last} bits in {} sizes", sizes.len()),
            }
        }
        [most @ .., last] => {
            let most: Vec<String> = most.iter().map(ToString::to_string).collect();
            format!("{} or {last} bits", most.join(", "))
        }
    }
}

#[cfg(test)]
mod tests;
