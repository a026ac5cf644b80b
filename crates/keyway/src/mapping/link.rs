//! Volume keys that stay in a keyring of the user's choice.
#![cfg_attr(not(feature = "parts"), expect(unreachable_pub, reason = "public with the feature `parts`"))]

use crate::{Error, ErrorKind, Result};
use keyway_attach::dm::keyring::{Key, Link};
use keyway_crypto::Secret;
use keyway_volume::Luks;
use std::fmt;
use std::str::FromStr;

/// A keyring, and the name of a key in it: "KEYRING::KEY", as cryptsetup writes it (feature `dm`). See
/// [`KeyLinks`] for an example.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyLink(Link);

impl FromStr for KeyLink {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        Ok(Self(text.parse()?))
    }
}

/// Where the volume key of a LUKS2 volume stays, too (feature `dm`): both, where one replaces the
/// other.
///
/// ```
/// use keyway::KeyLinks;
/// let one = KeyLinks::new("@u::%user:home".parse()?, None)?;
/// let two = KeyLinks::new("@u::%user:old".parse()?, Some("@u::%user:new".parse()?))?;
/// let error = KeyLinks::new("@u::%user:old".parse()?, Some("@u::%logon:keyway:new".parse()?)).unwrap_err();
/// assert_eq!(error.to_string(), "key types have to be the same for both volume keys");
/// # let _ = keyway::MapOptions::new().links(one).links(two);
/// # Ok::<(), keyway::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct KeyLinks {
    first: Link,
    second: Option<Link>,
}

impl KeyLinks {
    /// The link of the volume key; `second` is for the other key of a volume in the middle of a
    /// re-encryption. Other volumes have one key. See [`KeyLinks`] for an example.
    ///
    /// # Errors
    /// [`ErrorKind::Refused`] where they differ in their keyrings, or the types of their keys.
    pub fn new(first: KeyLink, second: Option<KeyLink>) -> Result<Self> {
        let (first, second) = (first.0, second.map(|link| link.0));
        match &second {
            Some(second) if first.kind != second.kind => {
                Err(Error::refused("key types have to be the same for both volume keys"))
            }
            Some(second) if first.keyring != second.keyring => {
                Err(Error::refused("both volume keys have to be linked to the same keyring"))
            }
            _ => Ok(Self { first, second }),
        }
    }

    /// Adds the volume key of the volume with this header, which the caller has unlocked; `second` is the
    /// other key, in the middle of a re-encryption.
    ///
    /// ```no_run
    /// # use keyway::*;
    /// let admitted = Device::open("/dev/sda2")?.admit(&Unlock::new())?;
    /// let found = admitted.try_key(&Key::passphrase("correct horse"))?;
    /// let parts = admitted.into_parts(found)?;
    /// let links = KeyLinks::new("@u::%user:home".parse()?, None)?;
    /// let linked = links.add(parts.header.as_ref().unwrap(), &parts.volume_key, None)?;
    /// linked.remove();
    /// # Ok::<(), keyway::Error>(())
    /// ```
    ///
    /// # Errors
    /// One whose source is [`Unlinkable`]; those of the keyring. Nothing is left there then.
    #[cfg(feature = "parts")]
    pub fn add(&self, header: &Luks, volume_key: &Secret, second: Option<&Secret>) -> Result<LinkedKeys> {
        self.link(Some(header), volume_key, second)
    }

    pub(super) fn link(
        &self,
        header: Option<&Luks>,
        volume_key: &Secret,
        second: Option<&Secret>,
    ) -> Result<LinkedKeys> {
        if header.is_none_or(|luks| luks.version() != 2) {
            return Err(Unlinkable::NotLuks2.into());
        }
        let mut wanted = vec![(&self.first, volume_key)];
        if let Some(second) = second {
            wanted.push((self.second.as_ref().ok_or(Unlinkable::SecondMissing)?, second));
        }
        let mut linked = LinkedKeys(Vec::new());
        for (link, key) in wanted {
            match Key::add(link.kind, &link.description, key, link.keyring) {
                Ok(key) => linked.0.push((key, link.clone())),
                Err(error) => {
                    linked.remove();
                    return Err(error.into());
                }
            }
        }
        Ok(linked)
    }
}

/// Volume keys in a keyring of the user's choice (features `dm` and `parts`), where they stay: from `KeyLinks::add`;
/// see there for an example.
#[derive(Debug)]
pub struct LinkedKeys(Vec<(Key, Link)>);

impl LinkedKeys {
    /// Removes them again, where what they were added for has failed. See `KeyLinks::add` for an example.
    pub fn remove(self) {
        for (key, link) in self.0 {
            let _ = key.unlink(link.keyring);
        }
    }
}

/// Why a volume's key cannot stay in a keyring (feature `dm`): the source of such an error. See
/// [`KeyLinks`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Unlinkable {
    /// Only the keys of LUKS2 volumes can.
    NotLuks2,
    /// The volume has two volume keys, and one link was given.
    SecondMissing,
}

impl fmt::Display for Unlinkable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NotLuks2 => "only the volume key of a LUKS2 volume can stay in a keyring",
            Self::SecondMissing => {
                "the volume is in the middle of a reencryption, and has two volume keys: a second link is needed"
            }
        })
    }
}

impl std::error::Error for Unlinkable {}

impl From<Unlinkable> for Error {
    fn from(why: Unlinkable) -> Self {
        Self::because(ErrorKind::Refused { why: why.to_string() }, why)
    }
}
