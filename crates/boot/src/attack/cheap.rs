//! What is cheap to guess, by the line that `inspect` draws too.

use crate::unlock_time::Work;
use keyway_crypto::Hash;
use keyway_crypto::kdf::least;
use std::fmt;

/// The least that is recommended of a key derivation function.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Least {
    /// PBKDF2's iterations.
    Iterations(u32),
    /// Argon2's KiB times passes.
    KibPasses(u64),
}

impl Least {
    /// The line that a derivation is below of; `None` if it is not, or if there is none for its
    /// hash.
    pub fn missed_by(work: &Work) -> Option<Self> {
        match work {
            Work::Pbkdf2 { hash, iterations, .. } => {
                let least = Hash::find(hash).and_then(least::pbkdf2)?;
                (*iterations < least.into()).then_some(Self::Iterations(least))
            }
            Work::Argon2 { time, memory_kib, .. } => {
                (time * memory_kib < least::ARGON2).then_some(Self::KibPasses(least::ARGON2))
            }
            Work::Stretching { .. } => None,
        }
    }
}

impl fmt::Display for Least {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Iterations(least) => write!(f, "{least} iterations"),
            Self::KibPasses(kib) => write!(f, "2 passes over {} MiB", kib / 2048),
        }
    }
}
