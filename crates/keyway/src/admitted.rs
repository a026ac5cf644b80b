//! The step between a device and its plaintext: claimed, judged, and waiting for its key.

use crate::error::At;
use crate::plaintext::Plaintext;
use crate::volume::Identity;
use crate::{Error, ErrorKind, Key, Location, Result, Unlock, Version, Volume};
use keyway_crypto::{Cpu, Secret};
use keyway_volume::device::in_use;
use keyway_volume::device::storage::Claimed;
use keyway_volume::kind::{self, Found, Row};
use keyway_volume::reencrypt::{Hold, Purpose, UnderWay, limited_to};
use keyway_volume::{
    InUse, Keys, Layout, Luks, OsRandom, Refusal, Rights, SecondKey, Storage, UnlockOptions, Unlocked,
    verify_volume_key,
};
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
    /// It is written to all the same, by a door that makes its own claim.
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

    /// Objections to the volume that the caller's terms accepted, one line each. See
    /// [`Device::admit`](crate::Device::admit) for an example.
    pub fn tolerated(&self) -> Vec<String> {
        let tolerated = self.luks().map_or(&[][..], keyway_volume::Admitted::tolerated);
        tolerated.iter().map(ToString::to_string).collect()
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
        Ok(self.own(VolumeKey { digest, second: Some(second), ..VolumeKey::of_secret(secret) }))
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
        let Ready { data, layout, volume_key, second_key, .. } = self.ready(key, data)?;
        let keys = Keys::new(&volume_key, second_key.as_ref().map(|second| &second.key));
        let volume = keyway_volume::Volume::new(data, &layout, keys, Cpu::detect());
        let plaintext = Plaintext { volume: volume.at(&place)?, rights };
        Ok(Volume::new(plaintext, place, identity))
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
    pub(crate) fn ready(self, key: VolumeKey, data: Arc<dyn Storage>) -> Result<Ready> {
        self.check_own(&key)?;
        let purpose = self.purpose();
        let VolumeKey { secret, digest, second, layout, .. } = key;
        match self.judged {
            Judged::Luks(judged) => {
                let opened = judged.open_with(secret, digest, second);
                let ready = opened.and_then(|opened| opened.onto(data, purpose, &mut OsRandom));
                ready.map(|(opened, data)| Ready::of_luks(opened, data)).at(&self.place)
            }
            Judged::Other(..) => Ok(Ready::of_other(layout.expect("of a key found here"), secret, data)),
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
    ) -> Result<Ready> {
        self.check_own(&key)?;
        let first = self.purpose();
        let VolumeKey { secret, digest, second, layout, .. } = key;
        let Judged::Luks(judged) = self.judged else {
            return Ok(Ready::of_other(layout.expect("of a key found here"), secret, Arc::clone(unclaimed)));
        };
        let opened = judged.open_with(secret, digest, second).at(&self.place)?;
        let (opened, claimed) = opened.onto(claimed, first, &mut OsRandom).at(&self.place)?;
        if let Some(under_way) = opened.under_way() {
            under_way.check_complete().at(&self.place)?;
        }
        drop(claimed);
        let then = if read_only { Purpose::Read } else { Purpose::WriteLater };
        let ready = opened.onto(Arc::clone(unclaimed), then, &mut OsRandom);
        ready.map(|(opened, data)| Ready::of_luks(opened, data)).at(&self.place)
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

/// An opened volume: what is behind its plaintext.
#[cfg_attr(not(any(feature = "dm", feature = "parts")), allow(dead_code))]
pub(crate) struct Ready {
    pub(crate) data: Arc<dyn Storage>,
    pub(crate) layout: Layout,
    pub(crate) volume_key: Secret,
    /// The digest that verified the volume key.
    pub(crate) digest: u32,
    pub(crate) second_key: Option<SecondKey>,
    /// Its LUKS header.
    pub(crate) header: Option<Luks>,
    pub(crate) holds_header: bool,
    pub(crate) hold: Option<Arc<Hold>>,
}

impl Ready {
    pub(crate) fn of_luks(mut opened: keyway_volume::Opened, data: Arc<dyn Storage>) -> Self {
        let (digest, second_key) = (opened.digest(), opened.take_second_key());
        let (holds_header, hold) = (opened.holds_header(), opened.hold());
        let (header, layout, volume_key) = opened.into_parts();
        Self { data, layout, volume_key, digest, second_key, header: Some(header), holds_header, hold }
    }

    fn of_other(layout: Layout, volume_key: Secret, data: Arc<dyn Storage>) -> Self {
        let (second_key, header, hold) = (None, None, None);
        Self { data, layout, volume_key, digest: 0, second_key, header, holds_header: false, hold }
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
    /// Where the plaintext is, of volumes that do not say so before they have their key.
    layout: Option<Layout>,
    /// The mark of the [`Admitted`] or header that found it.
    of: Option<Arc<()>>,
}

impl From<Unlocked> for VolumeKey {
    fn from(found: Unlocked) -> Self {
        let Unlocked { volume_key, digest, keyslot } = found;
        Self { digest, keyslot: Some(keyslot), ..Self::of_secret(volume_key) }
    }
}

impl From<Found> for VolumeKey {
    fn from(found: Found) -> Self {
        Self { layout: Some(found.layout), ..Self::of_secret(found.volume_key) }
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

    fn of_secret(secret: Secret) -> Self {
        Self { secret, digest: 0, keyslot: None, second: None, layout: None, of: None }
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
        return Ok(VolumeKey { digest, ..VolumeKey::of_secret(secret) });
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

/// The volume key of another kind of volume.
fn find(judged: &dyn kind::Judged, key: &Key, options: &UnlockOptions) -> Result<VolumeKey> {
    if let Some(given) = key.read_volume_key(judged.volume_key_len())? {
        return Ok(judged.open(kind::Key::Volume(&given), options)?.into());
    }
    let found = match key {
        Key::KeyFile(file) => {
            let file = match judged.key_file_len() {
                Some(len) => file.clone().size(len as u64),
                None => file.clone(),
            };
            let content = Key::KeyFile(file);
            judged.open(kind::Key::File(&*content.read_passphrase()?), options)
        }
        _ => judged.open(kind::Key::Passphrase(&*key.read_passphrase()?), options),
    };
    Ok(found?.into())
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
        return Ok(VolumeKey { digest, ..VolumeKey::of_secret(secret) });
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
