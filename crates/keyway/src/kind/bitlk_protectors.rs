//! Protectors of BitLocker volumes: what opens them is added and removed.

use crate::create::claim;
use crate::error::At;
use crate::{Key, Limits, Location, Result};
use keyway_crypto::Secret;
use keyway_volume::kind;
use keyway_volume::kind::bitlk::{NewKey, Opened, RecoveryKey};
use keyway_volume::{OsRandom, Random, Storage, UnlockOptions};
use std::fmt;
use std::sync::Arc;

/// A recovery password for a BitLocker volume: 48 digits, of random bytes. Whoever has them opens the volume. See
/// [`BitlkProtectors`] for an example.
#[derive(Clone)]
pub struct RecoveryPassword(Arc<RecoveryKey>);

impl RecoveryPassword {
    /// A new one, from the system's random numbers. See [`BitlkProtectors`] for an example.
    ///
    /// # Errors
    /// The system has no random numbers.
    pub fn random() -> Result<Self> {
        Ok(Self(Arc::new(RecoveryKey::random(&mut OsRandom)?)))
    }

    /// Its eight groups of six digits, to be shown once and kept by its owner.
    ///
    /// ```
    /// # use keyway::RecoveryPassword;
    /// let text = RecoveryPassword::random()?.text();
    /// assert_eq!(text.expose().split(|byte| *byte == b'-').map(<[u8]>::len).collect::<Vec<_>>(), [6; 8]);
    /// # Ok::<(), keyway::Error>(())
    /// ```
    pub fn text(&self) -> Secret {
        self.0.text()
    }

    /// What it opens a volume as. See [`BitlkProtectors`] for an example.
    pub fn key(&self) -> Key {
        Key::Passphrase(self.text())
    }

    pub(crate) fn key_bytes(&self) -> &RecoveryKey {
        &self.0
    }
}

impl fmt::Debug for RecoveryPassword {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("RecoveryPassword(…)")
    }
}

/// A BitLocker volume of Windows' or of ours that was opened to change what opens it. Its data and its keys stay what
/// they are. Each change writes the three copies of the metadata one after the other: a cut at any time leaves a volume
/// that opens by the old protectors or the new ones.
///
/// ```
/// # use keyway::*;
/// # let path = std::env::temp_dir().join(format!("keyway-bitlk-protectors-{}", std::process::id()));
/// let (key, recovery) = (Key::passphrase("correct horse"), RecoveryPassword::random()?);
/// NewBitlk::new().quick().size(2 << 20).create(&path, &key)?;
/// let limits = Limits::new();
/// BitlkProtectors::open(&path, &key, &limits)?.add_recovery_password(&recovery)?;
///
/// // Windows takes one passphrase: another one replaces it.
/// let other = Key::passphrase("battery staple");
/// BitlkProtectors::open(&path, &recovery.key(), &limits)?.replace_passphrase(&other)?;
///
/// let opened = BitlkProtectors::open(&path, &recovery.key(), &limits)?;
/// let number = opened.opened_by();
/// opened.remove(number)?;
/// let last = BitlkProtectors::open(&path, &other, &limits)?.remove(0).unwrap_err();
/// assert!(last.to_string().contains("is the last that opens the volume"));
/// # std::fs::remove_file(&path)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct BitlkProtectors {
    opened: Opened,
    limits: Limits,
}

impl BitlkProtectors {
    /// Opens the volume to change its protectors, and claims it until that is done. Where a change was cut off, its copies
    /// of the metadata become the same first, and that is an error: protectors may have other numbers now. See
    /// [`BitlkProtectors`] for an example.
    ///
    /// # Errors
    /// [`ErrorKind::WrongPassphrase`](crate::ErrorKind::WrongPassphrase); [`ErrorKind::InUse`](crate::ErrorKind::InUse);
    /// [`ErrorKind::Refused`](crate::ErrorKind::Refused): only Windows changes those of such a volume, or a change was cut
    /// off.
    pub fn open(location: impl Into<Location>, key: &Key, limits: &Limits) -> Result<Self> {
        let location = location.into();
        claim(&location).and_then(|claimed| Self::new(Arc::clone(&claimed), key, limits)).at(&location)
    }

