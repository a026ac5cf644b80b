//! Edits of a header's keyslots.

use super::{Header, Key, VolumeKey};
use crate::error::At;
use crate::key::Read;
use crate::{Error, ErrorKind, NewKdf, Result};
use keyway_crypto::{CipherSpec, Secret};
use keyway_format::luks2::KeyslotKind;
use keyway_volume::change::edit::{self, AddKey};
use keyway_volume::{OsRandom, Unlocked};

/// The properties of a new keyslot. See [`Header::add_key`] for an example.
#[derive(Debug, Clone, Default)]
pub struct NewKeyslot {
    number: Option<u32>,
    kdf: Option<NewKdf>,
    hash: Option<String>,
    cipher: Option<(String, u32)>,
    in_place: bool,
    empty_passphrase: bool,
}

impl NewKeyslot {
    /// The defaults: the first free number, and two seconds of Argon2id, or of PBKDF2 in LUKS1. See
    /// [`Header::add_key`] for an example.
    pub fn new() -> Self {
        Self::default()
    }

    /// Its number. See [`Header::add_key`] for an example.
    #[must_use]
    pub fn number(mut self, number: u32) -> Self {
        self.number = Some(number);
        self
    }

    /// Its key derivation function. See [`Header::add_key`] for an example.
    #[must_use]
    pub fn kdf(mut self, kdf: NewKdf) -> Self {
        self.kdf = Some(kdf);
        self
    }

    /// The hash that spreads its key over the area's stripes (LUKS2; SHA-256 by default), by its
    /// name in LUKS headers. See [`Header::change_key`] for an example.
    #[must_use]
    pub fn hash(mut self, name: &str) -> Self {
        self.hash = Some(name.to_owned());
        self
    }

    /// The cipher of its area, and that cipher's key length in bits (LUKS2): the data's by default.
    /// See [`Header::change_key`] for an example.
    #[must_use]
    pub fn cipher(mut self, cipher: &str, key_bits: u32) -> Self {
        self.cipher = Some((cipher.to_owned(), key_bits));
        self
    }

    /// Where there is no room for a changed key beside the old one, overwrite the old one, as
    /// cryptsetup does: if that is interrupted, neither passphrase opens the keyslot.
    ///
    /// ```
    /// # use keyway::*;
    /// # let key = Key::passphrase("correct horse");
    /// # let device = Create::luks1().kdf(NewKdf::pbkdf2(1000)).in_memory(4 << 20, &key)?;
    /// let mut header = device.header()?;
    /// let options = NewKeyslot::new().kdf(NewKdf::pbkdf2(1000));
    /// while header.add_key(&key, &key, &options).is_ok() {}
    /// let new = Key::passphrase("battery staple");
    /// assert!(header.change_key(&key, &new, &options).is_err());
    /// assert_eq!(header.change_key(&key, &new, &options.in_place())?, 0);
    /// # Ok::<(), keyway::Error>(())
    /// ```
    #[must_use]
    pub fn in_place(mut self) -> Self {
        self.in_place = true;
        self
    }

    /// Takes an empty passphrase, too, and an empty key file: whoever has the volume opens it.
    ///
    /// ```
    /// # use keyway::*;
    /// # let key = Key::passphrase("correct horse");
    /// # let device = Create::luks2().kdf(NewKdf::pbkdf2(1000)).in_memory(1 << 20, &key)?;
    /// let (mut header, empty) = (device.header()?, Key::passphrase(""));
    /// let options = NewKeyslot::new().kdf(NewKdf::pbkdf2(1000));
    /// let refused = header.add_key(&key, &empty, &options).unwrap_err();
    /// assert_eq!(refused.kind(), &ErrorKind::EmptyPassphrase);
    /// assert_eq!(header.add_key(&key, &empty, &options.allow_empty_passphrase())?, 1);
    /// # Ok::<(), keyway::Error>(())
    /// ```
    #[must_use]
    pub fn allow_empty_passphrase(mut self) -> Self {
        self.empty_passphrase = true;
        self
    }

