//! Where a mapping's volume key is: in dm-crypt's table line, or in the kernel's keyring, which
//! cryptsetup uses for LUKS2.

use crate::door::Args;
use crate::door::shared::LINK_VK;
use crate::output::failure::{Exit, Failure, Result};
use crate::output::sentence;
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

/// Where a volume key is left, too (`--link-vk-to-keyring`).
#[derive(Debug, Clone)]
pub(crate) struct KeyLink {
    first: Link,
    /// For the other key of a volume in the middle of a re-encryption.
    second: Option<Link>,
}

impl KeyLink {
    /// A second one names the other key of a volume whose re-encryption has begun; other volumes
    /// have one key.
    pub(crate) fn from_args(args: &Args) -> Result<Option<Self>> {
        let links = args.texts(&LINK_VK).into_iter().map(link).collect::<Result<Vec<_>>>()?;
        let refusal = |message| Err(Failure::new(Exit::Parameters, message));
        match links.as_slice() {
            [first, second] if first.kind != second.kind => {
                refusal("Key types have to be the same for both volume keys.")
            }
            [first, second] if first.keyring != second.keyring => {
                refusal("Both volume keys have to be linked to the same keyring.")
            }
            [_, _, _, ..] => refusal("At most 2 keyring link specifications can be supplied."),
            links => {
                let mut links = links.iter().cloned();
                Ok(links.next().map(|first| Self { first, second: links.next() }))
            }
        }
    }
}

fn link(text: &str) -> Result<Link> {
    text.parse().map_err(|_| {
        let message = format!("--link-vk-to-keyring {text}: KEYRING::KEY is needed, such as @u::%user:home.");
        Failure::new(Exit::Parameters, message)
    })
}

/// Volume keys that stay in a keyring of the user's choice.
pub(crate) struct LinkedKey(Vec<(Key, Link)>);

impl LinkedKey {
    /// Adds the key of a LUKS2 volume; both, where one replaces the other.
    pub(crate) fn add(
        link: &KeyLink,
        is_luks2: bool,
        volume_key: &Secret,
        second: Option<&Secret>,
    ) -> Result<Self> {
        let refusal = |message| Err(Failure::new(Exit::Parameters, message));
        if !is_luks2 {
            return refusal("--link-vk-to-keyring is for LUKS2 volumes.");
        }
        let mut wanted = vec![(&link.first, volume_key)];
        match (second, &link.second) {
            (Some(second), Some(link)) => wanted.push((link, second)),
            (Some(_), None) => {
                return refusal(
                    "The volume is in the middle of a reencryption, and has two volume keys: \
                     --link-vk-to-keyring is needed twice.",
                );
            }
            (None, _) => {}
        }
        let mut linked = Self(Vec::new());
        for (link, key) in wanted {
            match Key::add(link.kind, &link.description, key, link.keyring) {
                Ok(key) => linked.0.push((key, link.clone())),
                Err(error) => {
                    linked.remove();
                    return Err(sentence::door(&error));
                }
            }
        }
        Ok(linked)
    }

    /// Removes them again, where what they were added for has failed.
    pub(crate) fn remove(self) {
        for (key, link) in self.0 {
            let _ = key.unlink(link.keyring);
        }
    }
}
