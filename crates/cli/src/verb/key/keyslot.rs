//! What every command that writes a keyslot needs: its KDF and
//! encryption from the command line, and a free number.

use crate::door::{Args, shared};
use crate::make::{header, kdf};
use crate::say::failure::{Exit, Failure, Result};
use crate::unlock::admission;
use keyway_volume::edit::AddKey;
use keyway_volume::{Header, Luks};

/// KDF, hash and encryption of a new keyslot in `luks`; no number.
pub(super) fn options(args: &Args, luks: &Luks) -> Result<AddKey> {
    header::check_keyslot_encryption(args)?;
    if luks.version() == 1 && args.given(&shared::KEYSLOT_CIPHER) {
        let message = "Keyslot encryption parameters can be set only for LUKS2 device.";
        return Err(Failure::new(Exit::Parameters, message));
    }
    let hash = args.text(&shared::HASH);
    let default_hash = match luks.header() {
        Header::Luks1(header) => header.hash_spec.as_str(),
        Header::Luks2 { .. } => kdf::DEFAULT_HASH,
    };
    Ok(AddKey {
        keyslot: None,
        kdf: kdf::choice(args, luks.version(), hash.unwrap_or(default_hash))?,
        hash: hash.map(str::to_owned),
        weak_cipher_too: admission::takes_weak_ciphers(args),
        keyslot_cipher: args.text(&shared::KEYSLOT_CIPHER).map(str::to_owned),
        keyslot_key_bits: args.number32(&shared::KEYSLOT_KEY_SIZE),
    })
}

/// Refuses a number that is out of range or taken, before anybody types a passphrase.
pub(super) fn check_free(luks: &Luks, keyslot: Option<u32>) -> Result<()> {
    let Some(number) = keyslot else { return Ok(()) };
    let last = luks.last_keyslot();
    if number > last {
        let message = format!("Key slot {number} is invalid, please select between 0 and {last}.");
        return Err(Failure::new(Exit::Parameters, message));
    }
    if luks.keyslot_state(number).is_active() {
        let message = format!("Key slot {number} is full, please select another one.");
        return Err(Failure::new(Exit::Parameters, message));
    }
    Ok(())
}

/// Refuses a number that no passphrase opens anything by.
pub(super) fn check_active(luks: &Luks, keyslot: u32) -> Result<()> {
    match luks.keyslot_state(keyslot).is_active() {
        true => Ok(()),
        false => Err(Failure::new(Exit::Parameters, format!("Keyslot {keyslot} is not active."))),
    }
}
