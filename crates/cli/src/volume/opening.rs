//! The volume that the command line names: where it is, what kind it is, and where its key comes
//! from.

use crate::device::{self, Target, Versions, explain};
use crate::door::{Args, shared};
use crate::output::failure::{Failure, Result};
use crate::output::stdio;
use crate::process::encoding::{Encoded, encoded};
use crate::unlock::admission::Demands;
use crate::unlock::{self, KeyOptions};
use crate::volume::given_plain::GivenPlain;
use crate::volume::plain_dmcrypt::PlainOptions;
use crate::volume::unlocked::{Format, Plaintext, Unlocked};
use crate::volume::usage::{Data, Sharing};
use keyway::{Admitted, AdmittedPlain, Device, ErrorKind, Key, Parts, Unlock, VolumeKey};
use keyway_format::text::Shown;
use keyway_volume::{Access, Storage};
use std::fmt;
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
    /// What the command line reads is written to the volume, and so must not be the volume.
    pub(crate) edits: bool,
}

encoded!(Opening { target, kind, key, demands, sharing, direct, stdin_holds_data, edits });

/// The kind of volume, according to the command line.
#[derive(Debug, Clone)]
pub(crate) enum Kind {
    /// LUKS, of these versions.
    Luks(Versions),
    /// Plain dm-crypt.
    Plain(Box<PlainOptions>),
}

impl Encoded for Kind {
    fn put(&self, to: &mut Vec<u8>) {
        let (versions, plain) = match self {
            Self::Luks(versions) => (Some(*versions), None),
            Self::Plain(plain) => (None, Some(plain.given.clone())),
        };
        versions.put(to);
        plain.put(to);
    }

