//! Adds, changes, converts and kills keyslots.

use crate::{Cost, Error, Header, KdfChoice, Luks, Random, Refusal, Result, Unlocked};
use keyway_crypto::Secret;
use keyway_crypto::kdf::Argon2Variant;
use keyway_format::luks2::Kdf;

mod luks1;
pub(crate) mod luks2;

/// The parameters of a new keyslot.
#[derive(Debug, Clone, Default)]
pub struct AddKey {
    /// Its number; the first free one when absent.
    pub keyslot: Option<u32>,
    /// Its KDF (LUKS1: PBKDF2 with the header's hash).
    pub kdf: KdfChoice,
    /// Hash of its AF splitter (LUKS2; "sha256" when absent).
    pub hash: Option<String>,
    /// Cipher of its area (LUKS2), if it differs from the segment's.
    pub keyslot_cipher: Option<String>,
    /// Key length of that cipher in bits.
    pub keyslot_key_bits: Option<u32>,
    /// Whether its area may use a weak cipher, where LUKS1's header has one for both data and
    /// keyslots.
    pub weak_cipher_too: bool,
    /// Whether a changed key may take its keyslot's own place where there is no other, as in
    /// cryptsetup. Until that is written, neither the old nor the new passphrase opens the keyslot.
    pub in_place: bool,
}

/// Adds a keyslot that `new` opens and that holds `volume_key`; returns its number.
pub fn add_key(
    luks: &mut Luks,
    volume_key: &Secret,
    new: &Secret,
    options: &AddKey,
    rng: &mut dyn Random,
) -> Result<u32> {
    match luks.version() {
        1 => luks1::add(luks, volume_key, new, options, rng),
        _ => luks2::add(luks, volume_key, new, options, rng),
    }
}

/// Adds a keyslot for `key`, which is not a volume key (`--unbound`, LUKS2); returns its number.
pub fn add_unbound_key(
    luks: &mut Luks,
    key: &Secret,
    new: &Secret,
    options: &AddKey,
    rng: &mut dyn Random,
) -> Result<u32> {
    luks2::add_unbound(luks, key, new, options, rng)
}

/// Whether a key of this length has room beside those that are there: a free keyslot (LUKS1), a free area
/// (LUKS2). Without it, [`change_key`] overwrites the old key, or refuses.
pub fn has_room(luks: &Luks, volume_key: &Secret) -> bool {
    match luks.header() {
        Header::Luks1(_) => luks1::has_free_slot(luks),
        Header::Luks2 { metadata, .. } => luks2::free_area(metadata, volume_key).is_ok(),
    }
}

/// Replaces the passphrase of the unlocked keyslot; returns its number afterwards. Without a
/// number in `options`, LUKS2 keeps the number and LUKS1 moves the keyslot to the first free one,
/// as in cryptsetup.
pub fn change_key(
    luks: &mut Luks,
    unlocked: &Unlocked,
    new: &Secret,
    options: &AddKey,
    rng: &mut dyn Random,
) -> Result<u32> {
    match luks.version() {
        1 => luks1::change(luks, unlocked, new, options, rng),
        _ => luks2::change(luks, unlocked, new, options, rng),
    }
}

/// Gives the keyslot that was unlocked with `passphrase` another KDF (`luksConvertKey`, LUKS2).
pub fn convert_key(
    luks: &mut Luks,
    unlocked: &Unlocked,
    passphrase: &Secret,
    options: &AddKey,
    rng: &mut dyn Random,
) -> Result<u32> {
    let options = AddKey { keyslot: Some(unlocked.keyslot), ..options.clone() };
    luks2::change(luks, unlocked, passphrase, &options, rng)
}

/// The KDF of a new keyslot that costs what an existing one does.
pub fn same_cost(kdf: &Kdf) -> KdfChoice {
    match kdf {
        Kdf::Pbkdf2 { hash, iterations, .. } => {
            KdfChoice::Pbkdf2 { hash: hash.clone(), cost: Cost::Forced(*iterations) }
        }
        Kdf::Argon2i { time, memory_kib, lanes, .. } => {
            same_argon2(Argon2Variant::Argon2i, *time, *memory_kib, *lanes)
        }
        Kdf::Argon2id { time, memory_kib, lanes, .. } => {
            same_argon2(Argon2Variant::Argon2id, *time, *memory_kib, *lanes)
        }
    }
}

fn same_argon2(variant: Argon2Variant, time: u32, memory_kib: u32, lanes: u32) -> KdfChoice {
    KdfChoice::Argon2 { variant, memory_kib, lanes, cost: Cost::Forced(time) }
}

/// Overwrites a keyslot's key material, then removes it from the header.
pub fn kill_slot(luks: &mut Luks, keyslot: u32, rng: &mut dyn Random) -> Result<()> {
    match luks.version() {
        1 => luks1::kill(luks, keyslot, rng),
        _ => luks2::kill(luks, keyslot, rng),
    }
}

/// Kills every keyslot (`erase`): the data is lost for good.
///
/// # Errors
/// Refuses a header with the key of a drive's own locking range: the range would stay locked, and
/// could be given back by nothing but a reset of the whole drive.
pub fn erase(luks: &mut Luks, rng: &mut dyn Random) -> Result<()> {
    if luks.is_opal() {
        return Err(Refusal::Unusable.because(
            "The drive itself encrypts this volume (OPAL), in a range that only keys in this header unlock: without them \
             it stays locked. On that drive, \"cryptsetup erase\" (2.7 or later) erases both. Nothing was changed.",
        ));
    }
    match luks.version() {
        1 => luks1::erase(luks, rng),
        _ => luks2::erase(luks, rng),
    }
}

/// The error for a keyslot number that is not in use.
pub(super) fn not_active(keyslot: u32) -> Error {
    Refusal::KeyslotInactive.because(format!("Keyslot {keyslot} is not active."))
}

/// The error for a keyslot number that is in use.
pub(super) fn in_use(keyslot: u32) -> Error {
    Refusal::KeyslotTaken.because(format!("Key slot {keyslot} is full, please select another one."))
}
