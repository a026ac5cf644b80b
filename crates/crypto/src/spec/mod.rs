//! Cipher specifications as dm-crypt, LUKS and cryptsetup write them.
//!
//! ```text
//! cipher[:keycount][-mode[-iv[:hash]]]     "aes-xts-plain64", "aes:64-cbc-lmk", "xchacha12,aes-adiantum-plain64"
//! capi:algorithm[-iv[:hash]]               "capi:xts(aes)-plain64", "capi:essiv(cbc(aes),sha256)-plain64"
//! ```
//!
//! (Linux, Documentation/admin-guide/device-mapper/dm-crypt.rst.) "aes" alone means aes-cbc-plain.
//! A [`CipherSpec`] exists only for a combination that can exist: `classic` and `capi` take the two
//! forms apart, `table` knows the names, `rules` what goes together, `keys` how a volume key is
//! divided, `strength` what is unfit for sectors. [`space()`] walks through all there is.

mod capi;
mod classic;
mod keys;
mod rules;
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
pub use strength::Weakness;
use table::EssivHash;

/// A cipher, mode and IV that can exist together. Impossible combinations do not parse.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CipherSpec {
    cipher: &'static Cipher,
    /// How many keys sectors take turns with: 1, or loop-AES's 64.
    keys: u32,
    mode: Mode,
    iv: Iv,
    /// A "capi:" specification as it was written; it means what the other fields say.
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
    /// With XChaCha of this many rounds as its stream cipher.
    Adiantum {
        rounds: u8,
    },
    Hctr2,
}

/// Where a sector's IV comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Iv {
    /// ECB has none.
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
    /// What volumes get when nothing is chosen: cryptsetup's default.
    pub const DEFAULT: &'static str = "aes-xts-plain64";
    /// The size of its volume key in bits.
    pub const DEFAULT_KEY_BITS: u32 = 2 * Self::DEFAULT_CIPHER_KEY_BITS;
    /// cryptsetup's default for one key of a cipher, in bits; XTS has two.
    pub const DEFAULT_CIPHER_KEY_BITS: u32 = 256;

    /// Parses a specification. Names what is unknown, which rule an impossible combination breaks
    /// ([`Error::Impossible`]), and the few that the kernel has but this build has no code for
    /// ([`Error::Unsupported`]).
    pub fn parse(text: &str) -> Result<Self, Error> {
        match text.strip_prefix("capi:") {
            Some(algorithm) => capi::parse(text, algorithm),
            None => classic::parse(text),
        }
    }

    /// Parses LUKS1's two fields, "aes" and "xts-plain64". An empty mode is as good as none.
    pub fn from_parts(cipher_name: &str, cipher_mode: &str) -> Result<Self, Error> {
        match cipher_mode {
            "" => Self::parse(cipher_name),
            mode => Self::parse(&format!("{cipher_name}-{mode}")),
        }
    }

    /// Whether the other means the same, however it was written
    /// ("capi:xts(aes)-plain64" and "aes-xts-plain64").
    pub fn means(&self, other: &Self) -> bool {
        (self.cipher, self.keys, self.mode, self.iv) == (other.cipher, other.keys, other.mode, other.iv)
    }

    /// Refuses a sector size that the IV cannot take: loop-AES's and
    /// TrueCrypt's are made for 512 bytes.
    pub fn check_sector_size(&self, size: SectorSize) -> Result<(), Error> {
        match self.iv {
            Iv::Lmk | Iv::Tcw if size != SectorSize::S512 => Err(Error::Impossible(format!(
                "{self}: the IV {} is made for sectors of 512 bytes, not {}",
                self.iv.name(),
                size.bytes()
            ))),
            _ => Ok(()),
        }
    }

    /// The sector sizes that it can take, ascending.
    pub fn sector_sizes(&self) -> impl Iterator<Item = SectorSize> {
        SectorSize::ALL.into_iter().filter(|size| self.check_sector_size(*size).is_ok())
    }

    /// The size of the cipher's block in bytes: 8 or 16, and 1 where there
    /// are none (ciphers that exist in ECB only).
    pub fn block_len(&self) -> usize {
        self.cipher.block_bits() / 8
    }

    /// The size of a sector's IV in bytes: a block's, the wide modes' 32, or none.
    pub fn iv_len(&self) -> usize {
        self.mode.iv_len(self.cipher)
    }

    /// How many keys sectors take turns with: 1 but for "aes:64-…".
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

    /// The block in bytes that the kernel's skcipher of the mode states (`cra_blocksize`).
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

/// The canonical text, which parses back to the same value; of a
/// "capi:" specification the text that was parsed.
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

/// "256, 384 or 512 bits"; many as "32 to 448 bits in steps of 8".
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
