//! Where a mapping's volume key is: in dm-crypt's line, or in the
//! kernel's keyring, which cryptsetup uses for LUKS2.

use crate::say::failure::Result;
use crate::say::sentence;
use keyway_attach::dm::crypt::{Features, Key};
use keyway_attach::dm::keyring::{self, VolumeKey};
use keyway_crypto::Secret;

/// A volume key ready for table lines. One in the keyring is there until
/// this is dropped; dm-crypt then has its own copy.
pub(crate) enum KeyPlace<'a> {
    /// `cipher_null` has none.
    Absent,
    /// In the line.
    Line(&'a Secret),
    /// In this thread's keyring.
    Keyring(VolumeKey),
}

impl KeyPlace<'_> {
    /// As a line or message has it.
    pub(crate) fn key(&self) -> Key {
        match self {
            Self::Absent => Key::Absent,
            Self::Line(key) => Key::Bytes(Secret::copy_from(key.expose())),
            Self::Keyring(held) => Key::InKeyring(held.reference.clone()),
        }
    }
}

/// Puts the key where cryptsetup would: a LUKS2 volume's (its UUID and digest are
/// then given) into the keyring, where the kernel's dm-crypt can take it from
/// there and that is `allowed` (no `--disable-keyring`).
pub(crate) fn place_key<'a>(
    allowed: bool,
    key: &'a Secret,
    luks2: Option<(&str, u32)>,
    features: &Features,
) -> Result<KeyPlace<'a>> {
    if key.is_empty() {
        return Ok(KeyPlace::Absent);
    }
    let may = allowed && features.keyring && keyring::is_available();
    match luks2 {
        Some((uuid, digest)) if may => hold_key(key, uuid, digest),
        _ => Ok(KeyPlace::Line(key)),
    }
}

/// Puts a LUKS2 volume's key into the keyring, by the name that its mapping knows.
pub(crate) fn hold_key(key: &Secret, uuid: &str, digest: u32) -> Result<KeyPlace<'static>> {
    VolumeKey::add(uuid, digest, key).map(KeyPlace::Keyring).map_err(|e| sentence::door(&e))
}
