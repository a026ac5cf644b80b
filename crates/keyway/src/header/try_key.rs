//! Tries keys on a header, before one of its edits.

use super::{Header, VolumeKey};
use crate::error::At;
use crate::volume_key::find_key;
use crate::{Key, Result};
use keyway_crypto::Secret;
use keyway_volume::UnlockOptions;
use keyway_volume::trust::admission;
use std::sync::Arc;

impl Header {
    /// Makes all checks that are possible before asking for a key: this build understands the
    /// header, its seal matches, and it meets the caller's policies
    /// ([`Device::header_with`](crate::Device::header_with)) as far as the header can show. Edits
    /// check again, each as much as concerns it: removing keyslots does not look at the seal. See
    /// [`Header::add_key_with`] for an example.
    ///
    /// # Errors
    /// [`ErrorKind::Unsupported`](crate::ErrorKind::Unsupported),
    /// [`ErrorKind::Policy`](crate::ErrorKind::Policy).
    pub fn check(&self) -> Result<()> {
        self.luks.check_seal().at(&self.place)?;
        admission::check_header(&self.luks, self.options.terms()).at(&self.place)?;
        self.luks.check_requirements().at(&self.place)
    }

    /// Finds the volume key, which authorizes edits, after [`Header::check`]. Policies that concern
    /// the key are checked, too. See [`Header::add_key_with`] for an example.
    ///
    /// # Errors
    /// [`ErrorKind::WrongPassphrase`](crate::ErrorKind::WrongPassphrase),
    /// [`ErrorKind::WrongVolumeKey`](crate::ErrorKind::WrongVolumeKey), and those of
    /// [`Header::check`]; keyslots exceed the [`Limits`](crate::Limits).
    pub fn try_key(&self, key: &Key) -> Result<VolumeKey> {
        self.try_on(key, &self.options.options())
    }

    /// [`Header::try_key`] on one keyslot only. See [`Header::add_key_with`] for an example.
    ///
    /// # Errors
    /// Those of [`Header::try_key`].
    pub fn try_key_on(&self, keyslot: u32, key: &Key) -> Result<VolumeKey> {
        self.try_on(key, &UnlockOptions { keyslot: Some(keyslot), ..self.options.options() })
    }

    /// [`Header::try_key`], which also opens keyslots that hold no volume key. See
    /// [`Header::add_unbound_key`] for an example.
    ///
    /// # Errors
    /// Those of [`Header::try_key`].
    pub fn try_keyslot(&self, key: &Key) -> Result<VolumeKey> {
        self.try_on(key, &UnlockOptions { unbound_too: true, ..self.options.options() })
    }

    /// [`Header::try_keyslot`] with a passphrase that was read already.
    pub(super) fn try_passphrase(&self, passphrase: &Secret) -> Result<VolumeKey> {
        self.check()?;
        let options = UnlockOptions { unbound_too: true, ..self.options.options() };
        self.own(keyway_volume::unlock(&self.luks, passphrase, &options).at(&self.place)?.into())
    }

    fn try_on(&self, key: &Key, options: &UnlockOptions) -> Result<VolumeKey> {
        self.check()?;
        self.own(find_key(&self.luks, key, options).at(&self.place)?)
    }

    /// The key, as one that was found here, if policies accept it.
    fn own(&self, found: VolumeKey) -> Result<VolumeKey> {
        let terms = self.options.terms();
        admission::check_key(&self.luks, None, terms, &found.secret, found.digest).at(&self.place)?;
        Ok(found.owned_by(Arc::clone(&self.mark)))
    }
}
