//! What a new protector asks for: a passphrase, or a recovery password of random digits.

use super::time::now;
use super::unlock::stretched;
use crate::random::random_bytes;
use crate::{Random, Refusal, Result, UnlockOptions};
use keyway_crypto::{Cpu, Secret, Stop};
use keyway_format::bitlk::{
    Guid, NewProtector, Nonces, Protection, RecoveryPassword, passphrase_digest, recovery_digest,
    recovery_text,
};
use std::fmt;

/// A recovery password, as the 16 bytes that it stands for.
pub struct RecoveryKey(Secret);

impl RecoveryKey {
    /// A new one.
    ///
    /// # Errors
    /// No random bytes.
    pub fn random(rng: &mut dyn Random) -> Result<Self> {
        let mut key = Secret::zeroed(16);
        rng.fill(key.expose_mut())?;
        Ok(Self(key))
    }

    /// Its 48 digits, in eight groups.
    pub fn text(&self) -> Secret {
        recovery_text(&self.0)
    }
}

impl fmt::Debug for RecoveryKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("RecoveryKey(…)")
    }
}

/// What is to open a volume.
#[derive(Clone, Copy)]
pub enum NewKey<'a> {
    /// A passphrase.
    Passphrase(&'a Secret),
    /// A recovery password.
    Recovery(&'a RecoveryKey),
}

impl NewKey<'_> {
    /// What its protector asks for.
    pub(super) fn protection(self) -> Protection {
        match self {
            Self::Passphrase(_) => Protection::Passphrase,
            Self::Recovery(_) => Protection::RecoveryPassword,
        }
    }

    /// Stretches it, with a salt of its own.
    ///
    /// # Errors
    /// [`Refused`](crate::Error::Refused): Windows takes no such passphrase; no random bytes; a stop.
    pub(super) fn stretched(self, rng: &mut dyn Random, options: &UnlockOptions) -> Result<Stretched> {
        let (digest, recovery) = match self {
            Self::Passphrase(text) => (checked_digest(text)?, None),
            Self::Recovery(RecoveryKey(key)) => (recovery_digest(key), Some(Secret::copy_from(key.expose()))),
        };
        let (salt, never) = (random_bytes(rng)?, Stop::new());
        let key = stretched(&digest, &salt, options.stop.as_deref().unwrap_or(&never))?;
        Ok(Stretched { guid: Guid::of_random(random_bytes(rng)?), salt, key, recovery })
    }
}

/// A protector that lacks the master key.
pub(super) struct Stretched {
    guid: Guid,
    salt: [u8; 16],
    key: Secret,
    recovery: Option<Secret>,
}

impl Stretched {
    /// Its entry in the metadata.
    pub(super) fn entry(&self, master_key: &Secret, nonces: &mut Nonces) -> Result<Vec<u8>> {
        let new = NewProtector {
            guid: self.guid,
            changed: now(),
            salt: self.salt,
            stretched: &self.key,
            recovery: self.recovery.as_ref(),
        };
        Ok(new.entry(master_key, nonces, Cpu::detect())?)
    }
}

/// The digest of a passphrase, unless Windows does not take it.
fn checked_digest(text: &Secret) -> Result<Secret> {
    let refused = |why: &str| Err(Refusal::Unusable.because(why));
    let Some(digest) = passphrase_digest(text) else {
        return refused("the passphrase is not UTF-8, as BitLocker requires");
    };
    let units = str::from_utf8(text.expose()).map_or(0, |text| text.encode_utf16().count());
    if !LENGTHS.contains(&units) {
        return Err(Refusal::Unusable.because(format!(
            "the passphrase has {units} characters, and Windows takes {} to {}",
            LENGTHS.start(),
            LENGTHS.end()
        )));
    }
    match RecoveryPassword::parse(text) {
        RecoveryPassword::Not => Ok(digest),
        _ => refused("the passphrase looks like a recovery password, and would be taken for one"),
    }
}

/// Characters that Windows takes, unless its administrator wants more.
const LENGTHS: std::ops::RangeInclusive<usize> = 8..=256;
