//! Cipher specifications as dm-crypt and LUKS write them: "aes-xts-plain64", "aes-cbc-essiv:sha256", "aes-ecb".
//!
//! ```text
//! cipher[:keycount][-mode[-iv[:hash]]]     (Linux, Documentation/admin-guide/device-mapper/dm-crypt.rst)
//! ```
//!
//! "aes" alone means aes-cbc-plain. A [`CipherSpec`] exists only for a combination that can exist; `table` knows the
//! names, `rules` what goes together.

mod rules;
mod table;

use crate::block::table::{Cipher, Make};
use crate::{Error, Hash};
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt;
use table::EssivHash;

/// A cipher, mode and IV that can exist together. Impossible combinations do not parse.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CipherSpec {
    cipher: &'static Cipher,
    mode: Mode,
    iv: Iv,
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
    Random,
}

impl CipherSpec {
    /// Parses a specification that this build can run. Names what is unknown, which rule an impossible combination
    /// breaks ([`Error::Impossible`]), and what exists but is not built ([`Error::Unsupported`]).
    pub fn parse(text: &str) -> Result<Self, Error> {
        let spec = Self::recognise(text)?;
        spec.check_implemented()?;
        Ok(spec)
    }

    /// Parses any specification that can exist, whether this build can run it or not: to describe volumes.
    pub fn recognise(text: &str) -> Result<Self, Error> {
        rules::recognise(text)
    }

    /// Parses LUKS1's two fields, "aes" and "xts-plain64".
    pub fn from_parts(cipher_name: &str, cipher_mode: &str) -> Result<Self, Error> {
        Self::parse(&format!("{cipher_name}-{cipher_mode}"))
    }

    /// Refuses a volume key of `bits` bits that the cipher and mode cannot take (XTS counts both halves).
    pub fn check_key_bits(&self, bits: usize) -> Result<(), Error> {
        if self.key_bits().contains(&bits) {
            return Ok(());
        }
        let mut wants = list(&self.key_bits());
        match self.mode {
            Mode::Xts => wants += " (two keys: one for the data, one for the tweak)",
            Mode::Lrw => wants += " (the cipher's key and a 128-bit tweak key)",
            _ => {}
        }
        Err(Error::KeySize { spec: self.to_string(), got: bits, wants })
    }

    /// The volume key sizes that the cipher and mode take, in bits, ascending.
    pub fn key_bits(&self) -> Vec<usize> {
        match (self.mode, self.iv) {
            (Mode::Xts, _) | (_, Iv::Elephant) => self.cipher.key_bits().map(|bits| 2 * bits).collect(),
            (Mode::Lrw, _) => self.cipher.key_bits().map(|bits| bits + 128).collect(),
            (Mode::Adiantum { .. }, _) => Vec::from([256]),
            (_, Iv::Tcw) => {
                self.cipher.key_bits().map(|bits| bits + self.cipher.block_bits() + 128).collect()
            }
            _ => self.cipher.key_bits().collect(),
        }
    }

    /// The size of the cipher's block in bytes: 8 or 16.
    pub fn block_len(&self) -> usize {
        self.cipher.block_bits() / 8
    }

    /// The cipher as LUKS1's cipher-name field has it: "aes", "xchacha12,aes".
    pub fn cipher_name(&self) -> String {
        match self.mode {
            Mode::Adiantum { rounds } => format!("xchacha{rounds},{}", self.cipher.name),
            _ => self.cipher.name.into(),
        }
    }

    /// Mode and IV as LUKS1's cipher-mode field has them: "xts-plain64", "cbc-essiv:sha256", "ecb".
    pub fn mode_name(&self) -> String {
        match self.iv {
            Iv::Absent => self.mode.name().into(),
            Iv::Essiv(hash) => format!("{}-essiv:{}", self.mode.name(), hash.name),
            iv => format!("{}-{}", self.mode.name(), iv.name()),
        }
    }

    pub(crate) fn cipher(&self) -> &'static Cipher {
        self.cipher
    }

    pub(crate) fn mode(&self) -> Mode {
        self.mode
    }

    pub(crate) fn iv(&self) -> Iv {
        self.iv
    }

    /// Refuses what exists but has no code yet, naming the part that is missing.
    pub(crate) fn check_implemented(&self) -> Result<(), Error> {
        let missing = match (self.mode, self.iv) {
            _ if matches!(self.cipher.make, Make::Absent(_)) => self.cipher.name,
            (Mode::Ctr | Mode::Pcbc | Mode::Lrw | Mode::Adiantum { .. } | Mode::Hctr2, _) => self.mode.name(),
            (_, Iv::Lmk | Iv::Tcw | Iv::Eboiv | Iv::Elephant | Iv::Random) => self.iv.name(),
            (_, Iv::Essiv(EssivHash { hash: None, name, .. })) => name,
            _ => return Ok(()),
        };
        Err(Error::Unsupported(format!("{self} exists, but this build does not implement {missing} yet")))
    }
}

/// The canonical text, which parses back to the same value.
impl fmt::Display for CipherSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.cipher_name(), self.mode_name())
    }
}

impl EssivHash {
    /// The hash to run, for one that is built.
    pub(crate) fn hash(&self) -> Option<Hash> {
        self.hash
    }
}

/// "256, 384 or 512 bits", or "32 to 448 bits in steps of 8" when there are many.
fn list(sizes: &[usize]) -> String {
    match sizes {
        [] => "no bits".into(),
        [only] => format!("{only} bits"),
        [first, second, .., last] if sizes.len() > 4 => {
            format!("{first} to {last} bits in steps of {}", second - first)
        }
        [most @ .., last] => {
            let most: Vec<String> = most.iter().map(ToString::to_string).collect();
            format!("{} or {last} bits", most.join(", "))
        }
    }
}

#[cfg(test)]
mod tests;
