//! The volume that the command line names: where it is, what kind it is, and where its key comes
//! from.

use crate::args::{Args, Opt, shared};
use crate::device::{self, Target, Versions, explain};
use crate::output::failure::{Exit, Failure, Result};
use crate::output::stdio;
use crate::process::encoding::{Encoded, encoded};
use crate::unlock::admission::Demands;
use crate::unlock::{self, KeyOptions};
use crate::volume::kinds::{self, Asked, Described, Given};
use crate::volume::noise;
use crate::volume::unlocked::{Plaintext, Unlocked};
use crate::volume::usage::{Data, Sharing};
use keyway::estimate::Estimate;
use keyway::storage::Storage;
use keyway::{Access, Admitted, Create, Device, ErrorKind, Reencrypt, Unlock, VolumeKey};
use keyway_crypto::Cpu;
use keyway_format::text::Shown;
use keyway_volume::Volume;
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
    /// Another kind, of which the options say more.
    Other(Arc<dyn Described>),
}

impl Encoded for Kind {
    fn put(&self, to: &mut Vec<u8>) {
        let (versions, other) = match self {
            Self::Luks(versions) => (Some(*versions), None),
            Self::Other(described) => (None, Some(Arc::clone(described))),
        };
        versions.put(to);
        other.put(to);
    }

    fn take(from: &mut &[u8]) -> Option<Self> {
        let (versions, other): (_, Option<_>) = (Encoded::take(from)?, Encoded::take(from)?);
        match (versions, other) {
            (Some(versions), _) => Some(Self::Luks(versions)),
            (None, other) => other.map(Self::Other),
        }
    }
}

impl Kind {
    /// The kind that `--type` names, as the options describe it. Refuses options that only other
    /// kinds have. Where a new volume is made of this one, `--cipher` and its like are the new one's,
    /// `--source-cipher` and its like this one's.
    fn from_args(args: &Args) -> Result<Self> {
        let is_of_new = !args.takes(&shared::SKIP);
        let takes_other = !is_of_new || args.takes(&shared::TCRYPT_HIDDEN);
        let takes_source = args.takes(&shared::SOURCE_CIPHER);
        let given = Given::from_args(args);
        match args.device_type().and_then(kinds::named).filter(|_| takes_other) {
            Some(row) if is_of_new && !takes_source && !row.is_found_without_options => {
                Err(is_not_described(row.of.name, args.command().name))
            }
            Some(row) => {
                let is_given = |option: &Opt| args.given(option) && (!is_of_new || is_of_the_source(option));
                row.describe(&given, is_given).map(Self::Other)
            }
            None => {
                given.refuse()?;
                Versions::from_args(args).map(Self::Luks)
            }
        }
    }

    /// Whether it is LUKS.
    pub(crate) fn is_luks(&self) -> bool {
        matches!(self, Self::Luks(_))
    }
}

/// The refusal of a kind that only options describe, by a command that has none for it.
fn is_not_described(kind: &str, command: &str) -> Failure {
    let kind = kind.to_ascii_lowercase();
    let message = format!("--type {kind}: {command} has no options that describe such a volume.");
    Failure::new(Exit::Parameters, message).hinting(format!("\"copy --type {kind}\" moves it to a new one."))
}

/// Whether it describes the volume that a new one is made of.
fn is_of_the_source(option: &Opt) -> bool {
    option.long == shared::HEADER.long || shared::SOURCE.iter().any(|it| it.long == option.long)
}

impl Opening {
    /// The volume of the operand at `operand`, with `--header` if given.
    pub(crate) fn from_args(args: &Args, operand: usize) -> Result<Self> {
        Ok(Self {
            kind: Kind::from_args(args)?,
            target: Target::from_args(args, operand)?,
            key: KeyOptions::from_args(args)?,
            demands: Demands::from_args(args)?,
            sharing: Sharing::from_args(args),
            direct: args.given(&shared::DIRECT_IO),
            stdin_holds_data: false,
            edits: false,
        })
    }

    /// Says what discards do to such a volume.
    pub(crate) fn warn_of_discards(&self) {
        if let Kind::Other(described) = &self.kind {
            described.warn_of_discards();
        }
    }

    /// The plaintext. `data` says what will be done with it.
    pub(crate) fn open(&self, data: Data) -> Result<Plaintext> {
        let device = self.target.device.clone();
        let (admitted, key) = self.admit_with_key(data, true)?;
        let volume = admitted.open(key).map_err(|e| self.explain(e))?.storage();
        self.doubt(&*volume);
        Ok(Plaintext { volume, device })
    }

    /// Warns where nothing in the volume tells whether the options and the key are its own, and its
    /// plaintext is noise.
    pub(crate) fn warn_of_noise(&self, plaintext: &dyn Storage) {
        let is_guessed =
            matches!(&self.kind, Kind::Other(described) if !described.row().is_found_without_options);
        if is_guessed && noise::is_misread(plaintext) {
            say!(
                "WARNING: {} reads as noise with this key and these options, at its start or in parts: they \
                 may be wrong, and nothing on it confirms them.",
                self.target.device.display()
            );
        }
    }

    /// Tries the key, and opens nothing.
    pub(crate) fn test(&self) -> Result<()> {
        self.admit_with_key(Data::Read, true).map(drop)
    }

    /// The volume with its key, its data device marked as in use in the way that `data` asks for,
    /// for front ends of Keyway's own.
    pub(crate) fn unlock(&self, data: Data) -> Result<Unlocked> {
        self.take_apart(data, true)
    }

    /// The volume with its key, claimed to be written to as a whole.
    pub(crate) fn admitted_to_write(&self) -> Result<(Admitted, VolumeKey)> {
        self.admit_with_key(Data::Write, true)
    }

