//! Keys: what opens a volume.

use crate::{Error, ErrorKind, Result};
use keyway_crypto::Secret;
use keyway_volume::keyslot::key_file::{self, Part};
use std::fmt;
use std::path::PathBuf;

/// What opens a volume or one of its keyslots. The bytes are locked in memory, kept out of core
/// dumps, wiped on drop, and never printed.
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
    /// A passphrase, as typed, without a trailing newline.
    Passphrase(Secret),
    /// The content of a file, including newlines.
    KeyFile(KeyFile),
    /// The volume key itself.
    VolumeKey(Secret),
    /// A file that starts with the volume key.
    VolumeKeyFile(PathBuf),
    /// The passphrase that the header's tokens lead to.
    #[cfg(feature = "keyring")]
    Token(crate::Token),
}

/// A key file, or the part of it that is the passphrase. The file is read each time it is needed,
/// by cryptsetup's rules; one of them limits a file without an explicit size to 8 MiB. See [`Key`]
/// for an example.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyFile {
    path: PathBuf,
    part: Part,
}

impl Key {
    /// A passphrase. The caller must wipe its own copy: where that matters, read the passphrase
    /// into a [`Secret`] and use [`Key::Passphrase`]. See [`Key`] for an example.
    pub fn passphrase(text: impl AsRef<[u8]>) -> Self {
        Self::Passphrase(Secret::copy_from(text.as_ref()))
    }

    /// The whole content of a file. See [`Key`] for an example.
    pub fn key_file(path: impl Into<PathBuf>) -> Self {
        Self::KeyFile(KeyFile::new(path))
    }

    /// The passphrase that opens a keyslot.
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

    /// The passphrase that a new keyslot is made from.
    ///
    /// # Errors
    /// [`ErrorKind::EmptyPassphrase`], unless that is `allowed`.
    pub(crate) fn read_new_passphrase(&self, allowed: bool) -> Result<Read<'_>> {
        let passphrase = self.read_passphrase()?;
        match passphrase.is_empty() && !allowed {
            true => Err(Error::new(ErrorKind::EmptyPassphrase)),
            false => Ok(passphrase),
        }
    }

    /// The volume key, if this is one; `len` is its length where the header states it.
    pub(crate) fn read_volume_key(&self, len: Option<usize>) -> Result<Option<Read<'_>>> {
        match self {
            Self::VolumeKey(secret) => Ok(Some(Read::Given(secret))),
            Self::VolumeKeyFile(path) => {
                let len = len.ok_or_else(|| {
                    Error::refused(
                        "no keyslot in the header states the volume key's length: give the key itself",
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

    /// Skips this many bytes at the start of the file. See [`Key`] for an example.
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

/// A secret that was already in memory, or one that was read for this call.
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