    /// The same on `storage`, which the caller has claimed.
    ///
    /// ```
    /// # use keyway::{BitlkProtectors, Key, Limits, NewBitlk, storage::Memory};
    /// # use keyway_volume::device::stream::Meter;
    /// # use std::sync::Arc;
    /// let (disk, key) = (Arc::new(Memory::zeroed(2 << 20)), Key::passphrase("correct horse"));
    /// NewBitlk::new().create_on(&*disk, &key, &Meter::new())?;
    /// assert!(BitlkProtectors::check(&*disk)?, "no change was cut off");
    /// let opened = BitlkProtectors::on(disk, &key, &Limits::new())?;
    /// opened.replace_passphrase(&Key::passphrase("battery staple"))?;
    /// # Ok::<(), keyway::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`BitlkProtectors::open`].
    #[cfg(feature = "parts")]
    pub fn on(storage: Arc<dyn Storage>, key: &Key, limits: &Limits) -> Result<Self> {
        Self::new(storage, key, limits)
    }

    /// Refuses a volume whose protectors only Windows changes, before a key is asked for. `false`: a change was cut off,
    /// and the next key that opens the volume makes its copies of the metadata the same. See [`BitlkProtectors::on`] for
    /// an example.
    ///
    /// # Errors
    /// [`ErrorKind::Refused`](crate::ErrorKind::Refused).
    #[cfg(feature = "parts")]
    pub fn check(storage: &dyn Storage) -> Result<bool> {
        Ok(Opened::check(storage)?.is_whole())
    }

    fn new(storage: Arc<dyn Storage>, key: &Key, limits: &Limits) -> Result<Self> {
        let secret = key.read_passphrase()?;
        let of_file = matches!(key, Key::KeyFile(_));
        let given = if of_file { kind::Key::File(&secret) } else { kind::Key::Passphrase(&secret) };
        let opened = Opened::open(storage, given, &limits.options())?;
        Ok(Self { opened, limits: limits.clone() })
    }

    /// The number of the protector that opened it. See [`BitlkProtectors`] for an example.
    pub fn opened_by(&self) -> usize {
        self.opened.protector()
    }

    /// Adds a passphrase, of 8 to 256 characters, and returns the number of its protector. See [`BitlkProtectors`] for an
    /// example.
    ///
    /// # Errors
    /// [`ErrorKind::Refused`](crate::ErrorKind::Refused): a volume has one at most, or Windows takes no such passphrase;
    /// [`ErrorKind::EmptyPassphrase`](crate::ErrorKind::EmptyPassphrase).
    pub fn add_passphrase(self, key: &Key) -> Result<usize> {
        self.add(NewKey::Passphrase(&*key.read_new_passphrase(false)?), false)
    }

    /// Puts a passphrase in the place of the one that there is, or adds it. See [`BitlkProtectors`] for an example.
    ///
    /// # Errors
    /// Those of [`BitlkProtectors::add_passphrase`].
    pub fn replace_passphrase(self, key: &Key) -> Result<usize> {
        self.add(NewKey::Passphrase(&*key.read_new_passphrase(false)?), true)
    }

    /// Adds a recovery password, and returns the number of its protector. See [`BitlkProtectors`] for an example.
    ///
    /// # Errors
    /// [`ErrorKind::Refused`](crate::ErrorKind::Refused): the metadata are full.
    pub fn add_recovery_password(self, password: &RecoveryPassword) -> Result<usize> {
        self.add(NewKey::Recovery(password.key_bytes()), false)
    }

    /// Removes a protector by its number. Who has a copy of the metadata from before still opens the volume by it. See
    /// [`BitlkProtectors`] for an example.
    ///
    /// # Errors
    /// [`ErrorKind::Refused`](crate::ErrorKind::Refused): there is none, only Windows removes it, or nothing that can be
    /// given on any machine would be left.
    pub fn remove(self, number: usize) -> Result<()> {
        Ok(self.opened.remove(number, &mut OsRandom)?)
    }

    fn add(self, key: NewKey<'_>, replaces: bool) -> Result<usize> {
        let costs: (&mut dyn Random, &UnlockOptions) = (&mut OsRandom, &self.limits.options());
        Ok(self.opened.add(key, replaces, costs)?)
    }
}

impl fmt::Debug for BitlkProtectors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BitlkProtectors").field("opened_by", &self.opened_by()).finish_non_exhaustive()
    }
}
