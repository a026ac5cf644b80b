//! The seal: a token that shows whether a LUKS2 header still describes the volume as its owner left
//! it.
//!
//! LUKS2's metadata has a checksum but no authentication: an attacker with write access to the
//! storage can rewrite it. The seal lists in the clear what decides how data is read ([`Fields`]),
//! so that a difference can be named before any passphrase is asked for. It also holds a MAC over
//! that list, which only somebody who knows the volume key can make:
//!
//! ```text
//! {"type":"keyway-seal","keyslots":[],"version":1,"salt":BASE64,"sealed":{…},"mac":BASE64}
//! mac     = HMAC-SHA256(HKDF-SHA256(volume key, salt, "keyway-seal 1 header"), fields)
//! context = HMAC-SHA256(HKDF-SHA256(volume key, salt, "keyway-seal 1 context"), the caller's string)
//! ```
//!
//! Keyslots, the digests' lists of keyslots, and other tokens are not sealed: cryptsetup changes
//! them without updating the seal, and none of them can make a wrong key pass as the volume's.

mod fields;
mod token;

pub use crate::error::{Broken, Difference};
use crate::random::random_bytes;
use crate::{Header, Random, Refusal, Result};
use fields::Fields;
use keyway_crypto::kdf::{hkdf, hmac};
use keyway_crypto::{Hash, Secret};
use keyway_format::json::Object;
use keyway_format::luks2::{BinaryHeader, Metadata};

/// The seal in a header. It is not known to be genuine before [`Seal::verify`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Seal {
    salt: [u8; SALT_LEN],
    mac: [u8; MAC_LEN],
    context: Option<[u8; MAC_LEN]>,
    sealed: Object,
}

impl Seal {
    /// The type of the token.
    pub const TYPE: &'static str = "keyway-seal";

    /// The seal of a header, if it has one; more than one seal cannot be trusted.
    pub fn of(header: &Header) -> Result<Option<Self>, Broken> {
        let Header::Luks2 { metadata, .. } = header else { return Ok(None) };
        let mut numbers = numbers(metadata);
        match (numbers.next(), numbers.next()) {
            (None, _) => Ok(None),
            (Some(number), None) => Self::parse(&metadata.token_json(number).unwrap_or_default())
                .map(Some)
                .map_err(Broken::Unreadable),
            (Some(_), Some(_)) => Err(Broken::Unreadable("the header has two seals".into())),
        }
    }

    /// Whether the header matches the seal that it has, if it has one: as [`Seal::compare`].
    pub fn check(header: &Header, data_len: Option<u64>) -> Result<(), Broken> {
        Self::of(header)?.map_or(Ok(()), |seal| seal.compare(header, data_len))
    }

    /// Whether the header matches its seal, as far as that can be checked without a key: a forged
    /// seal matches a forged header. Without a `data_len`, fields that depend on it are skipped,
    /// because the data is not touched then.
    pub fn compare(&self, header: &Header, data_len: Option<u64>) -> Result<(), Broken> {
        let now = Fields::of_header(header, data_len).ok_or(Broken::Missing)?;
        let differences = self.fields().differences(&now);
        if differences.is_empty() { Ok(()) } else { Err(Broken::Differs(differences)) }
    }

    /// Whether its list of what is sealed was made with this volume key, whatever the header says now.
    /// If not, neither that list nor a difference from it, nor that there is none, proves anything.
    pub fn is_made_with(&self, volume_key: &Secret) -> bool {
        self.header_mac(volume_key).ct_eq(&self.mac)
    }

    /// Whether this header was sealed with this volume key. With a `context`, also whether it was
    /// sealed with that context.
    pub fn verify(
        &self,
        header: &Header,
        data_len: Option<u64>,
        volume_key: &Secret,
        context: Option<&str>,
    ) -> Result<(), Broken> {
        self.compare(header, data_len)?;
        if !self.is_made_with(volume_key) {
            return Err(Broken::Forged);
        }
        let Some(context) = context else { return Ok(()) };
        let wanted = context_mac(volume_key, &self.salt, context);
        match self.context {
            Some(is) if wanted.ct_eq(&is) => Ok(()),
            _ => Err(Broken::Context),
        }
    }

    /// Whether it was made with a context.
    pub fn has_context(&self) -> bool {
        self.context.is_some()
    }

    /// How often the header has one.
    pub(crate) fn count(metadata: &Metadata) -> usize {
        numbers(metadata).count()
    }

