//! Where a mapping's volume key is: in dm-crypt's table line, or in the kernel's keyring, which
//! cryptsetup uses for LUKS2.

use crate::say::failure::{Exit, Failure, Result};
use crate::say::sentence;
use keyway_attach::dm::crypt::Features;
use keyway_attach::dm::keyring::{Key, Link, VolumeKey};
use keyway_attach::dm::volume::KeyPlace;
use keyway_crypto::Secret;

/// Puts the key where cryptsetup would. The key of a LUKS2 volume, for which UUID and digest are
/// given, goes into the keyring if the kernel's dm-crypt can read it from there and that is
/// `allowed` (no `--disable-keyring`).
pub(crate) fn place_key<'a>(
    allowed: bool,
    key: &'a Secret,
    luks2: Option<(&str, u32)>,
    features: &Features,
) -> Result<KeyPlace<'a>> {
    KeyPlace::find(allowed, key, luks2, features).map_err(|e| sentence::door(&e))
}

/// Adds a LUKS2 volume's key to the keyring, under the name that its mapping refers to.
pub(crate) fn hold_key(key: &Secret, uuid: &str, digest: u32) -> Result<KeyPlace<'static>> {
    VolumeKey::add(uuid, digest, key).map(KeyPlace::Keyring).map_err(|e| sentence::door(&e))
}

/// A volume key that stays in a keyring of the user's choice (`--link-vk-to-keyring`).
pub(crate) struct LinkedKey {
    key: Key,
    link: Link,
}

impl LinkedKey {
    /// Adds the key of a LUKS2 volume as `text` says: KEYRING::KEY.
    pub(crate) fn add(text: &str, is_luks2: bool, volume_key: &Secret) -> Result<Self> {
        if !is_luks2 {
            let message = "--link-vk-to-keyring is for LUKS2 volumes.";
            return Err(Failure::new(Exit::Parameters, message));
        }
        let link: Link = text.parse().map_err(|_| {
            let message =
                format!("--link-vk-to-keyring {text}: KEYRING::KEY is needed, such as @u::%user:home.");
            Failure::new(Exit::Parameters, message)
        })?;
        let key = Key::add(link.kind, &link.description, volume_key, link.keyring);
        Ok(Self { key: key.map_err(|e| sentence::door(&e))?, link })
    }

    /// Removes it again, where what it was added for has failed.
    pub(crate) fn remove(self) {
        let _ = self.key.unlink(self.link.keyring);
    }
}
