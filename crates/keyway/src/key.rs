//! What opens a volume.

use crate::{Error, Result};
use keyway_crypto::Secret;
use keyway_volume::key_file::{self, Part};
use std::fmt;
use std::path::PathBuf;

/// What opens a volume, or a keyslot of it. Its bytes are locked in memory, kept out of core
/// dumps, wiped when it is dropped, and never printed.
///
/// ```
/// # use keyway::*;
/// let typed = Key::passphrase("correct horse");
/// let file = Key::key_file("/etc/keys/disk.key");
/// let part = Key::KeyFile(KeyFile::new("/dev/sdb").offset(512).size(64));
/// assert_eq!(format!("{typed:?}"), "Passphrase(…)");
/// ```
#[non_exhaustive]
pub enum Key {
    /// A passphrase, as it is typed: no newline behind it.
    Passphrase(Secret),
    /// The content of a file, newlines too.
    KeyFile(KeyFile),
    /// The volume key itself.
    VolumeKey(Secret),
    /// A file that starts with the volume key.
    VolumeKeyFile(PathBuf),
    /// What the header's tokens lead to.
    #[cfg(feature = "keyring")]
    Token(crate::Token),
}

/// A key file, or the part of it that is the passphrase. It is read whenever it
/// is needed: cryptsetup's rules, of which one is that a file of unnamed size
/// has at most 8 MiB. See [`Key`] for an example.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyFile {
    path: PathBuf,
    part: Part,
}

impl Key {
    /// A passphrase. The caller's copy is the caller's to wipe: where that matters, read into a
    /// [`Secret`] and use [`Key::Passphrase`]. See [`Key`] for an example.
    pub fn passphrase(text: impl AsRef<[u8]>) -> Self {
        Self::Passphrase(Secret::copy_from(text.as_ref()))
    }

    /// The whole content of a file. See [`Key`] for an example.
    pub fn key_file(path: impl Into<PathBuf>) -> Self {
        Self::KeyFile(KeyFile::new(path))
    }

    /// What a keyslot is opened by, or made of.
    pub(crate) fn read_passphrase(&self) -> Result<Read<'_>> {
        match self {
            Self::Passphrase(secret) => Ok(Read::Given(secret)),
            Self::KeyFile(file) => Ok(Read::FromFile(key_file::read(&file.path, file.part)?)),
            Self::VolumeKey(_) | Self::VolumeKeyFile(_) => {
                Err(Error::refused("a passphrase or a key file is needed here, not the volume key"))
            }
            #[cfg(feature = "keyring")]
            Self::Token(_) => Err(Error::refused("a passphrase or a key file is needed here, not a token")),
        }
    }

    /// The volume key, where it is one; `len` is its length where the header knows it.
    pub(crate) fn read_volume_key(&self, len: Option<usize>) -> Result<Option<Read<'_>>> {
        match self {
            Self::VolumeKey(secret) => Ok(Some(Read::Given(secret))),
            Self::VolumeKeyFile(path) => {
                let len = len.ok_or_else(|| {
                    Error::refused(
                        "the header has no keyslots that tell the volume key's length: give the key itself",
                    )
                })?;
                Ok(Some(Read::FromFile(key_file::read_volume_key(path, len)?)))
            }
            _ => Ok(None),
        }
    }
}

impl From<KeyFile> for Key {
    fn from(file: KeyFile) -> Self {
        Self::KeyFile(file)
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Passphrase(_) => f.write_str("Passphrase(…)"),
            Self::KeyFile(file) => f.debug_tuple("KeyFile").field(file).finish(),
            Self::VolumeKey(_) => f.write_str("VolumeKey(…)"),
            Self::VolumeKeyFile(path) => f.debug_tuple("VolumeKeyFile").field(path).finish(),
            #[cfg(feature = "keyring")]
            Self::Token(token) => f.debug_tuple("Token").field(token).finish(),
        }
    }
}

impl KeyFile {
    /// The whole file. See [`Key`] for an example.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into(), part: Part::default() }
    }

    /// Leaves out this many bytes at its start. See [`Key`] for an example.
    #[must_use]
    pub fn offset(mut self, bytes: u64) -> Self {
        self.part.offset = bytes;
        self
    }

    /// Takes exactly this many bytes. See [`Key`] for an example.
    #[must_use]
    pub fn size(mut self, bytes: u64) -> Self {
        self.part.size = Some(bytes);
        self
    }
}

/// A secret that was at hand, or was read for this.
pub(crate) enum Read<'a> {
    Given(&'a Secret),
    FromFile(Secret),
}

impl std::ops::Deref for Read<'_> {
    type Target = Secret;

    fn deref(&self) -> &Secret {
        match self {
            Self::Given(secret) => secret,
            Self::FromFile(secret) => secret,
        }
    }
}