    fn new(
        sealed: Object,
        volume_key: &Secret,
        salt: [u8; SALT_LEN],
        context: Option<[u8; MAC_LEN]>,
    ) -> Self {
        let mut seal = Self { salt, mac: [0; MAC_LEN], context, sealed };
        let mac = seal.header_mac(volume_key);
        seal.mac.copy_from_slice(mac.expose());
        seal
    }

    fn fields(&self) -> Fields {
        Fields::of(&self.sealed)
    }

    /// The MAC over the fields and the context.
    fn header_mac(&self, volume_key: &Secret) -> Secret {
        let mut message = self.fields().to_bytes();
        message.push(u8::from(self.context.is_some()));
        message.extend(self.context.unwrap_or_default());
        mac(volume_key, &self.salt, b"keyway-seal 1 header", &message)
    }
}

/// A seal to be, before the header is known that it is for.
pub(crate) struct Blank<'a> {
    volume_key: &'a Secret,
    salt: [u8; SALT_LEN],
    context: Option<[u8; MAC_LEN]>,
}

impl<'a> Blank<'a> {
    /// With a new salt.
    pub(crate) fn new(volume_key: &'a Secret, context: Option<&str>, rng: &mut dyn Random) -> Result<Self> {
        let salt: [u8; SALT_LEN] = random_bytes(rng)?;
        let context = context.map(|context| {
            let mut value = [0; MAC_LEN];
            value.copy_from_slice(context_mac(volume_key, &salt, context).expose());
            value
        });
        Ok(Self { volume_key, salt, context })
    }

    /// The seal of this header, on a device of `data_len` bytes.
    pub(crate) fn seal(self, binary: &BinaryHeader, metadata: &Metadata, data_len: u64) -> Seal {
        let sealed = fields::sealed_part(binary, metadata, Some(data_len));
        Seal::new(sealed, self.volume_key, self.salt, self.context)
    }
}

/// The key to renew the seal of a changed header, within the edit that changes it.
#[derive(Clone, Copy)]
pub struct Renewal<'a> {
    /// The volume key.
    pub volume_key: &'a Secret,
}

impl Renewal<'_> {
    /// Seals the changed header with the old seal's context and device length. A header without a
    /// seal stays without one, and an edit never signs a header whose seal did not hold.
    pub(crate) fn renew(
        self,
        old: &Header,
        binary: &BinaryHeader,
        metadata: &mut Metadata,
    ) -> Result<(), Broken> {
        let Some(seal) = Seal::of(old)? else { return Ok(()) };
        seal.verify(old, None, self.volume_key, None)?;
        let mut sealed = fields::sealed_part(binary, metadata, None);
        fields::take_data(&mut sealed, &seal.sealed);
        let new = Seal::new(sealed, self.volume_key, seal.salt, seal.context);
        put(metadata, Some(&new)).map_err(|e| Broken::Unreadable(e.to_string()))
    }
}

/// Replaces all seals with this one.
pub(crate) fn put(metadata: &mut Metadata, seal: Option<&Seal>) -> Result<()> {
    let old: Vec<u32> = numbers(metadata).collect();
    for &number in &old {
        metadata.remove_token(number)?;
    }
    let Some(seal) = seal else { return Ok(()) };
    let number = old.first().copied().or_else(|| metadata.free_token());
    let number = number.ok_or_else(|| Refusal::NoFreeToken.because("No free token slot for the seal."))?;
    Ok(metadata.add_token(number, seal.to_json().as_bytes())?)
}

fn numbers(metadata: &Metadata) -> impl Iterator<Item = u32> {
    let seals = metadata.tokens.iter().filter(|(_, token)| token.kind == Seal::TYPE);
    seals.map(|(&number, _)| number)
}

fn context_mac(volume_key: &Secret, salt: &[u8], context: &str) -> Secret {
    mac(volume_key, salt, b"keyway-seal 1 context", context.as_bytes())
}

fn mac(volume_key: &Secret, salt: &[u8], purpose: &[u8], message: &[u8]) -> Secret {
    let mut key = Secret::zeroed(MAC_LEN);
    hkdf(Hash::Sha256, volume_key.expose(), salt, purpose, key.expose_mut());
    let mut mac = Secret::zeroed(MAC_LEN);
    hmac(Hash::Sha256, key.expose(), message, mac.expose_mut());
    mac
}

const SALT_LEN: usize = 32;
const MAC_LEN: usize = 32;

#[cfg(test)]
mod tests;
