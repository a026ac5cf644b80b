//! The volume that the command line names: its key and layout, its
//! plaintext, and the failures of moving it.

pub(crate) mod plain_dmcrypt;

use crate::device::{self, Target, Versions, explain};
use crate::door::{Args, shared};
use crate::say::failure::{Exit, Failure, Result};
use crate::say::output;
use crate::unlock::admission::{self, Demands};
use crate::unlock::{self, KeyOptions};
use crate::volume::plain_dmcrypt::PlainOptions;
use keyway_crypto::{Cpu, Secret};
use keyway_format::text::Shown;
use keyway_volume::storage::Claimed;
use keyway_volume::{Access, InUse, Layout, Luks, Storage, Volume, in_use};
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

/// Which volume, whatever is done to its data then.
#[derive(Debug, Clone)]
pub(crate) struct Opening {
    /// Where it is.
    pub(crate) target: Target,
    /// What it is.
    pub(crate) kind: Kind,
    /// How its key is had.
    pub(crate) key: KeyOptions,
    /// What its header has to be.
    pub(crate) demands: Demands,
    /// Whether others may use it meanwhile.
    pub(crate) sharing: Sharing,
    /// The page cache is passed by (`--direct-io`).
    pub(crate) direct: bool,
    /// Standard input holds data: a passphrase is asked for on the terminal only.
    pub(crate) stdin_holds_data: bool,
}

/// What kind of volume the command line says it is.
#[derive(Debug, Clone)]
pub(crate) enum Kind {
    /// LUKS, of these versions.
    Luks(Versions),
    /// Plain dm-crypt.
    Plain(PlainOptions),
}

impl Opening {
    /// The operand at `operand`, with `--header` where given.
    pub(crate) fn from_args(args: &Args, operand: usize) -> Result<Self> {
        Ok(Self {
            kind: match PlainOptions::from_args(args)? {
                Some(plain) => Kind::Plain(plain),
                None => Kind::Luks(Versions::from_args(args)?),
            },
            target: Target::from_args(args, operand)?,
            key: KeyOptions::from_args(args)?,
            demands: Demands::from_args(args)?,
            sharing: Sharing::from_args(args),
            direct: args.given(&shared::DIRECT_IO),
            stdin_holds_data: false,
        })
    }

    /// [`Opening::unlock`] for those who want the bytes only.
    pub(crate) fn open(&self, data: Data) -> Result<Plaintext> {
        let unlocked = self.unlock(data)?.mark_in_use(self.sharing, data)?;
        let line = format!("{} holds {}.", unlocked.device.display(), unlocked.format);
        output::debug(self.target.manner, &line)?;
        unlocked.into_plaintext()
    }

    /// Unlocks it. `data` says how its data device is to be opened.
    pub(crate) fn unlock(&self, data: Data) -> Result<Unlocked> {
        let storage = self.data(data)?;
        match &self.kind {
            Kind::Luks(versions) => self.unlock_luks(storage, *versions),
            Kind::Plain(plain) => self.unlock_plain(storage, plain, data),
        }
    }

    fn unlock_plain(&self, storage: Arc<dyn Storage>, plain: &PlainOptions, data: Data) -> Result<Unlocked> {
        let device = &self.target.device;
        self.demands.refuse(device)?;
        plain.warn_about_defaults(&self.key);
        let layout = plain.layout(device, &*storage, data, self.target.manner)?;
        let volume_key = plain.volume_key(&self.key, device, self.stdin_holds_data)?;
        let format = Format::Plain { hash: plain.hash.clone() };
        Ok(Unlocked { device: device.clone(), storage, layout, volume_key, format })
    }

    fn unlock_luks(&self, storage: Arc<dyn Storage>, versions: Versions) -> Result<Unlocked> {
        let (target, device) = (&self.target, &self.target.device);
        let luks = target.load(Access::Read, versions)?;
        let data_device = target.data_device(&*storage);
        if data_device.holds_header && device::is_exchanged(&*storage, &**luks.storage()) {
            let message = format!("Device {} was exchanged while it was being opened.", device.display());
            return Err(Failure::new(Exit::Device, message));
        }
        let admitted = self.demands.judge(luks, device, Some(data_device))?;
        let (volume_key, keyslot, digest) = self.luks_key(admitted.luks())?;
        let opened = admission::open(admitted, device, volume_key, digest)?;
        let (luks, layout, volume_key) = opened.into_parts();
        let format = Format::Luks { luks: Box::new(luks), keyslot, digest };
        Ok(Unlocked { device: device.clone(), storage, layout, volume_key, format })
    }

    /// The volume key, the keyslot it came from and the digest that verified it.
    fn luks_key(&self, luks: &Luks) -> Result<(Secret, Option<u32>, u32)> {
        if let Some((key, digest)) = self.key.given_volume_key(luks)? {
            return Ok((key, None, digest));
        }
        let mut source = self.key.passphrase.existing(unlock::prompt_for(&self.target.device));
        if self.stdin_holds_data {
            source = source.stdin_holds_data();
        }
        let unlocked = self.key.unlock_by_token_or(luks, &source, &self.key.of_keyslot())?;
        Ok((unlocked.volume_key, Some(unlocked.keyslot), unlocked.digest))
    }

    /// The data device.
    fn data(&self, data: Data) -> Result<Arc<dyn Storage>> {
        let device = &self.target.device;
        let open = if self.direct { device::storage_direct } else { device::storage };
        if data != Data::Write {
            return open(device, Access::Probe);
        }
        let storage = open(device, Access::Write)?;
        // Before a passphrase is asked for.
        if !self.sharing.allowed {
            device::refuse_if_mapped(device).map_err(|failure| self.sharing.advise(failure))?;
        }
        Ok(storage)
    }
}

/// Whether a volume is used although others do (`--shared`).
#[derive(Debug, Clone, Copy)]
pub(crate) struct Sharing {
    /// It is.
    pub(crate) allowed: bool,
    /// The command has the option.
    is_offered: bool,
}

impl Sharing {
    /// Of every command that uses a volume's data.
    pub(crate) fn from_args(args: &Args) -> Self {
        Self { allowed: args.given(&shared::SHARED), is_offered: args.takes(&shared::SHARED) }
    }

    /// Names the way out of a volume in use, where the command has one.
    fn advise(self, failure: Failure) -> Failure {
        let is_busy = failure.exit() == Exit::Busy;
        if self.is_offered && is_busy { failure.adding("--shared uses it all the same.") } else { failure }
    }
}

/// What is going to be done to the data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Data {
    /// Reading, whoever else writes.
    Read,
    /// Reading for as long as a door is open: nobody may write meanwhile.
    Show,
    /// Reading and writing, alone.
    Write,
}

impl Data {
    /// What others are told.
    fn claims(self) -> Option<in_use::Access> {
        match self {
            Self::Read => None,
            Self::Show => Some(in_use::Access::ReadOnly),
            Self::Write => Some(in_use::Access::Write),
        }
    }
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
