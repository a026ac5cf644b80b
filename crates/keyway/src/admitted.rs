//! The step between a device and its plaintext: claimed, judged, and waiting for its key.

use crate::error::At;
use crate::opened::{Named, Parts};
use crate::plaintext::Plaintext;
use crate::volume::Identity;
use crate::volume_key::{VolumeKey, find, find_key, find_keys};
use crate::{Error, ErrorKind, Key, Location, Result, Unlock, Version, Volume};
use keyway_crypto::{Cpu, Secret};
use keyway_volume::device::in_use;
use keyway_volume::device::storage::Claimed;
use keyway_volume::kind::{self, Row};
use keyway_volume::reencrypt::Purpose;
use keyway_volume::{InUse, Keys, OsRandom, Rights, SecondKey, Storage, verify_volume_key};
use std::fmt;
use std::sync::Arc;

/// A volume that may be opened, on a device that is claimed: from
/// [`Device::admit`](crate::Device::admit) or [`Device::admit_as`](crate::Device::admit_as); see
/// there for examples. Dropping it releases the device.
pub struct Admitted {
    judged: Judged,
    data: Held,
    place: Location,
    options: Unlock,
    read_only: bool,
    /// It is written to all the same, by a front end that makes its own claim.
    writes_later: bool,
    /// Identifies this value by its address.
    mark: Arc<()>,
}

/// A volume without its key.
pub(crate) enum Judged {
    Luks(Box<keyway_volume::Admitted>),
    Other(&'static Row, Box<dyn kind::Judged>),
}

/// The data device.
pub(crate) struct Held {
    /// Marked as in use until the last reference is dropped.
    pub(crate) claimed: Arc<dyn Storage>,
    /// Without the mark, for the kernel, which makes its own claim.
    #[cfg(feature = "dm")]
    pub(crate) unclaimed: Arc<dyn Storage>,
}

impl Admitted {
    pub(crate) fn new(
        judged: Judged,
        data: Held,
        place: Location,
        options: Unlock,
        (read_only, writes_later): (bool, bool),
    ) -> Self {
        Self { judged, data, place, options, read_only, writes_later, mark: Arc::default() }
    }

    /// The version of its LUKS header; `None` for another kind of volume. See
    /// [`Header`](crate::Header) for an example.
    pub fn version(&self) -> Option<Version> {
        self.luks().map(|judged| Version::of(judged.luks()))
    }

    /// The UUID in its header; empty where it has none. See [`Header`](crate::Header) for an
    /// example.
    pub fn uuid(&self) -> &str {
        match &self.judged {
            Judged::Luks(judged) => judged.luks().uuid(),
            Judged::Other(_, judged) => judged.uuid().unwrap_or_default(),
        }
    }

    /// Objections to the volume that the caller's terms accepted, and what is damaged in its header but
    /// there in a good copy; one line each. See
    /// [`Device::admit`](crate::Device::admit) for an example.
    pub fn tolerated(&self) -> Vec<String> {
        match &self.judged {
            Judged::Luks(judged) => judged.tolerated().iter().map(ToString::to_string).collect(),
            Judged::Other(_, judged) => judged.notes(),
        }
    }

    /// Finds the volume key. May be called again with another key. See
    /// [`Device::admit`](crate::Device::admit) for an example.
    ///
    /// # Errors
    /// [`ErrorKind::WrongPassphrase`], [`ErrorKind::WrongVolumeKey`]; keyslots exceed the
    /// [`Limits`](crate::Limits).
    pub fn try_key(&self, key: &Key) -> Result<VolumeKey> {
        let options = self.options.options();
        let found = match &self.judged {
            Judged::Luks(judged) => match judged.under_way() {
                Some(under_way) => find_keys(judged.luks(), under_way, key, &options),
                None => find_key(judged.luks(), key, &options),
            },
            Judged::Other(_, judged) => find(&**judged, key, &options),
        };
        Ok(self.own(found.at(&self.place)?))
    }

    /// The volume key where the volume's own header holds it in the clear (BitLocker's protection is
    /// suspended); `None` where it does not. See [`Device::admit_as`](crate::Device::admit_as) for an
    /// example.
    ///
    /// # Errors
    /// What the header says of the key cannot be; nothing but a TPM or a smart card opens the volume.
    pub fn try_without_key(&self) -> Result<Option<VolumeKey>> {
        let found = match &self.judged {
            Judged::Luks(_) => None,
            Judged::Other(_, judged) => judged.open_unprotected().transpose().at(&self.place)?,
        };
        Ok(found.map(|found| self.own(found.into())))
    }

