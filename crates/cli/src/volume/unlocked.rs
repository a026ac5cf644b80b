//! A volume that is unlocked, and its plaintext.

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

/// A volume with its key: what any door needs, the kernel's too.
pub(crate) struct Unlocked {
    /// The data device's path.
    pub(crate) device: PathBuf,
    /// The data device, opened as [`Data`] said.
    pub(crate) storage: Arc<dyn Storage>,
    /// Which of its bytes are plaintext where.
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
        /// The header: version, UUID, metadata.
        luks: Box<Luks>,
        /// The keyslot that opened; `None` when the volume key was given.
        keyslot: Option<u32>,
        /// The digest that verified the volume key (0 for LUKS1).
        digest: u32,
    },
    /// Plain dm-crypt: everything that is known stands in the layout, but for the hash that makes
    /// the key of a passphrase, where one was named.
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
    /// Marks the data device as in use, as `data` asks for, for as long as its storage is held.
    /// (The kernel's door needs it unmarked: dm-crypt claims a device for itself.)
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

    /// Puts the plaintext over the data device.
    pub(crate) fn into_plaintext(self) -> Result<Plaintext> {
        let Self { device, storage, layout, volume_key, .. } = self;
        let volume = Volume::new(storage, &layout, &volume_key, Cpu::detect());
        Ok(Plaintext { volume: volume.map_err(|e| explain::on_volume(&device, &e))?, device })
    }
}

/// An unlocked volume's bytes.
pub(crate) struct Plaintext {
    /// The bytes.
    pub(crate) volume: Volume,
    /// The data device's path, for messages.
    pub(crate) device: PathBuf,
}

/// Refuses a range that does not lie in the volume, before anything is done.
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
