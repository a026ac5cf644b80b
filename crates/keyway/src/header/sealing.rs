//! Seals a header, and removes its seal.

use super::{Header, Key, VolumeKey};
use crate::Result;
use crate::error::At;
use crate::volume_key::find_key;
use keyway_crypto::Secret;
use keyway_volume::change::seal;
use keyway_volume::header::seal::Seal;
use keyway_volume::trust::admission;
use keyway_volume::{OsRandom, Terms};

impl Header {
    /// Whether it has a seal. Only [`Device::unlock`](crate::Device::unlock) tells whether the seal
    /// is genuine. See [`Header::seal`] for an example.
    pub fn is_sealed(&self) -> bool {
        !matches!(Seal::of(self.luks.header()), Ok(None))
    }

    /// Seals the current header (LUKS2), and replaces an older seal, also one that it does not match:
    /// seal what you have looked at ([`Header::check`] says what differs). If anybody without the volume
    /// key then changes a field that decides how data is read, unlocking detects it. With a
    /// `context`, [`Unlock::seal_context`](crate::Unlock::seal_context) also detects another volume
    /// in place of this one.
    ///
    /// ```
    /// # use keyway::*;
    /// # let key = Key::passphrase("correct horse");
    /// # let device = Create::luks2().kdf(NewKdf::pbkdf2(1000)).in_memory(1 << 20, &key)?;
    /// device.header()?.seal(&key, Some("host 17"))?;
    /// assert!(device.header()?.is_sealed());
    /// device.unlock_with(&key, &Unlock::new().seal_context("host 17"))?;
    /// let error = device.unlock_with(&key, &Unlock::new().seal_context("host 18")).unwrap_err();
    /// assert_eq!(error.kind(), &ErrorKind::Policy { rule: "seal" });
    ///
    /// assert!(device.header()?.unseal()?);
    /// assert!(!device.header()?.is_sealed());
    /// # Ok::<(), keyway::Error>(())
    /// ```
    ///
    /// # Errors
    /// `key` does not open the volume, and those of [`Header::check_sealable`].
    pub fn seal(&mut self, key: &Key, context: Option<&str>) -> Result<()> {
        self.check_sealable()?;
        let found = find_key(&self.luks, key, &self.options.options()).at(&self.place)?;
        let (len, terms) = (self.data.len, self.terms_to_seal());
        admission::check_to_open(&self.luks, len, &terms, &found.secret, found.digest).at(&self.place)?;
        seal::seal(&mut self.luks, &found.secret, len, context, &mut OsRandom).at(&self.place)
    }

    /// Lets [`Header::set_label`], [`Header::set_names`] and [`Header::set_uuid`] renew the seal in the
    /// same write, with the volume key that [`Header::try_key`] found here. Without it, what they change
    /// no longer matches the seal.
    ///
    /// ```
    /// # use keyway::*;
    /// # let key = Key::passphrase("correct horse");
    /// # let device = Create::luks2().kdf(NewKdf::pbkdf2(1000)).in_memory(1 << 20, &key)?;
    /// device.header()?.seal(&key, None)?;
    /// let mut header = device.header()?;
    /// let found = header.try_key(&key)?;
    /// header.renew_seal_with(&found)?;
    /// header.set_label("backup")?;
    /// device.unlock(&key)?;
    ///
    /// device.header()?.set_label("other")?;
    /// assert_eq!(device.unlock(&key).unwrap_err().kind(), &ErrorKind::Policy { rule: "seal" });
    /// assert!(device.header()?.set_label("third").is_err());
    /// device.header_with(&Unlock::new().ignore_seal())?.set_label("third")?;
    /// # Ok::<(), keyway::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`ErrorKind::WrongVolumeKey`](crate::ErrorKind::WrongVolumeKey) for a key that was found elsewhere.
    pub fn renew_seal_with(&mut self, found: &VolumeKey) -> Result<()> {
        self.check_own(found)?;
        self.renewal = Some(Secret::copy_from(found.secret.expose()));
        Ok(())
    }

    /// Makes all checks of [`Header::seal`] that are possible before asking for a key: a seal
    /// vouches for the header, so it must be one that this library would open, but for an older
    /// seal that no longer holds.
    ///
    /// ```
    /// # use keyway::*;
    /// # let key = Key::passphrase("correct horse");
    /// # let device = Create::luks1().kdf(NewKdf::pbkdf2(1000)).in_memory(1 << 20, &key)?;
    /// assert!(device.header()?.check_sealable().is_err());
    /// # Ok::<(), keyway::Error>(())
    /// ```
    ///
    /// # Errors
    /// The header is LUKS1, or in the middle of a re-encryption; [`ErrorKind::ReadOnly`](crate::ErrorKind::ReadOnly), and
    /// those of [`Device::admit`](crate::Device::admit).
    pub fn check_sealable(&self) -> Result<()> {
        self.check_writable()?;
        seal::check_sealable(&self.luks).at(&self.place)?;
        self.luks.check_requirements().at(&self.place)?;
        admission::check(&self.luks, Some(self.data), &self.terms_to_seal()).at(&self.place).map(drop)
    }

    /// Removes the seal, and returns whether there was one. No key is needed: whoever can write the
    /// header can remove its seal, which is why [`Unlock::policy`](crate::Unlock::policy) can
    /// demand one. See [`Header::seal`] for an example.
    ///
    /// # Errors
    /// The header is LUKS1; [`ErrorKind::ReadOnly`](crate::ErrorKind::ReadOnly).
    pub fn unseal(&mut self) -> Result<bool> {
        self.check_writable()?;
        seal::remove(&mut self.luks, &mut OsRandom).at(&self.place)
    }

    /// The content and context of an old seal are no reason to refuse a new one.
    fn terms_to_seal(&self) -> Terms {
        Terms { ignore_seal: true, ..self.options.terms().clone() }
    }
}
