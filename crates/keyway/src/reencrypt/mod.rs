//! Re-encryption in place: another volume key or cipher, plaintext to a volume, a volume to
//! plaintext, another kind of volume to LUKS2.

mod begin;
mod checks;
mod convert;
mod luks1;
mod options;

pub(crate) use begin::encryption_of;
pub use checks::{FirstBoot, PossibleLengths};
pub use luks1::{Luks1Change, Luks1Files};
pub use options::{Reencrypt, Resilience, Unused};

use crate::error::At;
use crate::{Device, Error, Header, Key, Location, Result};
use keyway_crypto::Secret;
use keyway_volume::reencrypt::{self, Job, Options, Progress, VolumeKeys};
use keyway_volume::{Luks, OsRandom, Storage};
use luks1::Finish;
use std::fmt;
use std::sync::Arc;

/// A re-encryption under way (LUKS2): from [`Device::begin_reencryption`] and its kin, or from
/// [`Device::resume_reencryption`]. Its data is whole at every moment: whatever ends the program,
/// resuming goes on from there, as cryptsetup's `reencrypt --resume-only` does.
///
/// ```
/// # use keyway::*;
/// # let key = Key::passphrase("correct horse");
/// # let device = Create::luks2().kdf(NewKdf::pbkdf2(1000)).in_memory(1 << 20, &key)?;
/// # device.unlock(&key)?.write_at(b"data", 0)?;
/// let header = device.header()?;
/// let found = header.try_key(&key)?;
/// # let cheap = NewKeyslot::new().kdf(NewKdf::pbkdf2(1000));
/// let how = Reencrypt::new().cipher("serpent-xts-plain64", 512).hot_zone(64 << 10);
/// # let how = how.keyslot(cheap);
/// let begun = device.begin_reencryption(header, &how, vec![(found, Key::passphrase("correct horse"))])?;
/// drop(begun); // the power fails, or somebody has to go
///
/// let mut resumed = device.resume_reencryption(device.header()?, &how, &key)?;
/// while !resumed.step()? {
///     let (done, len) = resumed.progress();
///     assert!(done < len);
/// }
/// drop(resumed);
/// let mut bytes = [0; 4];
/// device.unlock(&key)?.read_at(&mut bytes, 0)?;
/// assert_eq!(&bytes, b"data");
/// # Ok::<(), keyway::Error>(())
/// ```
pub struct Reencryption {
    work: Work,
    finish: Option<Finish>,
    place: Location,
}

/// What is done step by step.
pub(crate) enum Work {
    /// The data is done already.
    Done,
    /// Nobody else uses the volume.
    Offline(Box<Job>),
    /// The kernel maps it.
    #[cfg(feature = "dm")]
    Mapped(Box<keyway_attach::dm::reencrypting::Reencrypting>),
}

impl Work {
    fn step(&mut self) -> Result<bool> {
        match self {
            Self::Done => Ok(true),
            Self::Offline(job) => Ok(job.step(&mut OsRandom)?),
            #[cfg(feature = "dm")]
            Self::Mapped(steps) => Ok(steps.step()?),
        }
    }

    fn progress(&self) -> Option<Progress> {
        match self {
            Self::Done => None,
            Self::Offline(job) => Some(job.progress()),
            #[cfg(feature = "dm")]
            Self::Mapped(steps) => Some(steps.mapped.progress()),
        }
    }
}

impl Reencryption {
    /// Does the next part, and returns whether it was the last one. A part takes less than a second
    /// on most devices. See [`Reencryption`] for an example.
    ///
    /// # Errors
    /// The device fails. Resuming goes on from there.
    pub fn step(&mut self) -> Result<bool> {
        let is_last = self.work.step().at(&self.place)?;
        if let (true, Some(finish)) = (is_last, &self.finish) {
            finish.run()?;
        }
        Ok(is_last)
    }

