//! The volume keys of a re-encryption, and the digest by which they vouch for its metadata.

use crate::error::shared;
use crate::header::luks::Edit;
use crate::header::under_way::check_version;
use crate::keyslot::digest::KeyDigest;
use crate::keyslot::unlock::{UnlockOptions, key_has_length, unlock as unlock_any};
use crate::{Error, Luks, Refusal, Result};
use keyway_crypto::{Hash, Secret, Stop};
use keyway_format::luks2::reencryption::Mode;
use keyway_format::luks2::{DigestId, Metadata, Reencryption};

/// The volume keys before and after; one where the other side is plaintext.
pub struct VolumeKeys {
    old: Option<Secret>,
    new: Option<Secret>,
}

impl VolumeKeys {
    /// Keys that were found elsewhere: that of the volume as it was, and that of the volume as it
    /// will be (the same one twice where only the cipher changes).
    pub fn new(old: Option<Secret>, new: Option<Secret>) -> Self {
        Self { old, new }
    }

    /// Keys that were given for the re-encryption that is under way: one alone is that of the only
    /// side that is encrypted, or of both sides.
    ///
    /// # Errors
    /// [`Refusal::NotReencrypting`]; a header that contradicts itself.
    pub fn given(luks: &Luks, key: Secret, new: Option<Secret>) -> Result<Self> {
        let what = under_way(luks)?;
        Ok(match (what.old.digest, what.new.digest) {
            (None, _) => Self::new(None, Some(new.unwrap_or(key))),
            (_, None) => Self::new(Some(key), None),
            (old, last) if old == last => {
                let same = Secret::copy_from(key.expose());
                Self::new(Some(key), Some(same))
            }
            _ => Self::new(Some(key), new),
        })
    }

    /// The key of the volume as it was.
    pub fn old(&self) -> Option<&Secret> {
        self.old.as_ref()
    }

    /// The key of the volume as it will be.
    pub fn new_key(&self) -> Option<&Secret> {
        self.new.as_ref()
    }

    /// Whether these are the same keys, in time that depends on their lengths only.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        let same = |own: &Option<Secret>, other: &Option<Secret>| match (own, other) {
            (Some(own), Some(other)) => own.ct_eq(other.expose()),
            (own, other) => own.is_none() && other.is_none(),
        };
        same(&self.old, &other.old) & same(&self.new, &other.new)
    }

    /// Checks both keys against their digests.
    ///
    /// # Errors
    /// [`Error::WrongVolumeKey`] where one is missing, or is another key.
    pub(super) fn check(&self, metadata: &Metadata, what: &Reencryption) -> Result<()> {
        self.check_some(metadata, &[(&self.old, what.old.digest), (&self.new, what.new.digest)])
    }

    /// As [`VolumeKeys::check`], of the new key alone.
    pub(super) fn check_new(&self, metadata: &Metadata, what: &Reencryption) -> Result<()> {
        self.check_some(metadata, &[(&self.new, what.new.digest)])
    }

    fn check_some(&self, metadata: &Metadata, keys: &[(&Option<Secret>, Option<DigestId>)]) -> Result<()> {
        for &(key, digest) in keys {
            let Some(id) = digest else { continue };
            let key = key.as_ref().ok_or(Error::WrongVolumeKey)?;
            let digest = metadata.digests.get(&id).ok_or(Error::WrongVolumeKey)?;
            let fits = key_has_length(metadata, &digest.keyslots, key)?;
            if !fits || !KeyDigest::of_luks2(id, digest)?.matches(key, &Stop::new())? {
                return Err(Error::WrongVolumeKey);
            }
        }
        Ok(())
    }

    /// What the digest is computed over.
    fn vouched(&self, what: &Reencryption) -> Secret {
        let both = what.old.digest != what.new.digest;
        let keys = [
            self.old.as_ref().filter(|_| what.old.digest.is_some()),
            self.new.as_ref().filter(|_| what.new.digest.is_some() && both),
        ];
        let (version, rest) = (what.vouched_version(), what.vouched());
        let parts: Vec<&[u8]> = std::iter::once(&version[..])
            .chain(keys.into_iter().flatten().map(Secret::expose))
            .chain([&rest[..]])
            .collect();
        let mut all = Secret::zeroed(parts.iter().map(|part| part.len()).sum());
        let mut at = 0;
        for part in parts {
            all.expose_mut()[at..at + part.len()].copy_from_slice(part);
            at += part.len();
        }
        all
    }

    /// A digest that vouches for `what`.
    pub(super) fn vouch(
        &self,
        what: &Reencryption,
        kdf: &crate::KdfChoice,
        rng: &mut dyn crate::Random,
    ) -> Result<keyway_format::luks2::Digest> {
        crate::change::create::new_digest(Hash::Sha256, &self.vouched(what), kdf, rng)
    }

    /// Makes sure that the keys vouch for what the header says of its re-encryption. Whoever has not
    /// the keys cannot have forged it then (CVE-2021-4122).
    ///
    /// # Errors
    /// [`Refusal::Forged`].
    pub(crate) fn verify(&self, metadata: &Metadata, what: &Reencryption) -> Result<()> {
        let forged = |why: &str| Refusal::Forged.because(format!("Reencryption metadata is invalid: {why}"));
        check_version(what)?;
        let id =
            metadata.digest_of_keyslot(what.keyslot).ok_or_else(|| forged("no digest authenticates it."))?;
        let digest = metadata.digests.get(&id).ok_or_else(|| forged("no digest authenticates it."))?;
        if !KeyDigest::of_luks2(id, digest)?.matches(&self.vouched(what), &Stop::new())? {
            return Err(forged("the volume keys do not authenticate it. Somebody else may have written it."));
        }
        Ok(())
    }
}

