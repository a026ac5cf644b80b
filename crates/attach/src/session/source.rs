//! What a suspended volume is rebuilt from, and how the right key is recognised.

use super::error::{Error, Result, SizeFault};
use keyway_crypto::kdf::pbkdf2;
use keyway_crypto::{Cpu, Hash, Secret, Stop};
use keyway_volume::{Layout, OsRandom, Random, Storage, Volume};
use std::path::PathBuf;
use std::sync::Arc;

/// A volume without its key.
pub struct Source {
    /// The data device's path.
    pub device: PathBuf,
    /// The data device.
    pub storage: Arc<dyn Storage>,
    /// Where the plaintext is on the data device.
    pub layout: Layout,
    /// The size that the volume's header gives it, if it has a header and that says one.
    pub declared_len: Option<u64>,
    /// How a key is checked that is to open it again.
    pub check: Box<dyn KeyCheck>,
}

impl Source {
    /// Builds the volume with its key, which was checked.
    pub(super) fn build(&self, key: &Secret) -> Result<Volume> {
        let volume = Volume::new(Arc::clone(&self.storage), &self.layout, key, Cpu::detect());
        volume.map_err(|error| self.failed(error))
    }

    /// Builds the volume again, if this is its key.
    pub(super) fn rebuild(&self, key: &Secret) -> Result<Volume> {
        self.check.check(key).map_err(|error| self.failed(error))?;
        self.build(key)
    }

    /// `volume` with `size` bytes; `None` means as many as its header says, or its device has by
    /// now.
    pub(super) fn resized(&self, volume: &Volume, size: Option<u64>) -> Result<Volume> {
        let refused = |fault| Error::Size { device: self.device.clone(), fault };
        let has = self.storage.refresh_len().map_err(|why| refused(SizeFault::Unknown(why)))?;
        let last = self.layout.segments.last().ok_or_else(|| refused(SizeFault::Fixed))?;
        let room = has.checked_sub(last.storage_offset).filter(|room| *room > 0);
        let room = room.ok_or_else(|| refused(SizeFault::BeyondDevice))?;
        match size {
            Some(size) if size > last.plaintext_start.saturating_add(room) => {
                Err(refused(SizeFault::TooSmall))
            }
            Some(size) if !size.is_multiple_of(volume.unit()) => Err(refused(SizeFault::Unaligned)),
            size => volume.resized(size.or(self.declared_len)).map_err(|error| self.failed(error)),
        }
    }

    fn failed(&self, error: keyway_volume::Error) -> Error {
        Error::Volume { device: self.device.clone(), error }
    }
}

/// How the right volume key is recognised when a suspended volume is to go on.
pub trait KeyCheck: Send + Sync {
    /// Checks a key.
    ///
    /// # Errors
    /// [`WrongVolumeKey`](keyway_volume::Error::WrongVolumeKey) or
    /// [`WrongPassphrase`](keyway_volume::Error::WrongPassphrase).
    fn check(&self, key: &Secret) -> keyway_volume::Result<()>;
}

/// For a volume without a header: a digest of the key that opened it, like the one that LUKS keeps
/// of its volume key, PBKDF2 with a salt.
pub struct KeyDigest {
    salt: [u8; SALT_LEN],
    digest: Secret,
}

impl KeyDigest {
    /// Of the key that has opened the volume.
    ///
    /// # Errors
    /// The system gives no random bytes.
    pub fn of(key: &Secret) -> keyway_volume::Result<Self> {
        let mut salt = [0; SALT_LEN];
        OsRandom.fill(&mut salt)?;
        let digest = digest(key, &salt)?;
        Ok(Self { salt, digest })
    }
}

impl KeyCheck for KeyDigest {
    fn check(&self, key: &Secret) -> keyway_volume::Result<()> {
        match digest(key, &self.salt)?.ct_eq(self.digest.expose()) {
            true => Ok(()),
            false => Err(keyway_volume::Error::WrongPassphrase),
        }
    }
}

fn digest(key: &Secret, salt: &[u8]) -> keyway_volume::Result<Secret> {
    let mut digest = Secret::zeroed(DIGEST_LEN);
    pbkdf2(Hash::Sha256, key.expose(), salt, ITERATIONS, digest.expose_mut(), &Stop::default())?;
    Ok(digest)
}

const SALT_LEN: usize = 32;
const DIGEST_LEN: usize = 32;

/// Takes a few milliseconds.
const ITERATIONS: u32 = 20_000;
