//! The terms on which a volume is opened, and the step between a device and its plaintext.

use crate::error::At;
use crate::{Error, ErrorKind, Key, Limits, Location, Result, Volume};
use keyway_crypto::{Cpu, Secret};
use keyway_volume::admission::Required;
use keyway_volume::policy::Policy;
use keyway_volume::storage::Claimed;
use keyway_volume::{InUse, Storage, Terms, UnlockOptions, in_use, verify_volume_key};
use std::fmt;
use std::sync::Arc;

/// How to unlock a volume. The defaults are safe. Limits and demands keep them so; each other
/// method gives up some of that safety, and says what.
///
/// ```
/// # use keyway::*;
/// # let key = Key::passphrase("correct horse");
/// # let device = Create::luks2().kdf(NewKdf::pbkdf2(1000)).in_memory(1 << 20, &key)?;
/// let options = Unlock::new().keyslot(0).read_only().policy("fleet", "formats = [\"luks2\"]\nmin-key-bits = 512")?;
/// let volume = device.unlock_with(&key, &options)?;
/// assert!(volume.is_read_only());
/// drop(volume);
///
/// let strict = Unlock::new().policy("fleet", "sealed = true")?;
/// let error = device.unlock_with(&key, &strict).unwrap_err();
/// assert_eq!(error.kind(), &ErrorKind::Policy { rule: "sealed" });
/// # Ok::<(), keyway::Error>(())
/// ```
#[derive(Debug, Clone, Default)]
pub struct Unlock {
    keyslot: Option<u32>,
    terms: Terms,
    limits: Limits,
    read_only: bool,
    shared: bool,
    discards: bool,
}

impl Unlock {
    /// The defaults. See [`Unlock`] for an example.
    pub fn new() -> Self {
        Self::default()
    }

    /// Tries this keyslot only. Keyslots of priority "ignore" are only reachable this way. See
    /// [`Unlock`] for an example.
    #[must_use]
    pub fn keyslot(mut self, number: u32) -> Self {
        self.keyslot = Some(number);
        self
    }

    /// What key derivation may cost. See [`Limits`] for an example.
    #[must_use]
    pub fn limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// Gives a [`Volume`] that refuses writes, even on a device that was opened for writing. See
    /// [`Unlock`] for an example.
    #[must_use]
    pub fn read_only(mut self) -> Self {
        self.read_only = true;
        self
    }

    /// Requires the volume to meet a policy (TOML; `keyway-seal(1)` lists the demands); `name`
    /// identifies the policy in errors. May be called more than once. See [`Unlock`] for an
    /// example.
    ///
    /// # Errors
    /// The text is not a valid policy.
    pub fn policy(mut self, name: &str, text: &str) -> Result<Self> {
        let policy =
            Policy::parse(text.as_bytes()).map_err(|why| Error::refused(format!("policy {name}:{why}")))?;
        self.terms.policies.push(Required { name: name.to_owned(), policy });
        Ok(self)
    }

    /// Requires a seal that was made with this context. See [`Header::seal`](crate::Header::seal)
    /// for an example.
    #[must_use]
    pub fn seal_context(mut self, context: &str) -> Self {
        self.terms.seal_context = Some(context.to_owned());
        self
    }

    /// Opens a volume whose seal does not match its header: the header may be forged. See
    /// [`Unlock`] for an example.
    #[must_use]
    pub fn ignore_seal(mut self) -> Self {
        self.terms.ignore_seal = true;
        self
    }

    /// Accepts ciphers that hide little or nothing, and keys that can be guessed. See [`Unlock`]
    /// for an example.
    #[must_use]
    pub fn weak_ciphers(mut self) -> Self {
        self.terms.weak_ciphers = true;
        self
    }

    /// Accepts segments that are not encrypted: anybody with access to the device may have chosen
    /// the data that is read there, and writes are stored in the clear. See [`Unlock`] for an
    /// example.
    #[must_use]
    pub fn linear_segments(mut self) -> Self {
        self.terms.linear_segments = true;
        self
    }

    /// Opens the volume although others use it, and lets others use it at the same time. Two
    /// writers destroy a volume: the caller must prevent that. See [`Unlock`] for an example.
    #[must_use]
    pub fn shared(mut self) -> Self {
        self.shared = true;
        self
    }

    /// Passes discards on: the encrypted file or device then shows which sectors are unused. See
    /// [`Volume::discard`] for an example.
    #[must_use]
    pub fn discards(mut self) -> Self {
        self.discards = true;
        self
    }

    pub(crate) fn is_read_only(&self) -> bool {
        self.read_only
    }

    pub(crate) fn is_shared(&self) -> bool {
        self.shared
    }

