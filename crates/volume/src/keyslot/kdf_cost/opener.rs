//! Who opens a volume, and so whose time a measured cost takes.

use super::speed::{Speed, Took};
use crate::{Refusal, Result};
use keyway_crypto::Hash;
use keyway_crypto::kdf::Argon2Cost;
use keyway_crypto::kdf::speed::{self, Beside, KdfSpeed};

/// A program on a machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Opener {
    /// This library, on this machine.
    Keyway,
    /// Another program, or another machine.
    Other(&'static KdfSpeed),
}

impl Opener {
    /// Looks one up by name: those of [`Opener::names`]. "linux" is the slower of the two programs
    /// that open volumes under Linux on this machine.
    pub fn find(name: &str) -> Option<Self> {
        match name {
            "keyway" => Some(Self::Keyway),
            "linux" => Some(Self::default()),
            _ => KdfSpeed::find(name).map(Self::Other),
        }
    }

    /// All names.
    pub fn names() -> impl Iterator<Item = &'static str> {
        std::iter::once("keyway").chain(KdfSpeed::all().map(|speed| speed.name)).chain(KdfSpeed::others())
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Keyway => "keyway",
            Self::Other(speed) => speed.name,
        }
    }

    /// Where a volume opens: "here", "in cryptsetup".
    pub fn place(self) -> &'static str {
        match self {
            Self::Keyway => "here",
            Self::Other(speed) => speed.place,
        }
    }

    /// Iterations a second of PBKDF2 for a key of so many bytes; `None` where nothing is known.
    pub(super) fn pbkdf2(self, hash: Hash, key_len: usize, speed: &mut dyn Speed) -> Result<Option<f64>> {
        let theirs = match self {
            Self::Keyway => return speed.pbkdf2(hash, key_len).map(Some),
            Self::Other(theirs) => theirs,
        };
        let Some(figure) = theirs.pbkdf2(hash) else { return Ok(None) };
        let mut one_block = |hash: Hash| speed.pbkdf2(hash, hash.output_len());
        let each = match theirs.beside(hash) {
            Beside::SameHash => figure * one_block(hash)?,
            Beside::Sha512 => figure * one_block(Hash::Sha512)?,
            Beside::Nothing => figure,
        };
        Ok(Some(each / key_len.div_ceil(hash.output_len()).max(1) as f64))
    }

    /// The seconds that Argon2 takes which took so many here.
    pub(super) fn argon2(self, cost: Argon2Cost, took: Took) -> Option<f64> {
        let theirs = match self {
            Self::Keyway => return Some(took.here),
            Self::Other(theirs) => theirs,
        };
        let here = match theirs.argon2_beside() {
            Beside::SameHash => took.here,
            Beside::Sha512 => took.in_one_thread,
            Beside::Nothing => f64::from(cost.time) * f64::from(cost.memory_kib),
        };
        Some(here / theirs.argon2(cost.memory_kib.into())?)
    }

    /// Refuses a function whose time there is not known.
    pub(super) fn check(self, hash: Option<Hash>) -> Result<()> {
        let Self::Other(speed) = self else { return Ok(()) };
        let (what, known) = match hash {
            Some(hash) => (format!("PBKDF2 with {}", hash.name()), speed.pbkdf2(hash).is_some()),
            None => ("Argon2".to_owned(), speed.has_argon2()),
        };
        match known {
            true => Ok(()),
            false => {
                Err(Refusal::Cost.because(format!("{what} is missing {}, or was never timed.", speed.place)))
            }
        }
    }
}

/// cryptsetup: the slowest program that opens volumes under Linux on this machine.
impl Default for Opener {
    fn default() -> Self {
        Self::Other(&speed::CRYPTSETUP)
    }
}