    /// How many bytes are done, and how many there are. See [`Reencryption`] for an example.
    pub fn progress(&self) -> (u64, u64) {
        self.work.progress().map_or((0, 0), |progress| (progress.done, progress.len))
    }

    /// As [`Device::resume_reencryption`], with the volume keys.
    pub(crate) fn with_keys(
        luks: Luks,
        data: Arc<dyn Storage>,
        keys: &VolumeKeys,
        how: &Reencrypt,
        (place, holds_header): (&Location, bool),
    ) -> Result<Self> {
        let options = how.options(holds_header);
        let mut job = Job::resume(luks, data, keys, &options, &mut OsRandom).at(place)?;
        if let Some(unused) = how.unused {
            job.skip_unused(unused.in_volume(), keys, &mut OsRandom).at(place)?;
        }
        Ok(Self { work: Work::Offline(Box::new(job)), finish: None, place: place.clone() })
    }

    /// Of a volume that is mapped at `place`.
    #[cfg(feature = "dm")]
    pub(crate) fn in_use(work: Work, place: Location) -> Self {
        Self { work, finish: None, place }
    }
}

impl fmt::Debug for Reencryption {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("Reencryption");
        shown.field("place", &self.place).field("progress", &self.progress()).finish_non_exhaustive()
    }
}

impl Device {
    /// Goes on with a re-encryption that the header describes. What was being written when it was
    /// cut off is completed first. `key` opens a keyslot of each volume key, as the passphrase does
    /// with which it was begun. See [`Reencryption`] for an example.
    ///
    /// # Errors
    /// No re-encryption is under way; the volume keys do not vouch for it: somebody may have forged
    /// it; another process is at it; [`ErrorKind::WrongPassphrase`](crate::ErrorKind::WrongPassphrase).
    pub fn resume_reencryption(&self, header: Header, how: &Reencrypt, key: &Key) -> Result<Reencryption> {
        let keys = header.both_keys(key)?;
        self.resume_with(header.into_luks(), &keys, how)
    }

    /// [`Device::resume_reencryption`] with volume keys: `new` is the key of the volume as it will be,
    /// where both sides have one and they differ. It is the only way on where keyslots hold neither,
    /// or only one of them ([`Reencrypt::volume_key`]).
    ///
    /// ```
    /// # use keyway::*;
    /// # let key = Key::passphrase("correct horse");
    /// # let device = Create::luks2().kdf(NewKdf::pbkdf2(1000)).in_memory(1 << 20, &key)?;
    /// # let header = device.header()?;
    /// # let found = header.try_key(&key)?;
    /// # let (old, new) = (Secret::copy_from(found.expose().expose()), Secret::copy_from(&[7; 64]));
    /// let how = Reencrypt::new().volume_key(Secret::copy_from(new.expose()));
    /// # let old_again = Key::VolumeKey(Secret::copy_from(old.expose()));
    /// # let header = device.header()?;
    /// # let found = header.try_key(&old_again)?;
    /// let begun = device.begin_reencryption(header, &how, vec![(found, old_again)])?;
    /// drop(begun); // the power fails
    ///
    /// let header = device.header()?;
    /// let mut resumed = device.resume_reencryption_with_keys(header, &how, old, Some(new))?;
    /// while !resumed.step()? {}
    /// # Ok::<(), keyway::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`ErrorKind::WrongVolumeKey`](crate::ErrorKind::WrongVolumeKey), and those of
    /// [`Device::resume_reencryption`].
    pub fn resume_reencryption_with_keys(
        &self,
        header: Header,
        how: &Reencrypt,
        key: Secret,
        new: Option<Secret>,
    ) -> Result<Reencryption> {
        let keys = VolumeKeys::given(&header.luks, key, new).at(header.place())?;
        self.resume_with(header.into_luks(), &keys, how)
    }