    /// The passphrase of the new keyslot.
    pub(crate) fn read_new<'a>(&self, key: &'a Key) -> Result<Read<'a>> {
        key.read_new_passphrase(self.empty_passphrase)
    }

    /// The hash, where one was asked for.
    pub(crate) fn hash_name(&self) -> Option<String> {
        self.hash.clone()
    }

    /// The key derivation function, where one was asked for.
    pub(crate) fn kdf_choice(&self) -> Option<keyway_volume::KdfChoice> {
        self.kdf.as_ref().map(NewKdf::choice)
    }

    /// As asked for; what was not said is as in the keyslot `number` of `header`.
    pub(crate) fn like(&self, header: &Header, number: u32) -> AddKey {
        let mut options = self.of(header);
        let keyway_volume::Header::Luks2 { metadata, .. } = header.luks.header() else { return options };
        let Some(KeyslotKind::Luks2 { kdf, af_hash, area_cipher, area_key_size, .. }) =
            metadata.keyslots.get(&number).map(|slot| &slot.kind)
        else {
            return options;
        };
        if self.kdf.is_none() {
            options.kdf = edit::same_cost(kdf);
        }
        options.hash.get_or_insert_with(|| af_hash.clone());
        let is_null = CipherSpec::parse(area_cipher).is_ok_and(|spec| spec.is_null());
        if self.cipher.is_none() && !is_null {
            options.keyslot_cipher = Some(area_cipher.clone());
            options.keyslot_key_bits = Some(8 * area_key_size);
        }
        options
    }

    fn of(&self, header: &Header) -> AddKey {
        let version = header.luks.version();
        AddKey {
            keyslot: self.number,
            kdf: self.kdf.clone().unwrap_or_else(|| NewKdf::default_of(version)).choice(),
            hash: self.hash.clone(),
            keyslot_cipher: self.cipher.as_ref().map(|(name, _)| name.clone()),
            keyslot_key_bits: self.cipher.as_ref().map(|(_, bits)| *bits),
            weak_cipher_too: header.options.terms().weak_ciphers,
            in_place: self.in_place,
        }
    }
}

/// What to do with the last keyslot that opens the data. See [`Header::kill_keyslot`] for an
/// example.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LastKeyslot {
    /// Keep it, and fail with [`ErrorKind::LastKeyslot`].
    Keep,
    /// Kill it: the data is lost.
    Kill,
}

impl Header {
    /// Adds a keyslot that `new` opens, and returns its number. `existing` is a key that opens the
    /// volume now.
    ///
    /// ```
    /// # use keyway::*;
    /// # let old = Key::passphrase("correct horse");
    /// # let device = Create::luks2().kdf(NewKdf::pbkdf2(1000)).in_memory(1 << 20, &old)?;
    /// let new = Key::passphrase("battery staple");
    /// let mut header = device.header()?;
    /// let options = NewKeyslot::new().number(7).kdf(NewKdf::argon2id_forced(4, 1024, 1));
    /// assert_eq!(header.add_key(&old, &new, &options)?, 7);
    /// assert_eq!(device.unlock(&new)?.keyslot(), Some(7));
    /// # Ok::<(), keyway::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`Header::try_key`]; there is no such keyslot number or no room;
    /// [`ErrorKind::EmptyPassphrase`]; [`ErrorKind::ReadOnly`].
    pub fn add_key(&mut self, existing: &Key, new: &Key, options: &NewKeyslot) -> Result<u32> {
        self.check_writable()?;
        let found = self.try_key(existing)?;
        self.add_key_with(&found, new, options)
    }

    /// [`Header::add_key`] with the volume key that [`Header::try_key`] found here, for programs
    /// that ask for one passphrase after the other.
    ///
    /// ```
    /// # use keyway::*;
    /// # let old = Key::passphrase("correct horse");
    /// # let device = Create::luks2().kdf(NewKdf::pbkdf2(1000)).in_memory(1 << 20, &old)?;
    /// let mut header = device.header()?;
    /// header.check()?;
    /// let found = header.try_key(&old)?;
    /// println!("Keyslot {:?} is open. The new passphrase?", found.keyslot());
    /// let new = Key::passphrase("battery staple");
    /// header.add_key_with(&found, &new, &NewKeyslot::new().kdf(NewKdf::pbkdf2(1000)))?;
    /// assert_eq!(device.unlock(&new)?.keyslot(), Some(1));
    /// # Ok::<(), keyway::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`ErrorKind::WrongVolumeKey`] for a key that was found elsewhere, and those of
    /// [`Header::add_key`].
    pub fn add_key_with(&mut self, found: &VolumeKey, new: &Key, options: &NewKeyslot) -> Result<u32> {
        self.check_writable()?;
        self.check_own(found)?;
        let (options, new) = (options.of(self), options.read_new(new).at(&self.place)?);
        edit::add_key(&mut self.luks, &found.secret, &new, &options, &mut OsRandom).at(&self.place)
    }

