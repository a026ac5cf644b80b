//! The step between a device and its plaintext: claimed, judged, and waiting for its key.

use crate::error::At;
use crate::plaintext::Plaintext;
use crate::volume::Identity;
use crate::{Error, ErrorKind, Key, Location, Result, Unlock, Version, Volume};
use keyway_crypto::{Cpu, Secret};
use keyway_volume::device::in_use;
use keyway_volume::device::storage::Claimed;
use keyway_volume::reencrypt::{Purpose, UnderWay, limited_to};
use keyway_volume::{
    InUse, Luks, OsRandom, Refusal, Rights, SecondKey, Storage, UnlockOptions, Unlocked, verify_volume_key,
};
use std::fmt;
use std::sync::Arc;

/// A volume that may be opened, on a device that is claimed: from
/// [`Device::admit`](crate::Device::admit); see there for an example. Dropping it releases the
/// device.
pub struct Admitted {
    judged: keyway_volume::Admitted,
    data: Held,
    place: Location,
    options: Unlock,
    read_only: bool,
    /// It is written to all the same, by a door that makes its own claim.
    writes_later: bool,
    /// Identifies this value by its address.
    mark: Arc<()>,
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
        judged: keyway_volume::Admitted,
        data: Held,
        place: Location,
        options: Unlock,
        (read_only, writes_later): (bool, bool),
    ) -> Self {
        Self { judged, data, place, options, read_only, writes_later, mark: Arc::default() }
    }

    /// The version of its header. See [`Header`](crate::Header) for an example.
    pub fn version(&self) -> Version {
        Version::of(self.judged.luks())
    }

    /// The UUID in its header. See [`Header`](crate::Header) for an example.
    pub fn uuid(&self) -> &str {
        self.judged.luks().uuid()
    }

    /// Objections to the volume that the caller's terms accepted, one line each. See
    /// [`Device::admit`](crate::Device::admit) for an example.
    pub fn tolerated(&self) -> Vec<String> {
        self.judged.tolerated().iter().map(ToString::to_string).collect()
    }

    /// Finds the volume key. May be called again with another key. See
    /// [`Device::admit`](crate::Device::admit) for an example.
    ///
    /// # Errors
    /// [`ErrorKind::WrongPassphrase`], [`ErrorKind::WrongVolumeKey`]; keyslots exceed the
    /// [`Limits`](crate::Limits).
    pub fn try_key(&self, key: &Key) -> Result<VolumeKey> {
        let (luks, options) = (self.judged.luks(), self.options.options());
        let found = match self.judged.under_way() {
            Some(under_way) => find_keys(luks, under_way, key, &options),
            None => find_key(luks, key, &options),
        };
        Ok(self.own(found.at(&self.place)?))
    }

    /// Both volume keys of a volume in the middle of a re-encryption, in either order. See
    /// [`Device::resume_reencryption_with_keys`](crate::Device::resume_reencryption_with_keys) for keys
    /// to try.
    ///
    /// # Errors
    /// [`ErrorKind::WrongVolumeKey`] unless they are its two keys.
    pub fn try_volume_keys(&self, one: Secret, other: Secret) -> Result<VolumeKey> {
        let wrong = || Error::new(ErrorKind::WrongVolumeKey).at(&self.place);
        let under_way = self.judged.under_way().ok_or_else(wrong)?;
        let digest_of = |key: &Secret| verify_volume_key(self.judged.luks(), key).map_err(Error::from);
        let (first, second) = (digest_of(&one).at(&self.place)?, digest_of(&other).at(&self.place)?);
        let wanted = (under_way.first_digest(), under_way.second_digest());
        let (secret, digest, second) = match (Some(first), Some(second)) {
            found if found == wanted => (one, first, SecondKey { key: other, digest: second }),
            (found, other_found) if (other_found, found) == wanted => {
                (other, second, SecondKey { key: one, digest: first })
            }
            _ => return Err(wrong()),
        };
        Ok(self.own(VolumeKey { secret, digest, keyslot: None, second: Some(second), of: None }))
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
        let data = match self.options.is_unclaimed() && self.judged.under_way().is_some() {
            true => {
                let mark = InUse::acquire(&*self.data.claimed, in_use::Access::ReadOnly, false).at(&place)?;
                Arc::new(Claimed::new(Arc::clone(&self.data.claimed), mark))
            }
            false => Arc::clone(&self.data.claimed),
        };
        let identity =
            Identity { version: Some(self.version()), uuid: self.uuid().to_owned(), keyslot: key.keyslot };
        let rights = Rights { read_only: self.read_only, discards: self.options.passes_discards() };
        let (opened, data) = self.into_opened(key, data)?;
        let volume = keyway_volume::Volume::new(data, opened.layout(), opened.keys(), Cpu::detect());
        let plaintext = Plaintext { volume: volume.at(&place)?, rights };
        Ok(Volume::new(plaintext, place, identity))
    }

    #[cfg(feature = "parts")]
    pub(crate) fn judgement(&self) -> &keyway_volume::Admitted {
        &self.judged
    }

    #[cfg(feature = "dm")]
    pub(crate) fn claimed(&self) -> Arc<dyn Storage> {
        Arc::clone(&self.data.claimed)
    }

    #[cfg(feature = "parts")]
    pub(crate) fn data(&self) -> Arc<dyn Storage> {
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

    /// The volume that the key opens, if the key was found here, and `data` as it is to be used.
    pub(crate) fn into_opened(
        self,
        key: VolumeKey,
        data: Arc<dyn Storage>,
    ) -> Result<(keyway_volume::Opened, Arc<dyn Storage>)> {
        if !key.is_of(&self.mark) {
            return Err(Error::new(ErrorKind::WrongVolumeKey).at(&self.place));
        }
        let purpose = self.purpose();
        let opened = self.judged.open_with(key.secret, key.digest, key.second);
        opened.and_then(|opened| opened.onto(data, purpose, &mut OsRandom)).at(&self.place)
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

/// A volume key that a digest of the header has verified, or the key of an unbound keyslot: from
/// [`Admitted::try_key`] or [`Header::try_key`](crate::Header::try_key). Wiped on drop, never
/// printed. See [`Device::admit`](crate::Device::admit) for an example.
pub struct VolumeKey {
    pub(crate) secret: Secret,
    pub(crate) digest: u32,
    pub(crate) keyslot: Option<u32>,
    /// The key that replaces it, while a re-encryption is under way.
    pub(crate) second: Option<SecondKey>,
    /// The mark of the [`Admitted`] or header that found it.
    of: Option<Arc<()>>,
}

impl From<Unlocked> for VolumeKey {
    fn from(found: Unlocked) -> Self {
        let Unlocked { volume_key, digest, keyslot } = found;
        Self { secret: volume_key, digest, keyslot: Some(keyslot), second: None, of: None }
    }
}

impl VolumeKey {
    /// The keyslot that it came from; `None` where the key itself was given. See
    /// [`Device::admit`](crate::Device::admit) for an example.
    pub fn keyslot(&self) -> Option<u32> {
        self.keyslot
    }

    /// The number of the header's digest that verified it; 0 for LUKS1. See
    /// [`Device::admit`](crate::Device::admit) for an example.
    pub fn digest(&self) -> u32 {
        self.digest
    }

    /// The key's bytes. They open the volume even after its passphrases have changed. See
    /// [`Device::admit`](crate::Device::admit) for an example.
    pub fn expose(&self) -> &Secret {
        &self.secret
    }

    pub(crate) fn owned_by(self, mark: Arc<()>) -> Self {
        Self { of: Some(mark), ..self }
    }

    pub(crate) fn is_of(&self, mark: &Arc<()>) -> bool {
        self.of.as_ref().is_some_and(|of| Arc::ptr_eq(of, mark))
    }
}

impl fmt::Debug for VolumeKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("VolumeKey").field("keyslot", &self.keyslot).finish_non_exhaustive()
    }
}

