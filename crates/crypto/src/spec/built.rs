//! What exists but has no code in this build yet.

use super::table::EssivHash;
use super::{CipherSpec, Iv, Mode};
use crate::block::table::Make;
use crate::{Error, Hash};
use alloc::format;

impl CipherSpec {
    /// Refuses what exists but has no code yet, naming the part that is missing.
    pub(crate) fn check_implemented(&self) -> Result<(), Error> {
        let missing = match (self.mode, self.iv) {
            _ if matches!(self.cipher.make, Make::Absent(_)) => self.cipher.name,
            (Mode::Adiantum { .. } | Mode::Hctr2, _) => self.mode.name(),
            (_, Iv::Essiv(EssivHash { hash: None, name, .. })) => name,
            _ => return Ok(()),
        };
        Err(Error::Unsupported(format!("{self} exists, but this build does not implement {missing} yet")))
    }
}

impl EssivHash {
    /// The hash to run, for one that is built.
    pub(crate) fn hash(&self) -> Option<Hash> {
        self.hash
    }
}