    /// Adds a keyslot that holds a key of the caller's own, which opens no data (LUKS2), and
    /// returns its number. No existing key is needed.
    ///
    /// ```
    /// # use keyway::*;
    /// # let key = Key::passphrase("correct horse");
    /// # let device = Create::luks2().kdf(NewKdf::pbkdf2(1000)).in_memory(1 << 20, &key)?;
    /// let mut header = device.header()?;
    /// let (own, opens_it) = (Secret::copy_from(&[7; 32]), Key::passphrase("battery staple"));
    /// header.add_unbound_key(&own, &opens_it, &NewKeyslot::new().kdf(NewKdf::pbkdf2(1000)))?;
    /// assert_eq!(header.keyslots()[1].state, KeyslotState::Unbound);
    /// assert_eq!(header.try_keyslot(&opens_it)?.expose().expose(), [7; 32]);
    /// assert!(device.unlock(&opens_it).is_err());
    /// # Ok::<(), keyway::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`Header::add_key`]; the header is LUKS1.
    pub fn add_unbound_key(&mut self, unbound: &Secret, new: &Key, options: &NewKeyslot) -> Result<u32> {
        self.check_writable()?;
        let (options, new) = (options.of(self), options.read_new(new).at(&self.place)?);
        edit::add_unbound_key(&mut self.luks, unbound, &new, &options, &mut OsRandom).at(&self.place)
    }

    /// Replaces the passphrase of the keyslot that `old` opens, and returns its number afterwards.
    /// The new key is written before the old one is removed.
    ///
    /// ```
    /// # use keyway::*;
    /// # let old = Key::passphrase("correct horse");
    /// # let device = Create::luks2().kdf(NewKdf::pbkdf2(1000)).in_memory(1 << 20, &old)?;
    /// let new = Key::passphrase("battery staple");
    /// let options = NewKeyslot::new().kdf(NewKdf::pbkdf2(2000)).hash("sha512");
    /// device.header()?.change_key(&old, &new, &options.cipher("serpent-xts-plain64", 512))?;
    /// assert_eq!(device.unlock(&old).unwrap_err().kind(), &ErrorKind::WrongPassphrase);
    /// device.unlock(&new)?;
    /// # Ok::<(), keyway::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`Header::add_key`]; there is no room for the new key beside the old one, and
    /// [`NewKeyslot::in_place`] is not wanted.
    pub fn change_key(&mut self, old: &Key, new: &Key, options: &NewKeyslot) -> Result<u32> {
        self.check_writable()?;
        let found = self.try_keyslot(old)?;
        self.change_key_with(found, new, options)
    }

    /// Whether there is room for a changed key beside the one that was found: without it,
    /// [`Header::change_key_with`] refuses, or, with [`NewKeyslot::in_place`], overwrites the old key.
    ///
    /// ```
    /// # use keyway::*;
    /// # let key = Key::passphrase("correct horse");
    /// # let device = Create::luks1().kdf(NewKdf::pbkdf2(1000)).in_memory(4 << 20, &key)?;
    /// let mut header = device.header()?;
    /// let options = NewKeyslot::new().kdf(NewKdf::pbkdf2(1000));
    /// let found = header.try_keyslot(&key)?;
    /// assert!(header.has_room_to_change(&found));
    /// while header.add_key(&key, &key, &options).is_ok() {}
    /// assert!(!header.has_room_to_change(&found));
    /// # Ok::<(), keyway::Error>(())
    /// ```
    pub fn has_room_to_change(&self, found: &VolumeKey) -> bool {
        edit::has_room(&self.luks, &found.secret)
    }

    /// [`Header::change_key`] with the key that [`Header::try_keyslot`] found here. See
    /// [`Header::add_key_with`] for an example.
    ///
    /// # Errors
    /// [`ErrorKind::WrongVolumeKey`] for a key that was found elsewhere, and those of
    /// [`Header::change_key`].
    pub fn change_key_with(&mut self, found: VolumeKey, new: &Key, options: &NewKeyslot) -> Result<u32> {
        let (options, new) = (options.of(self), options.read_new(new).at(&self.place)?);
        let unlocked = self.own_keyslot(found)?;
        edit::change_key(&mut self.luks, &unlocked, &new, &options, &mut OsRandom).at(&self.place)
    }

