//! Kinds of volume without a LUKS header: the caller says what they are.

use crate::admitted::Judged;
use crate::error::At;
use crate::{Admitted, Device, Error, ErrorKind, Key, Result, Unlock, Volume};
use keyway_volume::kind::{self, Subject};

mod bitlk;
mod bitlk_protectors;
mod fvault2;
mod loopaes;
mod plain;
mod tcrypt;
mod tcrypt_header;

pub use bitlk::Bitlk;
pub use bitlk_protectors::{BitlkProtectors, RecoveryPassword};
pub use fvault2::Fvault2;
pub use loopaes::LoopAes;
pub use plain::Plain;
pub use tcrypt::Tcrypt;
pub use tcrypt_header::{NewTcryptKey, TcryptHeader, TcryptRestore};

/// A kind of volume that does not say by a LUKS header what it is: [`Plain`], [`Tcrypt`], [`Bitlk`], [`Fvault2`],
/// [`LoopAes`].
///
/// ```
/// # use keyway::*;
/// # use std::sync::Arc;
/// # let device = Device::from_storage(Arc::new(storage::Memory::zeroed(1 << 20)));
/// # let key = Key::passphrase("correct horse");
/// let kind: &dyn Kind = &Plain::new("aes-xts-plain64", 512)?;
/// assert_eq!(device.unlock_as(kind, &key, &Unlock::new())?.len(), 1 << 20);
/// # Ok::<(), keyway::Error>(())
/// ```
pub trait Kind: sealed::Described {}

pub(crate) mod sealed {
    /// What this kind is to the crates below.
    pub trait Described {
        fn described(&self) -> &dyn keyway_volume::kind::Kind;
    }
}

impl Device {
    /// Unlocks it as a volume of this kind, after all the checks that [`Device::admit_as`] lists.
    /// See [`Kind`] for an example.
    ///
    /// # Errors
    /// Those of [`Device::admit_as`], [`Admitted::try_key`] and [`Admitted::open`].
    pub fn unlock_as(&self, kind: &dyn Kind, key: &Key, options: &Unlock) -> Result<Volume> {
        self.admit_as(kind, options)?.unlock(key)
    }

    /// Makes all checks that are possible before asking for a key, and claims the data. In this
    /// order:
    ///
    /// 1. Nobody else uses the data, as for [`Device::admit`].
    /// 2. Nothing is demanded that only a LUKS header could meet.
    /// 3. There may be such a volume: what is known of it by now is within the device, and its cipher,
    ///    if it is known by now, is not weak ([`Unlock::weak_ciphers`]).
    /// 4. A plain or loop-AES volume that can be written is not over something else that is known
    ///    ([`Plain::overwrite`]); the others prove themselves by their headers.
    ///
    /// ```
    /// # use keyway::*;
    /// # let key = Key::passphrase("correct horse");
    /// # let device = Create::luks2().kdf(NewKdf::pbkdf2(1000)).in_memory(1 << 20, &key)?;
    /// let plain = Plain::new("aes-xts-plain64", 512)?;
    /// let error = device.admit_as(&plain, &Unlock::new()).unwrap_err();
    /// assert_eq!(error.kind(), &ErrorKind::Exists);
    /// let admitted = device.admit_as(&plain, &Unlock::new().read_only())?;
    /// assert_eq!((admitted.kind(), admitted.volume_key_len()), ("PLAIN", Some(64)));
    /// assert!(admitted.try_without_key()?.is_none());
    /// let volume = admitted.unlock(&key)?;
    /// # Ok::<(), keyway::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`ErrorKind::InUse`], [`ErrorKind::Policy`], [`ErrorKind::Refused`], [`ErrorKind::Exists`].
    pub fn admit_as(&self, kind: &dyn Kind, options: &Unlock) -> Result<Admitted> {
        self.admit_kind(kind.described(), options)
    }

    pub(crate) fn admit_kind(&self, kind: &dyn kind::Kind, options: &Unlock) -> Result<Admitted> {
        let data = self.claim(options)?;
        let terms = options.terms();
        if !terms.policies.is_empty() || terms.seal_context.is_some() {
            return Err(Error::new(ErrorKind::Policy { rule: "header" }).at(self.place()));
        }
        let device = self.place().to_string();
        let (writes, weak_ciphers) = (self.writes_ever(options), terms.weak_ciphers);
        let judged = kind.judge(&Subject { data: &data, device: &device, writes, weak_ciphers });
        Ok(self.admitted(Judged::Other(kind.row(), judged.at(self.place())?), data, options))
    }
}