/// Lets the volume keys vouch for a re-encryption that nothing protects from forgery so far. The caller
/// vouches that it is genuine.
///
/// # Errors
/// [`Refusal::NotReencrypting`]; [`Error::WrongVolumeKey`]; no room for another digest.
pub fn protect(luks: &mut Luks, keys: &VolumeKeys, rng: &mut dyn crate::Random) -> Result<()> {
    let mut what = under_way(luks)?;
    if what.version > 1 {
        return Ok(());
    }
    keys.check(metadata(luks)?, &what)?;
    let state = what.state(metadata(luks)?)?;
    what.version = if what.mode == Mode::Decrypt && what.moved.is_some() { 3 } else { 2 };
    let crate::Header::Luks2 { binary, metadata: changed } = luks.header() else {
        return Err(shared::only_luks2());
    };
    let (binary, mut changed) = (binary.clone(), changed.clone());
    let number = changed.free_digest_beside(None);
    let number = number.ok_or_else(shared::no_free_digest)?;
    let vouches = keys.vouch(&what, &crate::KdfChoice::default(), rng)?;
    changed.change_reencryption(&what, number, &vouches)?;
    changed.set_reencryption_state(&what, &state)?;
    let lock = luks.lock_for(Edit::Reencryption)?;
    crate::change::edit::commit_luks2(luks, binary, &changed, rng)?;
    drop(lock);
    Ok(())
}

/// The options, limited to keyslots whose key this digest verifies. A keyslot that was named holds
/// one of the keys, and is not tried for the other.
pub fn limited_to(luks: &Luks, digest: DigestId, options: &UnlockOptions) -> UnlockOptions {
    let holds = |number: &u32| {
        metadata(luks).is_ok_and(|metadata| metadata.digest_of_keyslot(*number) == Some(digest))
    };
    UnlockOptions { keyslot: options.keyslot.filter(holds), digest: Some(digest), ..options.clone() }
}

/// Finds the keys of a re-encryption that is under way by one passphrase, as far as it opens their
/// keyslots: both, if it is that of a keyslot of either key.
///
/// # Errors
/// Those of [`unlock`](crate::unlock()); [`Refusal::NotReencrypting`].
pub fn unlock(luks: &Luks, passphrase: &Secret, options: &UnlockOptions) -> Result<VolumeKeys> {
    let what = under_way(luks)?;
    let of = |digest: Option<DigestId>| {
        let Some(digest) = digest else { return Ok(None) };
        let options = limited_to(luks, digest, options);
        unlock_any(luks, passphrase, &options).map(|unlocked| Some(unlocked.volume_key))
    };
    // All is done, and the old keyslots are gone already: cryptsetup was cut off between these writes.
    if is_only_to_end(luks, &what)? {
        return Ok(VolumeKeys { old: None, new: of(what.new.digest)? });
    }
    let old = of(what.old.digest)?;
    let new = match (&old, what.new.digest == what.old.digest) {
        (Some(old), true) => Some(Secret::copy_from(old.expose())),
        _ => of(what.new.digest)?,
    };
    Ok(VolumeKeys { old, new })
}

/// Whether only the header has to forget a re-encryption whose old key nothing opens any more. Nobody
/// needs to vouch for it then: what is left is a volume under the new key, as any other.
pub(super) fn is_only_to_end(luks: &Luks, what: &Reencryption) -> Result<bool> {
    let metadata = metadata(luks)?;
    let is_open = |digest: DigestId| metadata.digests.get(&digest).is_some_and(|d| !d.keyslots.is_empty());
    let lost = what.old.digest.filter(|old| what.new.digest != Some(*old)).is_some_and(|old| !is_open(old));
    Ok(lost && what.new.digest.is_some_and(is_open) && what.state(metadata)?.is_complete())
}

/// What the header says of its re-encryption.
pub(super) fn under_way(luks: &Luks) -> Result<Reencryption> {
    metadata(luks)?
        .reencryption()?
        .ok_or_else(|| Refusal::NotReencrypting.because("Device is not in reencryption."))
}

pub(crate) fn metadata(luks: &Luks) -> Result<&Metadata> {
    match luks.header() {
        crate::Header::Luks2 { metadata, .. } => Ok(metadata),
        crate::Header::Luks1(_) => Err(shared::only_luks2()),
    }
}
