//! Keyslots: added, changed, converted, killed.

use crate::{Error, KdfChoice, Luks, Random, Result, Unlocked};
use keyway_crypto::Secret;

/// What a new keyslot should be.
#[derive(Debug, Clone, Default)]
pub struct AddKey {
    /// Its number; the first free one when absent.
    pub keyslot: Option<u32>,
    /// Its KDF.
    pub kdf: KdfChoice,
    /// Hash of its AF splitter (LUKS2; "sha256" when absent).
    pub hash: Option<String>,
    /// Cipher of its area (LUKS2), when not the segment's.
    pub keyslot_cipher: Option<String>,
    /// Key length of that cipher in bits.
    pub keyslot_key_bits: Option<u32>,
}

/// Adds a keyslot that opens to `volume_key` with `new`; returns its number.
pub fn add_key(
    luks: &mut Luks,
    volume_key: &Secret,
    new: &Secret,
    options: &AddKey,
    rng: &mut dyn Random,
) -> Result<u32> {
    let _ = (luks, volume_key, new, options, rng);
    Err(Error::Refused("not built yet".into()))
}

/// Adds a keyslot for `key`, which is no volume key (`--unbound`, LUKS2); returns its number.
pub fn add_unbound_key(
    luks: &mut Luks,
    key: &Secret,
    new: &Secret,
    options: &AddKey,
    rng: &mut dyn Random,
) -> Result<u32> {
    let _ = (luks, key, new, options, rng);
    Err(Error::Refused("not built yet".into()))
}

/// Gives the keyslot that was unlocked a new passphrase; returns the number under which it then stands.
pub fn change_key(
    luks: &mut Luks,
    unlocked: &Unlocked,
    new: &Secret,
    options: &AddKey,
    rng: &mut dyn Random,
) -> Result<u32> {
    let _ = (luks, unlocked, new, options, rng);
    Err(Error::Refused("not built yet".into()))
}

/// Gives the keyslot that was unlocked with `passphrase` another KDF (`luksConvertKey`, LUKS2).
pub fn convert_key(
    luks: &mut Luks,
    unlocked: &Unlocked,
    passphrase: &Secret,
    options: &AddKey,
    rng: &mut dyn Random,
) -> Result<u32> {
    let _ = (luks, unlocked, passphrase, options, rng);
    Err(Error::Refused("not built yet".into()))
}

/// Overwrites a keyslot's key material, then removes it from the header.
pub fn kill_slot(luks: &mut Luks, keyslot: u32, rng: &mut dyn Random) -> Result<()> {
    let _ = (luks, keyslot, rng);
    Err(Error::Refused("not built yet".into()))
}

/// Kills every keyslot (`erase`): the data is gone for good.
pub fn erase(luks: &mut Luks, rng: &mut dyn Random) -> Result<()> {
    let _ = (luks, rng);
    Err(Error::Refused("not built yet".into()))
}
