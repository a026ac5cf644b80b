//! Who opens a volume, and so whose time a measured cost takes.

use super::speed::{Speed, Took};
use crate::{Refusal, Result};
use keyway_crypto::Hash;
use keyway_crypto::kdf::Argon2Cost;
use keyway_crypto::kdf::pace::{self, Beside, Pace};

/// A program on a machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Opener {
    /// This library, on this machine.
    Keyway,
    /// Another program, or another machine.
    Other(&'static Pace),
}

impl Opener {
    /// Looks one up by name: those of [`Opener::names`]. "linux" is the slower of the two programs
    /// that open volumes under Linux on this machine.
    pub fn find(name: &str) -> Option<Self> {
        match name {
            "keyway" => Some(Self::Keyway),
            "linux" => Some(Self::default()),
            _ => Pace::find(name).map(Self::Other),
        }
    }

    /// All names.
    pub fn names() -> impl Iterator<Item = &'static str> {
        std::iter::once("keyway").chain(Pace::all().map(|pace| pace.name)).chain(Pace::others())
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Keyway => "keyway",
            Self::Other(pace) => pace.name,
        }
    }

    /// Where a volume opens: "here", "in cryptsetup".
    pub fn place(self) -> &'static str {
        match self {
            Self::Keyway => "here",
            Self::Other(pace) => pace.place,
        }
    }

    /// Iterations a second of PBKDF2 for a key of so many bytes; `None` where nothing is known.
    pub(super) fn pbkdf2(self, hash: Hash, key_len: usize, speed: &mut dyn Speed) -> Result<Option<f64>> {
        let pace = match self {
            Self::Keyway => return speed.pbkdf2(hash, key_len).map(Some),
            Self::Other(pace) => pace,
        };
        let Some(figure) = pace.pbkdf2(hash) else { return Ok(None) };
        let mut one_block = |hash: Hash| speed.pbkdf2(hash, hash.output_len());
        let each = match pace.beside(hash) {
            Beside::SameHash => figure * one_block(hash)?,
            Beside::Sha512 => figure * one_block(Hash::Sha512)?,
            Beside::Nothing => figure,
        };
        Ok(Some(each / key_len.div_ceil(hash.output_len()).max(1) as f64))
    }

    /// The seconds that Argon2 takes which took so many here.
    pub(super) fn argon2(self, cost: Argon2Cost, took: Took) -> Option<f64> {
        let pace = match self {
            Self::Keyway => return Some(took.here),
            Self::Other(pace) => pace,
        };
        let here = match pace.argon2_beside() {
            Beside::SameHash => took.here,
            Beside::Sha512 => took.in_one_thread,
            Beside::Nothing => f64::from(cost.time) * f64::from(cost.memory_kib),
        };
        Some(here / pace.argon2(cost.memory_kib.into())?)
    }

    /// Refuses a function whose time there is not known.
    pub(super) fn check(self, hash: Option<Hash>) -> Result<()> {
        let Self::Other(pace) = self else { return Ok(()) };
        let (what, known) = match hash {
            Some(hash) => (format!("PBKDF2 with {}", hash.name()), pace.pbkdf2(hash).is_some()),
            None => ("Argon2".to_owned(), pace.has_argon2()),
        };
        match known {
            true => Ok(()),
            false => Err(Refusal::Cost.because(format!(
                "How long {what} takes {} is not known, or it cannot do that.",
                pace.place
            ))),
        }
    }
}

/// cryptsetup: the slowest program that opens volumes under Linux on this machine.
impl Default for Opener {
    fn default() -> Self {
        Self::Other(&pace::CRYPTSETUP)
    }
}