    pub(crate) fn passes_discards(&self) -> bool {
        self.discards
    }

    pub(crate) fn terms(&self) -> &Terms {
        &self.terms
    }

    pub(crate) fn options(&self) -> UnlockOptions {
        UnlockOptions {
            keyslot: self.keyslot,
            weak_ciphers_too: self.terms.weak_ciphers,
            ..self.limits.options()
        }
    }

    /// The storage, marked as in use for as long as it is held.
    pub(crate) fn claim(
        &self,
        storage: Arc<dyn Storage>,
        access: in_use::Access,
    ) -> keyway_volume::Result<Arc<dyn Storage>> {
        let mark = InUse::acquire(&*storage, access, self.shared)?;
        Ok(Arc::new(Claimed::new(storage, mark)))
    }
}

/// A volume that may be opened, on a device that is claimed: from
/// [`Device::admit`](crate::Device::admit); see there for an example. Dropping it releases the
/// device.
pub struct Admitted {
    judged: keyway_volume::Admitted,
    data: Held,
    place: Location,
    options: Unlock,
    read_only: bool,
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
        read_only: bool,
    ) -> Self {
        Self { judged, data, place, options, read_only, mark: Arc::default() }
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
    /// [`Limits`].
    pub fn try_key(&self, key: &Key) -> Result<VolumeKey> {
        let found = find_key(self.judged.luks(), key, &self.options.options()).at(&self.place)?;
        Ok(VolumeKey { of: Some(Arc::clone(&self.mark)), ..found })
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
        let (data, place, keyslot) = (Arc::clone(&self.data.claimed), self.place.clone(), key.keyslot);
        let (read_only, discards) = (self.read_only, self.options.passes_discards());
        let opened = self.into_opened(key)?;
        let plaintext = keyway_volume::Volume::new(data, opened.layout(), opened.volume_key(), Cpu::detect());
        Ok(Volume::new(plaintext.at(&place)?, &opened, place, keyslot, read_only, discards))
    }

    #[cfg(feature = "dm")]
    pub(crate) fn for_the_kernel(&self) -> (Location, Arc<dyn Storage>, Unlock) {
        (self.place.clone(), Arc::clone(&self.data.unclaimed), self.options.clone())
    }

    #[cfg(feature = "dm")]
    pub(crate) fn is_read_only(&self) -> bool {
        self.read_only
    }

    /// The volume that the key opens, if the key was found here.
    pub(crate) fn into_opened(self, key: VolumeKey) -> Result<keyway_volume::Opened> {
        if !key.of.is_some_and(|of| Arc::ptr_eq(&of, &self.mark)) {
            return Err(Error::new(ErrorKind::WrongVolumeKey).at(&self.place));
        }
        self.judged.open(key.secret, key.digest).at(&self.place)
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

/// A volume key that a digest of the header has verified: from [`Admitted::try_key`]. Wiped on
/// drop, never printed. See [`Device::admit`](crate::Device::admit) for an example.
pub struct VolumeKey {
    pub(crate) secret: Secret,
    pub(crate) digest: u32,
    pub(crate) keyslot: Option<u32>,
    /// The [`Admitted`] that found it.
    of: Option<Arc<()>>,
}

impl VolumeKey {
    /// The keyslot that it came from; `None` where the key itself was given. See
    /// [`Device::admit`](crate::Device::admit) for an example.
    pub fn keyslot(&self) -> Option<u32> {
        self.keyslot
    }

    /// The key's bytes. They open the volume even after its passphrases have changed. See
    /// [`Device::admit`](crate::Device::admit) for an example.
    pub fn expose(&self) -> &Secret {
        &self.secret
    }
}

impl fmt::Debug for VolumeKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("VolumeKey").field("keyslot", &self.keyslot).finish_non_exhaustive()
    }
}

/// The volume key that `key` is, or that it unlocks.
pub(crate) fn find_key(luks: &keyway_volume::Luks, key: &Key, options: &UnlockOptions) -> Result<VolumeKey> {
    if let Some(given) = key.read_volume_key(luks.header().volume_key_len())? {
        let digest = verify_volume_key(luks, &given)?;
        return Ok(VolumeKey { secret: Secret::copy_from(given.expose()), digest, keyslot: None, of: None });
    }
    let unlocked = match key {
        #[cfg(feature = "keyring")]
        Key::Token(token) => token.unlock(luks, options)?,
        _ => {
            let passphrase = key.read_passphrase()?;
            keyway_volume::unlock(luks, &passphrase, options)?
        }
    };
    let (secret, digest) = (unlocked.volume_key, unlocked.digest);
    Ok(VolumeKey { secret, digest, keyslot: Some(unlocked.keyslot), of: None })
}
