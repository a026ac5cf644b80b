//! Where salts, keys and filler come from.

use crate::{Error, Result};

/// A source of random bytes.
pub trait Random {
    /// Fills `buf`.
    fn fill(&mut self, buf: &mut [u8]) -> Result<()>;
}

/// The operating system's generator.
#[derive(Debug, Default, Clone, Copy)]
pub struct OsRandom;

impl Random for OsRandom {
    fn fill(&mut self, buf: &mut [u8]) -> Result<()> {
        let _ = buf;
        Err(Error::Refused("not built yet".into()))
    }
}

/// A generator that gives the same bytes for the same seed: for reproducible builds. Whoever has the seed has
/// every key made from it.
pub struct SeededRandom {}

impl SeededRandom {
    /// Starts from a seed of any length.
    pub fn new(seed: &keyway_crypto::Secret) -> Self {
        let _ = seed;
        Self {}
    }
}

impl Random for SeededRandom {
    fn fill(&mut self, buf: &mut [u8]) -> Result<()> {
        let _ = buf;
        Err(Error::Refused("not built yet".into()))
    }
}
