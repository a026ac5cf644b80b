//! From a passphrase to the volume key. Every user's keys are tried; a user is a passphrase, and most volumes have one.

use super::VOLUME_KEY_LEN;
use crate::kind::Key;
use crate::kind::cost::Limits;
use crate::{Error, Refusal, Result, UnlockOptions};
use keyway_crypto::kdf::pbkdf2;
use keyway_crypto::{Cpu, Hash, Secret, Stop};
use keyway_format::fvault2::{LogicalVolume, User, volume_key};

/// Finds the volume key. One that is given is taken if its second half is what this volume makes of the first.
///
/// # Errors
/// [`Error::WrongPassphrase`], [`Error::WrongVolumeKey`]; the passphrase is right, and the volume key damaged;
/// [`Error::KdfTime`]: no passphrase that was tried is right, and some were not tried.
pub(super) fn unlock(logical: &LogicalVolume, key: Key<'_>, options: &UnlockOptions) -> Result<Secret> {
    let text = match key {
        Key::Volume(key) => return vouched_for(logical, key),
        Key::Passphrase(text) | Key::File(text) => text,
    };
    let (mut limits, mut trouble) = (Limits::new(options), None);
    for (number, user) in logical.users.iter().enumerate() {
        if options.keyslot.is_some_and(|chosen| chosen as usize != number) {
            continue;
        }
        let name = || format!("PBKDF2 of user {number}");
        if let Err(error) = limits.check_pbkdf2(name, Hash::Sha256, user.iterations, DERIVED_LEN) {
            trouble.get_or_insert(error);
        } else if let Some(key) = opened_by(user, text, options)? {
            return unwrapped(logical, user, &key);
        }
    }
    Err(trouble.unwrap_or(Error::WrongPassphrase))
}

/// The key, if it is one of this family of volumes.
fn vouched_for(logical: &LogicalVolume, key: &Secret) -> Result<Secret> {
    if key.len() == VOLUME_KEY_LEN {
        let own = volume_key(&Secret::copy_from(&key.expose()[..VOLUME_KEY_LEN / 2]), logical.family);
        if own.ct_eq(key.expose()) {
            return Ok(own);
        }
    }
    Err(Error::WrongVolumeKey)
}

/// The key that a user's passphrase opens, if this is it.
fn opened_by(user: &User, text: &Secret, options: &UnlockOptions) -> Result<Option<Secret>> {
    let never = Stop::new();
    let stop = options.stop.as_deref().unwrap_or(&never);
    let mut derived = Secret::zeroed(DERIVED_LEN);
    pbkdf2(Hash::Sha256, text.expose(), &user.salt, user.iterations, derived.expose_mut(), stop)?;
    Ok(user.unwrap(&derived, Cpu::detect()))
}

/// The volume key that is wrapped under the user's key.
fn unwrapped(logical: &LogicalVolume, user: &User, key: &Secret) -> Result<Secret> {
    let own = logical.keys.iter().filter(|wrapped| wrapped.key == user.key);
    let wrapped = own.filter_map(|wrapped| wrapped.unwrap(key, Cpu::detect())).next_back();
    let wrapped = wrapped.ok_or_else(|| {
        Refusal::Unusable
            .because("the passphrase is right, but the volume key in the metadata is damaged or missing")
    })?;
    Ok(volume_key(&wrapped, logical.family))
}

/// The bytes that PBKDF2 derives.
pub(super) const DERIVED_LEN: usize = 16;
