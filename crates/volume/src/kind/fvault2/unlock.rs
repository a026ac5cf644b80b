//! From a passphrase to the volume key. Every user's keys are tried; a user is a passphrase, and most volumes have one.

use super::VOLUME_KEY_LEN;
use crate::kind::Key;
use crate::{Error, Refusal, Result, UnlockOptions};
use keyway_crypto::kdf::pbkdf2;
use keyway_crypto::{Cpu, Hash, Secret, Stop};
use keyway_format::fvault2::{LogicalVolume, User, volume_key};

/// Finds the volume key.
///
/// # Errors
/// [`Error::WrongPassphrase`], [`Error::WrongVolumeKey`]; the passphrase is right, and the volume key damaged.
pub(super) fn unlock(logical: &LogicalVolume, key: Key<'_>, options: &UnlockOptions) -> Result<Secret> {
    let text = match key {
        Key::Volume(key) if key.len() == VOLUME_KEY_LEN => return Ok(Secret::copy_from(key.expose())),
        Key::Volume(_) => return Err(Error::WrongVolumeKey),
        Key::Passphrase(text) | Key::File(text) => text,
    };
    for (number, user) in logical.users.iter().enumerate() {
        if options.keyslot.is_none_or(|chosen| chosen as usize == number)
            && let Some(key) = opened_by(user, text, options)?
        {
            return unwrapped(logical, user, &key);
        }
    }
    Err(Error::WrongPassphrase)
}

/// The key that a user's passphrase opens, if this is it.
fn opened_by(user: &User, text: &Secret, options: &UnlockOptions) -> Result<Option<Secret>> {
    let never = Stop::new();
    let stop = options.stop.as_deref().unwrap_or(&never);
    let mut derived = Secret::zeroed(16);
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
