//! What exists but has no code in this build yet.

use super::{CipherSpec, Mode};
use crate::Error;
use alloc::format;

impl CipherSpec {
    /// Refuses what exists but has no code yet, naming the part that is missing.
    pub(crate) fn check_implemented(&self) -> Result<(), Error> {
        let missing = match self.mode {
            Mode::Hctr2 => self.mode.name(),
            _ => return Ok(()),
        };
        Err(Error::Unsupported(format!("{self} exists, but this build does not implement {missing} yet")))
    }
}
