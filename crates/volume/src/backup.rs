//! Header backup and restore: the same files as cryptsetup's.

use crate::{Error, Locking, Luks, Result, Storage};
use std::path::Path;
use std::sync::Arc;

/// Writes header and keyslots area to `file`, which must not exist; mode 0400.
pub fn backup(luks: &Luks, file: &Path) -> Result<()> {
    let _ = (luks, file);
    Err(Error::Refused("not built yet".into()))
}

/// A checked backup and its target, nothing written yet.
pub struct Restore {
    warnings: Vec<String>,
}

impl Restore {
    /// Reads `backup` and compares it with what `target` holds. Refused when data offset or key size differ.
    pub fn prepare(target: Arc<dyn Storage>, backup: &dyn Storage, locking: Locking) -> Result<Self> {
        let _ = (target, backup, locking);
        Err(Error::Refused("not built yet".into()))
    }

    /// What the user should confirm, one line each.
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }

    /// Writes the backup to the target; may be run again after a failure.
    pub fn run(self) -> Result<()> {
        Err(Error::Refused("not built yet".into()))
    }
}