    fn take(from: &mut &[u8]) -> Option<Self> {
        let (versions, given): (_, Option<GivenPlain>) = (Encoded::take(from)?, Encoded::take(from)?);
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
            edits: false,
        })
    }

    /// The plaintext. `data` says what will be done with it.
    pub(crate) fn open(&self, data: Data) -> Result<Plaintext> {
        let device = self.target.device.clone();
        let volume = match &self.kind {
            Kind::Luks(versions) => {
                let admitted = self.admit(data, *versions, true)?;
                let key = self.find_key(&admitted)?;
                admitted.open(key)
            }
            Kind::Plain(plain) => {
                let (admitted, key) = self.admit_plain(plain, data, true)?;
                admitted.open(&key)
            }
        };
        let volume = volume.map_err(|e| self.explain(e))?.storage();
        Ok(Plaintext { volume, device })
    }

    /// The volume with its key, its data device marked as in use in the way that `data` asks for,
    /// for doors of Keyway's own.
    pub(crate) fn unlock(&self, data: Data) -> Result<Unlocked> {
        self.take_apart(data, true)
    }

    /// Makes all checks that need no key, for a volume that is edited before it is opened. Nothing is
    /// claimed.
    pub(crate) fn judge(&self) -> Result<()> {
        match self.kind {
            Kind::Luks(versions) => self.admit(Data::Write, versions, false).map(drop),
            Kind::Plain(_) => Ok(()),
        }
    }

    /// As [`Opening::unlock`], but not marked: dm-crypt claims the device itself.
    pub(crate) fn unlock_for_the_kernel(&self, data: Data) -> Result<Unlocked> {
        self.take_apart(data, false)
    }

    fn take_apart(&self, data: Data, claim: bool) -> Result<Unlocked> {
        let (parts, digest, hash) = match &self.kind {
            Kind::Luks(versions) => {
                let admitted = self.admit(data, *versions, claim)?;
                let key = self.find_key(&admitted)?;
                let digest = key.digest();
                (admitted.into_parts(key), digest, None)
            }
            Kind::Plain(plain) => {
                let (admitted, key) = self.admit_plain(plain, data, claim)?;
                (admitted.into_parts(&key), 0, plain.hash().map(str::to_owned))
            }
        };
        let Parts { data: storage, layout, volume_key, second_key, header, holds_header, hold, .. } =
            parts.map_err(|e| self.explain(e))?;
        let format = match header {
            Some(luks) => Format::Luks { luks: Box::new(luks), digest },
            None => Format::Plain { hash },
        };
        let device = self.target.device.clone();
        Ok(Unlocked { device, storage, layout, volume_key, second_key, format, holds_header, hold })
    }

    /// The volume, claimed and judged, before its key is asked for.
    fn admit(&self, data: Data, versions: Versions, claim: bool) -> Result<Admitted> {
        let target = &self.target;
        let volume = target.open(self.data(data)?, data == Data::Write)?;
        let mut terms = self.terms(data, claim);
        if let Some(version) = versions.only() {
            terms = terms.version(version);
        }
        let admitted = volume.admit(&terms).map_err(|e| self.explain(e))?;
        self.refuse_attached(data, claim)?;
        target.debug_header(admitted.judged().luks(), Access::Read)?;
        self.demands.warn(&target.device, admitted.judged().tolerated());
        Ok(admitted)
    }

    fn find_key(&self, admitted: &Admitted) -> Result<VolumeKey> {
        let mut source = self.key.passphrase.existing(unlock::prompt_for(&self.target.device));
        if self.stdin_holds_data {
            source = source.stdin_holds_data();
        }
        let key = self.key.find(admitted, &source)?;
        self.debug(format_args!("{} volume {}", admitted.version(), Shown(admitted.uuid())))?;
        Ok(key)
    }

    /// The plain volume, claimed and within its device, and its key.
    fn admit_plain(&self, plain: &PlainOptions, data: Data, claim: bool) -> Result<(AdmittedPlain, Key)> {
        let device = &self.target.device;
        let storage = self.data(data)?;
        self.demands.refuse(device)?;
        plain.warn_about_defaults(&self.key);
        let volume = Device::options().write(data == Data::Write);
        let volume = volume.over(device, Arc::clone(&storage), Arc::clone(&storage));
        // cryptsetup opens plain volumes under weak ciphers, too.
        let admitted = volume.admit_plain(&plain.described(), &self.terms(data, claim).weak_ciphers());
        let admitted = admitted.map_err(|e| self.explain(e))?;
        self.refuse_attached(data, claim)?;
        if data == Data::Write {
            plain.confirm(device, &*storage, self.target.manner)?;
        }
        let key = plain.volume_key(&self.key, device, self.stdin_holds_data)?;
        self.debug(format_args!("plain volume"))?;
        Ok((admitted, Key::VolumeKey(key)))
    }

    /// The library's terms. Data that is only read is not claimed: others may be writing it.
    fn terms(&self, data: Data, claim: bool) -> Unlock {
        let terms = self.key.terms().with_terms(self.demands.terms.clone()).discards();
        match (claim && data != Data::Read, self.sharing.allowed) {
            (false, _) => terms.unclaimed(),
            (true, true) => terms.shared(),
            (true, false) => terms,
        }
    }

    fn explain(&self, error: keyway::Error) -> Failure {
        // A header that is locked is busy, too, but no option goes past that.
        let is_shareable = matches!(error.kind(), ErrorKind::InUse { .. });
        let failure = explain::opening(&self.target.device, self.target.header_path(), error);
        if is_shareable { self.sharing.advise(failure) } else { failure }
    }

    fn debug(&self, what: fmt::Arguments<'_>) -> Result<()> {
        stdio::debug(self.target.manner, &format!("{} holds {what}.", self.target.device.display()))
    }

    /// The data device.
    fn data(&self, data: Data) -> Result<Arc<dyn Storage>> {
        let device = &self.target.device;
        let open = if self.direct { device::storage_direct } else { device::storage };
        let storage = open(device, if data == Data::Write { Access::Write } else { Access::Probe })?;
        if self.edits {
            self.target.inputs.check_storage(&*storage, device)?;
        }
        Ok(storage)
    }

    /// Refuses to write to what is attached to a loop device: asked while the data is claimed, for
    /// no claim shows a loop device that is not in use yet, or is mounted read-only.
    fn refuse_attached(&self, data: Data, claim: bool) -> Result<()> {
        match claim && data == Data::Write && !self.sharing.allowed {
            true => device::refuse_if_attached(&self.target.device).map_err(|e| self.sharing.advise(e)),
            false => Ok(()),
        }
    }
}
