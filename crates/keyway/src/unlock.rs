//! The terms on which a volume is opened.

use crate::{Error, Limits, Result, Version};
use keyway_volume::device::in_use;
use keyway_volume::device::storage::Claimed;
use keyway_volume::trust::admission::Required;
use keyway_volume::trust::policy::Policy;
use keyway_volume::{InUse, Luks, Storage, Terms, UnlockOptions};
use std::sync::Arc;

/// How to unlock a volume. The defaults are safe. Limits and demands keep them so; each other
/// method gives up some of that safety, and says what.
///
/// ```
/// # use keyway::*;
/// # let key = Key::passphrase("correct horse");
/// # let device = Create::luks2().kdf(NewKdf::pbkdf2(1000)).in_memory(1 << 20, &key)?;
/// let options = Unlock::new().version(Version::Luks2).keyslot(0).read_only();
/// let options = options.policy("fleet", "formats = [\"luks2\"]\nmin-key-bits = 512")?;
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
    unclaimed: bool,
    discards: bool,
    version: Option<Version>,
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

    /// Opens a volume with a header of this version only; any other is
    /// [`ErrorKind::NotLuks`](crate::ErrorKind::NotLuks). See [`Unlock`] for an example.
    #[must_use]
    pub fn version(mut self, version: Version) -> Self {
        self.version = Some(version);
        self
    }

    /// What key derivation may cost. See [`Limits`] for an example.
    #[must_use]
    pub fn limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// Gives a [`Volume`](crate::Volume) that refuses writes, even on a device that was opened for writing. See
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

    /// Opens a volume that others use, and lets others use it at the same time. Two
    /// writers destroy a volume: the caller must prevent that. See [`Unlock`] for an example.
    #[must_use]
    pub fn shared(mut self) -> Self {
        self.shared = true;
        self
    }

    /// Neither checks for other users of the volume nor keeps them away, for a look at data that
    /// others may be writing: what is read may then never have been there as a whole. Nothing can be
    /// written, unless the caller makes a claim of its own (feature `parts`).
    ///
    /// ```
    /// # use keyway::*;
    /// # let key = Key::passphrase("correct horse");
    /// # let device = Create::luks2().kdf(NewKdf::pbkdf2(1000)).in_memory(1 << 20, &key)?;
    /// let writer = device.unlock(&key)?;
    /// let looking = device.unlock_with(&key, &Unlock::new().unclaimed())?;
    /// assert!(looking.is_read_only() && !writer.is_read_only());
    /// # Ok::<(), keyway::Error>(())
    /// ```
    #[must_use]
    pub fn unclaimed(mut self) -> Self {
        self.unclaimed = true;
        self
    }

    /// Passes discards on: the encrypted file or device then shows which sectors are unused. See
    /// [`Volume::discard`](crate::Volume::discard) for an example.
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

    pub(crate) fn is_unclaimed(&self) -> bool {
        self.unclaimed
    }

    pub(crate) fn passes_discards(&self) -> bool {
        self.discards
    }

    pub(crate) fn terms(&self) -> &Terms {
        &self.terms
    }

    #[cfg(feature = "parts")]
    pub(crate) fn set_terms(&mut self, terms: Terms) {
        self.terms = terms;
    }

    /// Refuses headers of another version than the one asked for.
    pub(crate) fn check_version(&self, luks: &Luks) -> keyway_volume::Result<()> {
        match self.version.is_none_or(|wanted| wanted == Version::of(luks)) {
            true => Ok(()),
            false => Err(keyway_format::Error::NotLuks.into()),
        }
    }

    pub(crate) fn options(&self) -> UnlockOptions {
        UnlockOptions {
            keyslot: self.keyslot,
            weak_ciphers_too: self.terms.weak_ciphers,
            ..self.limits.options()
        }
    }

    /// The storage, marked as in use for as long as it is held, with the mark of its header.
    pub(crate) fn claim(
        &self,
        storage: Arc<dyn Storage>,
        access: in_use::Access,
        header: InUse,
    ) -> keyway_volume::Result<Arc<dyn Storage>> {
        let mark = InUse::acquire(&*storage, access, self.shared)?.with(header);
        Ok(Arc::new(Claimed::new(storage, mark)))
    }
}