    /// Refuses what must not become LUKS2 in place.
    pub(crate) fn check_convertible(&self) -> Result<()> {
        match &self.judged {
            Judged::Luks(_) => Ok(()),
            Judged::Other(_, judged) => judged.check_convertible().at(&self.place),
        }
    }

    /// The volume key's length in bytes, where it is known by now. See
    /// [`Device::admit_as`](crate::Device::admit_as) for an example.
    pub fn volume_key_len(&self) -> Option<usize> {
        match &self.judged {
            Judged::Luks(judged) => judged.luks().header().volume_key_len(),
            Judged::Other(_, judged) => judged.volume_key_len(),
        }
    }

    /// Both volume keys of a volume in the middle of a re-encryption, in either order. See
    /// [`Device::resume_reencryption_with_keys`](crate::Device::resume_reencryption_with_keys) for keys
    /// to try.
    ///
    /// # Errors
    /// [`ErrorKind::WrongVolumeKey`] unless they are its two keys.
    pub fn try_volume_keys(&self, one: Secret, other: Secret) -> Result<VolumeKey> {
        let wrong = || Error::new(ErrorKind::WrongVolumeKey).at(&self.place);
        let judged = self.luks().ok_or_else(wrong)?;
        let under_way = judged.under_way().ok_or_else(wrong)?;
        let digest_of = |key: &Secret| verify_volume_key(judged.luks(), key).map_err(Error::from);
        let (first, second) = (digest_of(&one).at(&self.place)?, digest_of(&other).at(&self.place)?);
        let wanted = (under_way.first_digest(), under_way.second_digest());
        let (secret, digest, second) = match (Some(first), Some(second)) {
            found if found == wanted => (one, first, SecondKey { key: other, digest: second }),
            (found, other_found) if (other_found, found) == wanted => {
                (other, second, SecondKey { key: one, digest: first })
            }
            _ => return Err(wrong()),
        };
        Ok(self.own(VolumeKey::of_two((secret, digest), second)))
    }

    /// The key, as one that was found here.
    pub(crate) fn own(&self, found: VolumeKey) -> VolumeKey {
        found.owned_by(Arc::clone(&self.mark))
    }

    /// Opens the volume with the volume key that [`Admitted::try_key`] found here. The key of
    /// another volume would turn this one into noise, and is refused. This step checks the seal's
    /// MAC, and what policies demand of the key. See [`Device::admit`](crate::Device::admit) for an
    /// example.
    ///
    /// # Errors
    /// [`ErrorKind::WrongVolumeKey`] for a key that was found elsewhere; [`ErrorKind::Policy`];
    /// [`ErrorKind::TooShort`] where the device ends before the data does.
    pub fn open(self, key: VolumeKey) -> Result<Volume> {
        let place = self.place.clone();
        // In the middle of a re-encryption, what somebody else writes would be noise here.
        let is_moving = self.luks().is_some_and(|judged| judged.under_way().is_some());
        let data = match self.options.is_unclaimed() && is_moving {
            true => {
                let mark = InUse::acquire(&*self.data.claimed, in_use::Access::ReadOnly, false).at(&place)?;
                Arc::new(Claimed::new(Arc::clone(&self.data.claimed), mark))
            }
            false => Arc::clone(&self.data.claimed),
        };
        let identity =
            Identity { version: self.version(), uuid: self.uuid().to_owned(), keyslot: key.keyslot };
        let rights = Rights { read_only: self.read_only, discards: self.options.passes_discards() };
        let Parts { data, layout, volume_key, second_key, .. } = self.ready(key, data)?;
        let keys = Keys::new(&volume_key, second_key.as_ref().map(|second| &second.key));
        let volume = keyway_volume::Volume::new(data, &layout, keys, Cpu::detect());
        let plaintext = Plaintext { volume: volume.at(&place)?, rights };
        Ok(Volume::new(plaintext, place, identity))
    }

    /// Where it is.
    pub(crate) fn place(&self) -> &Location {
        &self.place
    }

    /// The claimed data device, to be written.
    pub(crate) fn writable(&self) -> Result<Arc<dyn Storage>> {
        match self.read_only {
            true => Err(Error::new(ErrorKind::ReadOnly)),
            false => Ok(Arc::clone(&self.data.claimed)),
        }
    }

    /// What a LUKS header says of it.
    pub(crate) fn luks(&self) -> Option<&keyway_volume::Admitted> {
        match &self.judged {
            Judged::Luks(judged) => Some(judged),
            Judged::Other(..) => None,
        }
    }