/// The volume key that `key` is, or that it unlocks.
pub(crate) fn find_key(luks: &Luks, key: &Key, options: &UnlockOptions) -> Result<VolumeKey> {
    if let Some(given) = key.read_volume_key(luks.header().volume_key_len())? {
        let digest = verify_volume_key(luks, &given)?;
        let secret = Secret::copy_from(given.expose());
        return Ok(VolumeKey { secret, digest, keyslot: None, second: None, of: None });
    }
    let unlocked = match key {
        #[cfg(feature = "keyring")]
        Key::Token(token) => token.unlock(luks, options)?,
        _ => {
            let passphrase = key.read_passphrase()?;
            keyway_volume::unlock(luks, &passphrase, options)?
        }
    };
    Ok(unlocked.into())
}

/// The volume keys of a re-encryption that is under way.
fn find_keys(luks: &Luks, under_way: &UnderWay, key: &Key, options: &UnlockOptions) -> Result<VolumeKey> {
    if let Some(given) = key.read_volume_key(luks.header().volume_key_len())? {
        let digest = verify_volume_key(luks, &given)?;
        if under_way.second_digest().is_some() {
            return Err(keyway_volume::Error::Refused {
                kind: Refusal::Reencrypting,
                why: ONE_OF_TWO.to_owned(),
            }
            .into());
        }
        let secret = Secret::copy_from(given.expose());
        return Ok(VolumeKey { secret, digest, keyslot: None, second: None, of: None });
    }
    #[cfg(feature = "keyring")]
    if let Key::Token(token) = key {
        return find_both(under_way, |digest| {
            let options = digest.map_or_else(|| options.clone(), |digest| limited_to(luks, digest, options));
            token.unlock(luks, &options)
        });
    }
    let passphrase = key.read_passphrase()?;
    find_both(under_way, |digest| {
        let options = digest.map_or_else(|| options.clone(), |digest| limited_to(luks, digest, options));
        Ok(keyway_volume::unlock(luks, &passphrase, &options)?)
    })
}

/// Both keys, each by the search for the key that a digest verifies.
pub(crate) fn find_both<E>(
    under_way: &UnderWay,
    search: impl Fn(Option<u32>) -> Result<Unlocked, E>,
) -> Result<VolumeKey, E> {
    let mut found = VolumeKey::from(search(under_way.first_digest())?);
    if let Some(digest) = under_way.second_digest() {
        let second = search(Some(digest))?;
        found.second = Some(SecondKey { key: second.volume_key, digest: second.digest });
    }
    Ok(found)
}

const ONE_OF_TWO: &str = "The volume is in the middle of a reencryption, and has two volume keys: a passphrase opens \
                          both.";