    /// Gives the keyslot that `key` opens another key derivation function or cipher, for the same
    /// passphrase and under the same number (LUKS2), and returns the number.
    ///
    /// ```
    /// # use keyway::*;
    /// # let key = Key::passphrase("correct horse");
    /// # let device = Create::luks2().kdf(NewKdf::pbkdf2(1000)).in_memory(1 << 20, &key)?;
    /// let mut header = device.header()?;
    /// header.convert_key(&key, &NewKeyslot::new().kdf(NewKdf::argon2id_forced(4, 1024, 1)))?;
    /// assert!(matches!(header.keyslots()[0].kdf, Kdf::Argon2 { passes: 4, .. }));
    /// device.unlock(&key)?;
    /// # Ok::<(), keyway::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`Header::change_key`]; the header is LUKS1.
    pub fn convert_key(&mut self, key: &Key, options: &NewKeyslot) -> Result<u32> {
        self.check_writable()?;
        let (options, passphrase) = (options.of(self), key.read_passphrase().at(&self.place)?);
        let found = self.try_passphrase(&passphrase)?;
        let unlocked = self.own_keyslot(found)?;
        edit::convert_key(&mut self.luks, &unlocked, &passphrase, &options, &mut OsRandom).at(&self.place)
    }

    /// Overwrites a keyslot's key material, then removes the keyslot from the header. No key is
    /// needed: a user with write access to the device could destroy the keyslot anyway. Call
    /// [`Header::prove_another_key`] first, so that users do not lock themselves out.
    ///
    /// ```
    /// # use keyway::*;
    /// # let key = Key::passphrase("correct horse");
    /// # let device = Create::luks2().kdf(NewKdf::pbkdf2(1000)).in_memory(1 << 20, &key)?;
    /// let mut header = device.header()?;
    /// let error = header.kill_keyslot(0, LastKeyslot::Keep).unwrap_err();
    /// assert_eq!(error.kind(), &ErrorKind::LastKeyslot { keyslot: 0 });
    /// device.unlock(&key)?;
    /// header.kill_keyslot(0, LastKeyslot::Kill)?;
    /// assert_eq!(device.unlock(&key).unwrap_err().kind(), &ErrorKind::NoUsableKeyslot);
    /// # Ok::<(), keyway::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`ErrorKind::LastKeyslot`]; there is no such keyslot; [`ErrorKind::ReadOnly`].
    pub fn kill_keyslot(&mut self, number: u32, last: LastKeyslot) -> Result<()> {
        self.check_writable()?;
        match last {
            LastKeyslot::Keep => edit::kill_slot_but_last(&mut self.luks, number, &mut OsRandom),
            LastKeyslot::Kill => edit::kill_slot(&mut self.luks, number, &mut OsRandom),
        }
        .at(&self.place)
    }

    /// Checks that `key` still opens the data without keyslot `number`; if that is the last
    /// keyslot, checks that `key` opens it. Returns the number of the keyslot that `key` opens.
    ///
    /// ```
    /// # use keyway::*;
    /// # let key = Key::passphrase("correct horse");
    /// # let device = Create::luks2().kdf(NewKdf::pbkdf2(1000)).in_memory(1 << 20, &key)?;
    /// let mut header = device.header()?;
    /// let other = Key::passphrase("battery staple");
    /// header.add_key(&key, &other, &NewKeyslot::new().kdf(NewKdf::pbkdf2(1000)))?;
    /// assert!(header.prove_another_key(0, &key).is_err());
    /// assert_eq!(header.prove_another_key(0, &other)?, 1);
    /// header.kill_keyslot(0, LastKeyslot::Keep)?;
    /// # Ok::<(), keyway::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`ErrorKind::WrongPassphrase`].
    pub fn prove_another_key(&self, number: u32, key: &Key) -> Result<u32> {
        let passphrase = key.read_passphrase().at(&self.place)?;
        edit::prove_another_key(&self.luks, number, &passphrase, &self.options.options()).at(&self.place)
    }

    /// Kills every keyslot: without a header backup the data is lost for good. See
    /// [`Header::kill_keyslot`] for an example.
    ///
    /// # Errors
    /// [`ErrorKind::ReadOnly`]; writing fails.
    pub fn erase(&mut self) -> Result<()> {
        self.check_writable()?;
        edit::erase(&mut self.luks, &mut OsRandom).at(&self.place)
    }

    /// The keyslot that a key was found in, for its edit.
    fn own_keyslot(&self, found: VolumeKey) -> Result<Unlocked> {
        self.check_writable()?;
        self.check_own(&found)?;
        let VolumeKey { secret, digest, keyslot, .. } = found;
        let keyslot = keyslot.ok_or_else(|| {
            Error::refused("give the passphrase to change: a volume key belongs to no keyslot")
                .at(&self.place)
        })?;
        Ok(Unlocked { keyslot, digest, volume_key: secret })
    }

    pub(crate) fn check_own(&self, found: &VolumeKey) -> Result<()> {
        match found.is_of(&self.mark) {
            true => Ok(()),
            false => Err(Error::new(ErrorKind::WrongVolumeKey).at(&self.place)),
        }
    }
}
