//! Volume keys, and how a key leads to one.

use crate::{Key, Result};
use keyway_crypto::Secret;
use keyway_volume::kind::{self, Found};
use keyway_volume::reencrypt::{UnderWay, limited_to};
use keyway_volume::{Layout, Luks, Refusal, SecondKey, UnlockOptions, Unlocked, verify_volume_key};
use std::fmt;
use std::sync::Arc;

/// A volume key that a digest of the header has verified, or the key of an unbound keyslot: from
/// [`Admitted::try_key`](crate::Admitted::try_key) or [`Header::try_key`](crate::Header::try_key). Wiped on drop, never
/// printed. See [`Device::admit`](crate::Device::admit) for an example.
pub struct VolumeKey {
    pub(crate) secret: Secret,
    pub(crate) digest: u32,
    pub(crate) keyslot: Option<u32>,
    /// The key that replaces it, while a re-encryption is under way.
    pub(crate) second: Option<SecondKey>,
    /// Where the plaintext is, of volumes that do not say so before they have their key.
    pub(crate) layout: Option<Layout>,
    /// It was given itself, to a volume of another kind than LUKS.
    pub(crate) unproven: bool,
    /// The mark of the [`Admitted`](crate::Admitted) or header that found it.
    of: Option<Arc<()>>,
}

impl From<Unlocked> for VolumeKey {
    fn from(found: Unlocked) -> Self {
        let Unlocked { volume_key, digest, keyslot } = found;
        Self { digest, keyslot: Some(keyslot), ..Self::of_secret(volume_key) }
    }
}

impl From<Found> for VolumeKey {
    fn from(found: Found) -> Self {
        Self { layout: Some(found.layout), ..Self::of_secret(found.volume_key) }
    }
}

impl VolumeKey {
    /// The keyslot that it came from; `None` where the key itself was given. See
    /// [`Device::admit`](crate::Device::admit) for an example.
    pub fn keyslot(&self) -> Option<u32> {
        self.keyslot
    }

    /// Where the plaintext is, of a volume of another kind.
    pub(crate) fn layout(&self) -> Option<&Layout> {
        self.layout.as_ref()
    }

    /// The number of the header's digest that verified it; 0 for LUKS1. See
    /// [`Device::admit`](crate::Device::admit) for an example.
    pub fn digest(&self) -> u32 {
        self.digest
    }

    /// The key's bytes. They open the volume even after its passphrases have changed. See
    /// [`Device::admit`](crate::Device::admit) for an example.
    pub fn expose(&self) -> &Secret {
        &self.secret
    }

    fn of_secret(secret: Secret) -> Self {
        Self { secret, digest: 0, keyslot: None, second: None, layout: None, unproven: false, of: None }
    }

    /// The keys of a volume in the middle of a re-encryption, with their digests.
    pub(crate) fn of_two((secret, digest): (Secret, u32), second: SecondKey) -> Self {
        Self { digest, second: Some(second), ..Self::of_secret(secret) }
    }

    pub(crate) fn owned_by(self, mark: Arc<()>) -> Self {
        Self { of: Some(mark), ..self }
    }

    pub(crate) fn is_of(&self, mark: &Arc<()>) -> bool {
        self.of.as_ref().is_some_and(|of| Arc::ptr_eq(of, mark))
    }
}

impl fmt::Debug for VolumeKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("VolumeKey").field("keyslot", &self.keyslot).finish_non_exhaustive()
    }
}

/// The volume key that `key` is, or that it unlocks.
pub(crate) fn find_key(luks: &Luks, key: &Key, options: &UnlockOptions) -> Result<VolumeKey> {
    if let Some(given) = key.read_volume_key(luks.header().volume_key_len())? {
        let digest = verify_volume_key(luks, &given)?;
        let secret = Secret::copy_from(given.expose());
        return Ok(VolumeKey { digest, ..VolumeKey::of_secret(secret) });
    }
    let unlocked = match key {
        #[cfg(feature = "keyring")]
        Key::Token(token) => token.unlock(luks, options)?,
        _ => {
            let passphrase = key.read_passphrase()?;
            keyway_volume::unlock(luks, &passphrase, options)?
        }
    };
    Ok(unlocked.into())
}

/// The volume key of another kind of volume.
pub(crate) fn find(judged: &dyn kind::Judged, key: &Key, options: &UnlockOptions) -> Result<VolumeKey> {
    if let Some(given) = key.read_volume_key(judged.volume_key_len())? {
        let found = judged.open(kind::Key::Volume(&given), options)?;
        return Ok(VolumeKey { unproven: true, ..found.into() });
    }
    let found = match key {
        Key::KeyFile(file) => {
            let file = match judged.key_file_len() {
                Some(len) => file.clone().size(len as u64),
                None => file.clone(),
            };
            let content = Key::KeyFile(file);
            judged.open(kind::Key::File(&*content.read_passphrase()?), options)
        }
        _ => judged.open(kind::Key::Passphrase(&*key.read_passphrase()?), options),
    };
    Ok(found?.into())
}

/// The volume keys of a re-encryption that is under way.
pub(crate) fn find_keys(
    luks: &Luks,
    under_way: &UnderWay,
    key: &Key,
    options: &UnlockOptions,
) -> Result<VolumeKey> {
    if let Some(given) = key.read_volume_key(luks.header().volume_key_len())? {
        let digest = verify_volume_key(luks, &given)?;
        if under_way.second_digest().is_some() {
            return Err(keyway_volume::Error::Refused {
                kind: Refusal::Reencrypting,
                why: ONE_OF_TWO.to_owned(),
            }
            .into());
        }
        let secret = Secret::copy_from(given.expose());
        return Ok(VolumeKey { digest, ..VolumeKey::of_secret(secret) });
    }
    #[cfg(feature = "keyring")]
    if let Key::Token(token) = key {
        return find_both(under_way, |digest| {
            let options = digest.map_or_else(|| options.clone(), |digest| limited_to(luks, digest, options));
            token.unlock(luks, &options)
        });
    }
    let passphrase = key.read_passphrase()?;
    find_both(under_way, |digest| {
        let options = digest.map_or_else(|| options.clone(), |digest| limited_to(luks, digest, options));
        Ok(keyway_volume::unlock(luks, &passphrase, &options)?)
    })
}

/// Both keys, each by the search for the key that a digest verifies.
pub(crate) fn find_both<E>(
    under_way: &UnderWay,
    search: impl Fn(Option<u32>) -> Result<Unlocked, E>,
) -> Result<VolumeKey, E> {
    let mut found = VolumeKey::from(search(under_way.first_digest())?);
    if let Some(digest) = under_way.second_digest() {
        let second = search(Some(digest))?;
        found.second = Some(SecondKey { key: second.volume_key, digest: second.digest });
    }
    Ok(found)
}

const ONE_OF_TWO: &str = "The volume is in the middle of a reencryption, and has two volume keys: a passphrase opens \
                          both.";
