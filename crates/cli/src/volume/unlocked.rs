//! An unlocked volume, and its plaintext.

use crate::output::failure::{Exit, Failure, Result};
use keyway::Parts;
use keyway::storage::Storage;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A volume with its key: what any front end needs, including the kernel's.
pub(crate) struct Unlocked {
    /// The data device's path.
    pub(crate) device: PathBuf,
    /// What it consists of; its data device is marked as in use as [`Data`](super::Data) said.
    pub(crate) parts: Parts,
    /// The hash that derives the key from a passphrase, if one was named.
    pub(crate) hash: Option<String>,
}

/// The plaintext of an unlocked volume.
pub(crate) struct Plaintext {
    /// The plaintext.
    pub(crate) volume: Arc<dyn Storage>,
    /// The data device's path, for messages.
    pub(crate) device: PathBuf,
}

/// Refuses a range that is not within the volume, before anything is done.
pub(crate) fn check_range(device: &Path, volume: &dyn Storage, offset: u64, len: u64) -> Result<()> {
    let (device, size) = (device.display(), volume.len());
    if offset > size {
        let message = format!("Offset {offset} is past the end of {device}, which holds {size} bytes.");
        return Err(Failure::new(Exit::Parameters, message));
    }
    if len > size - offset {
        let message = format!(
            "{len} bytes at offset {offset} do not fit: {device} holds {size} bytes, {} from there on.",
            size - offset
        );
        return Err(Failure::new(Exit::Parameters, message));
    }
    Ok(())
}
