//! An unlocked volume, and its plaintext.

use crate::output::failure::{Exit, Failure, Result};
use keyway::storage::Storage;
use keyway_crypto::Secret;
use keyway_volume::reencrypt::Hold;
use keyway_volume::{Layout, Luks, SecondKey};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A volume with its key: what any door needs, including the kernel's.
pub(crate) struct Unlocked {
    /// The data device's path.
    pub(crate) device: PathBuf,
    /// The data device, opened and marked as in use as [`Data`](super::Data) said.
    pub(crate) storage: Arc<dyn Storage>,
    /// Where the plaintext is on the data device.
    pub(crate) layout: Layout,
    /// The volume key.
    pub(crate) volume_key: Secret,
    /// The key that replaces it, in the middle of a re-encryption.
    pub(crate) second_key: Option<SecondKey>,
    /// What kind of volume it is.
    pub(crate) format: Format,
    /// Whether its header is on the data device.
    pub(crate) holds_header: bool,
    /// The lock of the re-encryption in whose middle it was opened.
    pub(crate) hold: Option<Arc<Hold>>,
}

/// What kind of volume was unlocked.
pub(crate) enum Format {
    /// LUKS1 or LUKS2.
    Luks {
        /// The header, with version, UUID and metadata.
        luks: Box<Luks>,
        /// The digest that verified the volume key (0 for LUKS1).
        digest: u32,
    },
    /// Another kind.
    Other {
        /// As cryptsetup names it: "PLAIN".
        kind: &'static str,
        /// The UUID in its header.
        uuid: Option<String>,
        /// The hash that derives the key from a passphrase, if one was named.
        hash: Option<String>,
    },
}

impl Format {
    /// As cryptsetup names it: "LUKS2", "PLAIN".
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Self::Luks { luks, .. } if luks.version() == 1 => "LUKS1",
            Self::Luks { .. } => "LUKS2",
            Self::Other { kind, .. } => kind,
        }
    }

    /// The UUID in its header.
    pub(crate) fn uuid(&self) -> Option<&str> {
        match self {
            Self::Luks { luks, .. } => Some(luks.uuid()),
            Self::Other { uuid, .. } => uuid.as_deref(),
        }
    }

    /// The hash that derives the key from a passphrase, if one was named.
    pub(crate) fn hash(&self) -> Option<&str> {
        match self {
            Self::Luks { .. } => None,
            Self::Other { hash, .. } => hash.as_deref(),
        }
    }
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
