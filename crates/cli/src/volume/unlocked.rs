//! An unlocked volume, and its plaintext.

use crate::device::explain;
use crate::say::failure::{Exit, Failure, Result};
use crate::volume::usage::{Data, Sharing};
use keyway_crypto::{Cpu, Secret};
use keyway_format::text::Shown;
use keyway_volume::storage::Claimed;
use keyway_volume::{InUse, Layout, Luks, Storage, Volume};
use std::fmt::{self, Display};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A volume with its key: what any door needs, including the kernel's.
pub(crate) struct Unlocked {
    /// The data device's path.
    pub(crate) device: PathBuf,
    /// The data device, opened as [`Data`] said.
    pub(crate) storage: Arc<dyn Storage>,
    /// Where the plaintext is on the data device.
    pub(crate) layout: Layout,
    /// The volume key.
    pub(crate) volume_key: Secret,
    /// What kind of volume it is.
    pub(crate) format: Format,
}

/// What kind of volume was unlocked.
pub(crate) enum Format {
    /// LUKS1 or LUKS2.
    Luks {
        /// The header, with version, UUID and metadata.
        luks: Box<Luks>,
        /// The keyslot that was opened; `None` if the volume key was given.
        keyslot: Option<u32>,
        /// The digest that verified the volume key (0 for LUKS1).
        digest: u32,
    },
    /// Plain dm-crypt. The layout holds everything that is known about it, except the hash that
    /// derives the key from a passphrase, if one was named.
    Plain { hash: Option<String> },
}

impl Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Luks { luks, keyslot, digest } => {
                write!(f, "LUKS{} volume {}, digest {digest}", luks.version(), Shown(luks.uuid()))?;
                keyslot.map_or(Ok(()), |keyslot| write!(f, ", keyslot {keyslot}"))
            }
            Self::Plain { .. } => f.write_str("plain volume"),
        }
    }
}

impl Unlocked {
    /// Marks the data device as in use, in the way `data` asks for, until its storage is dropped.
    /// (The kernel's door needs it unmarked: dm-crypt claims the device itself.)
    pub(crate) fn mark_in_use(mut self, sharing: Sharing, data: Data) -> Result<Self> {
        let Some(access) = data.claims() else { return Ok(self) };
        match InUse::acquire(&*self.storage, access, sharing.allowed) {
            Ok(mark) => {
                self.storage = Arc::new(Claimed::new(self.storage, mark));
                Ok(self)
            }
            Err(why) => Err(sharing.advise(explain::on_device(&self.device, &why))),
        }
    }

    /// Creates the plaintext view of the data device.
    pub(crate) fn into_plaintext(self) -> Result<Plaintext> {
        let Self { device, storage, layout, volume_key, .. } = self;
        let volume = Volume::new(storage, &layout, &volume_key, Cpu::detect());
        Ok(Plaintext { volume: volume.map_err(|e| explain::on_volume(&device, &e))?, device })
    }
}

/// The plaintext of an unlocked volume.
pub(crate) struct Plaintext {
    /// The plaintext.
    pub(crate) volume: Volume,
    /// The data device's path, for messages.
    pub(crate) device: PathBuf,
}

/// Refuses a range that is not within the volume, before anything is done.
pub(crate) fn check_range(device: &Path, volume: &Volume, offset: u64, len: u64) -> Result<()> {
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
