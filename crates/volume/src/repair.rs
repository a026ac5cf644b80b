//! Repair of damage that has only one right answer, as `cryptsetup repair` does it.

use crate::{Error, Locking, Result, Storage};
use std::sync::Arc;

/// Damage that was found, nothing written yet.
pub struct Repair {
    changes: Vec<String>,
}

impl Repair {
    /// Looks for damage. [`keyway_format::Error`] when it has no single right answer.
    pub fn prepare(storage: Arc<dyn Storage>, locking: Locking) -> Result<Self> {
        let _ = (storage, locking);
        Err(Error::Refused("not built yet".into()))
    }

    /// What would be changed, one line each; empty when the header is sound.
    pub fn changes(&self) -> &[String] {
        &self.changes
    }

    /// Writes the repaired header.
    pub fn run(self) -> Result<()> {
        Err(Error::Refused("not built yet".into()))
    }
}
