//! The volume that the command line names: where it is, what kind it is, and where its key comes
//! from.

use crate::device::{self, Target, Versions};
use crate::door::{Args, shared};
use crate::process::handed::{Handed, handed};
use crate::say::failure::{Exit, Failure, Result};
use crate::say::output;
use crate::unlock::admission::{self, Demands};
use crate::unlock::{self, KeyOptions};
use crate::volume::given_plain::GivenPlain;
use crate::volume::plain_dmcrypt::PlainOptions;
use crate::volume::unlocked::{Format, Plaintext, Unlocked};
use crate::volume::usage::{Data, Sharing};
use keyway_crypto::Secret;
use keyway_volume::{Access, Luks, Storage};
use std::sync::Arc;

/// Which volume to open, whatever is then done with its data.
#[derive(Debug, Clone)]
pub(crate) struct Opening {
    /// Where it is.
    pub(crate) target: Target,
    /// What kind of volume it is.
    pub(crate) kind: Kind,
    /// Where its key comes from.
    pub(crate) key: KeyOptions,
    /// The demands that its header must meet.
    pub(crate) demands: Demands,
    /// Whether other programs may use it at the same time.
    pub(crate) sharing: Sharing,
    /// The page cache is bypassed (`--direct-io`).
    pub(crate) direct: bool,
    /// Standard input holds data: the passphrase is asked for on the terminal only.
    pub(crate) stdin_holds_data: bool,
}

handed!(Opening { target, kind, key, demands, sharing, direct, stdin_holds_data });

/// The kind of volume, according to the command line.
#[derive(Debug, Clone)]
pub(crate) enum Kind {
    /// LUKS, of these versions.
    Luks(Versions),
    /// Plain dm-crypt.
    Plain(Box<PlainOptions>),
}

impl Handed for Kind {
    fn put(&self, to: &mut Vec<u8>) {
        let (versions, plain) = match self {
            Self::Luks(versions) => (Some(*versions), None),
            Self::Plain(plain) => (None, Some(plain.given.clone())),
        };
        versions.put(to);
        plain.put(to);
    }

    fn take(from: &mut &[u8]) -> Option<Self> {
        let (versions, given): (_, Option<GivenPlain>) = (Handed::take(from)?, Handed::take(from)?);
        match (versions, given) {
            (Some(versions), _) => Some(Self::Luks(versions)),
            (None, given) => given?.options().ok().map(|plain| Self::Plain(plain.into())),
        }
    }
}

impl Opening {
    /// The volume of the operand at `operand`, with `--header` if given.
    pub(crate) fn from_args(args: &Args, operand: usize) -> Result<Self> {
        Ok(Self {
            kind: match PlainOptions::from_args(args)? {
                Some(plain) => Kind::Plain(plain.into()),
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

    /// [`Opening::unlock`] for commands that only want the plaintext.
    pub(crate) fn open(&self, data: Data) -> Result<Plaintext> {
        let unlocked = self.unlock(data)?.mark_in_use(self.sharing, data)?;
        let line = format!("{} holds {}.", unlocked.device.display(), unlocked.format);
        output::debug(self.target.manner, &line)?;
        unlocked.into_plaintext()
    }

    /// Unlocks the volume. `data` says how its data device is to be opened.
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
        let format = Format::Plain { hash: plain.hash().map(str::to_owned) };
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
        // Before asking for a passphrase.
        if !self.sharing.allowed {
            device::refuse_if_mapped(device).map_err(|failure| self.sharing.advise(failure))?;
        }
        Ok(storage)
    }
}
