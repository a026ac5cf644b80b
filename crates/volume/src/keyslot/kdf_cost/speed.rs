//! What a cost depends on, measured on this machine.

pub(super) use crate::keyslot::kdf_rate::Took;

use crate::Result;
use crate::keyslot::kdf_rate;
use keyway_crypto::Hash;
use keyway_crypto::kdf::{Argon2Cost, Argon2Variant};

/// How fast a machine derives keys.
pub(super) trait Speed {
    /// Iterations a second of PBKDF2 for a key of so many bytes.
    fn pbkdf2(&mut self, hash: Hash, key_len: usize) -> Result<f64>;

    /// The seconds that Argon2 takes at this cost.
    fn argon2(&mut self, variant: Argon2Variant, cost: Argon2Cost) -> Result<Took>;
}

/// This machine's. Each rate of PBKDF2 is measured once.
#[derive(Debug, Default)]
pub(super) struct Measured {
    known: Vec<(Hash, usize, f64)>,
}

impl Speed for Measured {
    fn pbkdf2(&mut self, hash: Hash, key_len: usize) -> Result<f64> {
        let blocks = key_len.div_ceil(hash.output_len());
        if let Some((.., rate)) = self.known.iter().find(|(h, b, _)| (*h, *b) == (hash, blocks)) {
            return Ok(*rate);
        }
        let rate = kdf_rate::pbkdf2(hash, key_len)?;
        self.known.push((hash, blocks, rate));
        Ok(rate)
    }

    fn argon2(&mut self, variant: Argon2Variant, cost: Argon2Cost) -> Result<Took> {
        kdf_rate::took(variant, cost)
    }
}