    /// Completes what was being written when a re-encryption was cut off, and writes nothing else: the rest stays for
    /// [`Device::resume_reencryption`]. Where nothing was cut off, this is a proof that the volume keys vouch for what the
    /// header says, and nothing is written.
    ///
    /// ```
    /// # use keyway::*;
    /// # let key = Key::passphrase("correct horse");
    /// # let device = Create::luks2().kdf(NewKdf::pbkdf2(1000)).in_memory(1 << 20, &key)?;
    /// # let header = device.header()?;
    /// # let found = header.try_key(&key)?;
    /// # let again = Key::passphrase("correct horse");
    /// let begun = device.begin_reencryption(header, &Reencrypt::new(), vec![(found, again)])?;
    /// drop(begun); // the power fails
    ///
    /// device.recover_reencryption(device.header()?, &Reencrypt::new(), &key)?;
    /// assert!(device.header()?.is_in_reencryption()?);
    /// # Ok::<(), keyway::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`Device::resume_reencryption`].
    pub fn recover_reencryption(&self, header: Header, how: &Reencrypt, key: &Key) -> Result<()> {
        let keys = header.both_keys(key)?;
        self.check_durable(how)?;
        let options = Options { only_recovers: true, ..how.options(self.data_device().holds_header) };
        let data = self.claim(&how.unlock)?;
        let job = Job::resume(header.into_luks(), data, &keys, &options, &mut OsRandom);
        job.map(drop).at(self.header_place())
    }

    /// Protects a re-encryption from forgery that was begun by a cryptsetup before 2.4.3 (CVE-2021-4122).
    /// The caller vouches that it is genuine: before, nobody can know.
    ///
    /// # Errors
    /// Those of [`Device::resume_reencryption`].
    pub fn protect_reencryption(&self, header: Header, key: &Key) -> Result<()> {
        self.check_writable()?;
        let keys = header.both_keys(key)?;
        let place = self.header_place();
        reencrypt::protect(&mut header.into_luks(), &keys, &mut OsRandom).at(place)
    }

    /// Refuses a device that cannot be written, or whose writes nobody can make sure of.
    pub(crate) fn check_durable(&self, how: &Reencrypt) -> Result<()> {
        self.check_writable()?;
        for (storage, place) in [(self.data(), self.place()), (self.header_storage(), self.header_place())] {
            if !storage.can_flush() && !how.without_flush {
                let why = "it cannot be flushed (its NBD server offers no flush): a power failure might lose data. \
                           Nothing was changed";
                return Err(Error::refused(why).at(place));
            }
        }
        Ok(())
    }

    fn resume_with(&self, luks: Luks, keys: &VolumeKeys, how: &Reencrypt) -> Result<Reencryption> {
        self.check_durable(how)?;
        let holds_header = self.data_device().holds_header;
        let data = self.claim(&how.unlock)?;
        Reencryption::with_keys(luks, data, keys, how, (self.header_place(), holds_header))
    }
}

impl Header {
    /// Whether a re-encryption is under way. See [`Reencryption`].
    ///
    /// # Errors
    /// What the header says of it contradicts itself.
    pub fn is_in_reencryption(&self) -> Result<bool> {
        let place = self.place();
        match self.luks.header() {
            keyway_volume::Header::Luks1(_) => Ok(false),
            keyway_volume::Header::Luks2 { metadata, .. } => {
                let found = metadata.reencryption().map_err(keyway_volume::Error::from).at(place)?;
                Ok(found.is_some())
            }
        }
    }

    /// The volume keys of the re-encryption that is under way.
    pub(crate) fn both_keys(&self, key: &Key) -> Result<VolumeKeys> {
        let place = self.place();
        match key {
            Key::VolumeKey(_) | Key::VolumeKeyFile(_) => {
                Err(Error::refused("a passphrase is needed here: a reencryption has two volume keys")
                    .at(place))
            }
            key => {
                let passphrase = key.read_passphrase().at(place)?;
                reencrypt::unlock(&self.luks, &passphrase, &self.limits()).at(place)
            }
        }
    }
}