    /// Which kind of volume it is, as cryptsetup names it. See
    /// [`Device::admit_as`](crate::Device::admit_as) for an example.
    pub fn kind(&self) -> &'static str {
        match &self.judged {
            Judged::Luks(judged) if judged.luks().version() == 1 => "LUKS1",
            Judged::Luks(_) => "LUKS2",
            Judged::Other(row, _) => row.title,
        }
    }

    #[cfg(any(feature = "dm", feature = "parts"))]
    pub(crate) fn claimed(&self) -> Arc<dyn Storage> {
        Arc::clone(&self.data.claimed)
    }

    #[cfg(feature = "dm")]
    pub(crate) fn for_the_kernel(&self) -> (Location, Arc<dyn Storage>, Unlock) {
        (self.place.clone(), Arc::clone(&self.data.unclaimed), self.options.clone())
    }

    #[cfg(feature = "dm")]
    pub(crate) fn is_read_only(&self) -> bool {
        self.read_only
    }

    /// The volume that the key opens, if the key was found here, with `data` as it is to be used.
    pub(crate) fn ready(self, key: VolumeKey, data: Arc<dyn Storage>) -> Result<Parts> {
        self.check_own(&key)?;
        let (purpose, named) = (self.purpose(), self.named());
        let VolumeKey { secret, digest, second, layout, .. } = key;
        match self.judged {
            Judged::Luks(judged) => {
                let opened = judged.open_with(secret, digest, second);
                let ready = opened.and_then(|opened| opened.onto(data, purpose, &mut OsRandom));
                ready.map(|(opened, data)| Parts::of_luks(named, opened, data)).at(&self.place)
            }
            Judged::Other(..) => {
                Ok(Parts::of_other(named, layout.expect("of a key found here"), secret, data))
            }
        }
    }

    /// The same for the kernel, which claims the device itself: `claimed` is released.
    #[cfg(feature = "dm")]
    pub(crate) fn ready_for_the_kernel(
        self,
        key: VolumeKey,
        claimed: Arc<dyn Storage>,
        unclaimed: &Arc<dyn Storage>,
        read_only: bool,
    ) -> Result<Parts> {
        self.check_own(&key)?;
        let (first, named) = (self.purpose(), self.named());
        let VolumeKey { secret, digest, second, layout, .. } = key;
        let Judged::Luks(judged) = self.judged else {
            let layout = layout.expect("of a key found here");
            return Ok(Parts::of_other(named, layout, secret, Arc::clone(unclaimed)));
        };
        let opened = judged.open_with(secret, digest, second).at(&self.place)?;
        let (opened, claimed) = opened.onto(claimed, first, &mut OsRandom).at(&self.place)?;
        drop(claimed);
        let then = if read_only { Purpose::Read } else { Purpose::WriteLater };
        let ready = opened.onto(Arc::clone(unclaimed), then, &mut OsRandom);
        ready.map(|(opened, data)| Parts::of_luks(named, opened, data)).at(&self.place)
    }

    /// The LUKS volume that the key opens, if the key was found here; `None` for another kind.
    #[cfg(feature = "dm")]
    pub(crate) fn into_opened(self, key: VolumeKey) -> Result<Option<keyway_volume::Opened>> {
        self.check_own(&key)?;
        match self.judged {
            Judged::Luks(judged) => {
                judged.open_with(key.secret, key.digest, key.second).map(Some).at(&self.place)
            }
            Judged::Other(..) => Ok(None),
        }
    }

    fn named(&self) -> Named {
        let uuid = Some(self.uuid()).filter(|uuid| !uuid.is_empty()).map(str::to_owned);
        Named { kind: self.kind(), uuid }
    }

    fn check_own(&self, key: &VolumeKey) -> Result<()> {
        match key.is_of(&self.mark) {
            true => Ok(()),
            false => Err(Error::new(ErrorKind::WrongVolumeKey).at(&self.place)),
        }
    }

    fn purpose(&self) -> Purpose {
        match (self.read_only, self.writes_later) {
            (true, true) => Purpose::WriteLater,
            (true, false) => Purpose::Read,
            (false, _) => Purpose::Write,
        }
    }

    /// [`Admitted::try_key`] and [`Admitted::open`] in one call. See
    /// [`Device::admit`](crate::Device::admit) for an example.
    ///
    /// # Errors
    /// Those of [`Admitted::try_key`] and [`Admitted::open`].
    pub fn unlock(self, key: &Key) -> Result<Volume> {
        let found = self.try_key(key)?;
        self.open(found)
    }
}

impl fmt::Debug for Admitted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Admitted").field("place", &self.place).finish_non_exhaustive()
    }
}