    /// Makes all checks that need no key, for a volume that is edited before it is opened. Nothing is
    /// claimed.
    pub(crate) fn judge(&self) -> Result<()> {
        match &self.kind {
            Kind::Luks(versions) => self.admit(Data::Write, *versions, false).map(drop),
            Kind::Other(_) => Ok(()),
        }
    }

    /// As [`Opening::unlock`], but not marked: dm-crypt claims the device itself.
    pub(crate) fn unlock_for_the_kernel(&self, data: Data) -> Result<Unlocked> {
        self.take_apart(data, false)
    }

    fn take_apart(&self, data: Data, claim: bool) -> Result<Unlocked> {
        let (admitted, key) = self.admit_with_key(data, claim)?;
        let parts = admitted.into_parts(key).map_err(|e| self.explain(e))?;
        if self.key_is_unproven()
            && let Ok(volume) =
                Volume::new(Arc::clone(&parts.data), &parts.layout, &parts.volume_key, Cpu::detect())
        {
            self.doubt(&volume);
        }
        let hash = match &self.kind {
            Kind::Luks(_) => None,
            Kind::Other(described) => described.hash().map(str::to_owned),
        };
        Ok(Unlocked { device: self.target.device.clone(), parts, hash })
    }

    /// Whether a volume key was given that nothing in the volume vouches for.
    fn key_is_unproven(&self) -> bool {
        let unproven = |described: &dyn Described| described.row().takes_unproven_keys;
        self.key.volume_key.is_some()
            && matches!(&self.kind, Kind::Other(described) if unproven(&**described))
    }

    /// Warns of such a key that makes noise of the volume.
    fn doubt(&self, plaintext: &dyn Storage) {
        if self.key_is_unproven() && noise::is_all(plaintext) {
            say!(
                "WARNING: {} begins with noise under this volume key, which may be another volume's: nothing \
                 in the volume confirms a volume key.",
                self.target.device.display()
            );
        }
    }

    /// The volume, claimed and judged, and its key.
    fn admit_with_key(&self, data: Data, claim: bool) -> Result<(Admitted, VolumeKey)> {
        match &self.kind {
            Kind::Luks(versions) => {
                let admitted = self.admit(data, *versions, claim)?;
                let key = self.find_key(&admitted)?;
                Ok((admitted, key))
            }
            Kind::Other(described) => self.admit_other(&**described, data, claim),
        }
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
        if let Some(judged) = admitted.judged() {
            target.debug_header(judged.luks(), Access::Read)?;
            self.demands.warn(&target.device, judged.tolerated());
        }
        Ok(admitted)
    }

    fn find_key(&self, admitted: &Admitted) -> Result<VolumeKey> {
        let mut source = self.key.passphrase.existing(unlock::prompt_for(&self.target.device));
        if self.stdin_holds_data {
            source = source.stdin_holds_data();
        }
        let key = self.key.find(admitted, &source)?;
        self.debug(format_args!("{} volume {}", admitted.kind(), Shown(admitted.uuid())))?;
        Ok(key)
    }

    /// What becoming LUKS2 takes, where it is of another kind. Nobody is asked for a key, and nothing is claimed.
    pub(crate) fn estimate_conversion(
        &self,
        create: &Create,
        how: &Reencrypt,
        limit: Option<u64>,
    ) -> Result<Estimate> {
        let Kind::Other(kind) = &self.kind else { return Err(Failure::silent(Exit::Parameters)) };
        let (device, storage) = (&self.target.device, self.data(Data::Read)?);
        let header = self.target.header.as_deref();
        let kind = kind.kind(&Asked { key: &self.key, device, header, stdin_holds_data: true })?;
        let volume = Device::options().over(device, Arc::clone(&storage), storage);
        volume.estimate_conversion_described(&*kind, create, how, limit).map_err(|e| self.explain(e))
    }

    /// A volume of another kind, claimed and judged, and its key.
    fn admit_other(&self, kind: &dyn Described, data: Data, claim: bool) -> Result<(Admitted, VolumeKey)> {
        let device = &self.target.device;
        let storage = self.data(data)?;
        self.demands.refuse(device)?;
        kind.warn(&self.key);
        let volume = Device::options().write(data == Data::Write);
        let volume = volume.over(device, Arc::clone(&storage), Arc::clone(&storage));
        // cryptsetup opens them under weak ciphers, too.
        let header = self.target.header.as_deref();
        let asked = Asked { key: &self.key, device, header, stdin_holds_data: self.stdin_holds_data };
        asked.attempts(kind, || self.try_other(kind, &volume, &storage, (data, claim), &asked))
    }

    /// One attempt of [`Opening::admit_other`].
    fn try_other(
        &self,
        kind: &dyn Described,
        volume: &Device,
        storage: &Arc<dyn Storage>,
        (data, claim): (Data, bool),
        asked: &Asked<'_>,
    ) -> Result<(Admitted, VolumeKey)> {
        let device = &self.target.device;
        let described = kind.kind(asked)?;
        let admitted = volume.admit_described(&*described, &self.terms(data, claim).weak_ciphers());
        let admitted = admitted.map_err(|e| self.explain(e))?;
        self.refuse_attached(data, claim)?;
        admitted.tolerated().iter().for_each(|note| say!("{}: {note}", device.display()));
        if data == Data::Write {
            kind.confirm(device, &**storage, self.target.manner)?;
        }
        let key = kind.find_key(&admitted, asked)?;
        self.debug(format_args!("{} volume", kind.row().of.name))?;
        Ok((admitted, key))
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
        let Target { device, .. } = &self.target;
        let failure = match &self.kind {
            Kind::Luks(_) => explain::opening(device, self.target.header_path(), error),
            Kind::Other(described) => explain::of_kind(described.row().of.title, device, error),
        };
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
