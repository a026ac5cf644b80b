//! What a suspended volume is rebuilt from, and how the right key is recognised.

use crate::device::explain;
use crate::say::failure::{Exit, Failure, Result};
use keyway_crypto::kdf::pbkdf2;
use keyway_crypto::{Cpu, Hash, Secret, Stop};
use keyway_volume::{Layout, Luks, OsRandom, Random, Storage, Volume};
use std::path::PathBuf;
use std::sync::Arc;

/// A volume without its key.
pub(crate) struct Source {
    /// The data device's path.
    pub(crate) device: PathBuf,
    /// The data device.
    pub(crate) storage: Arc<dyn Storage>,
    /// Where the plaintext is on the data device.
    pub(crate) layout: Layout,
    /// How a key is checked.
    pub(crate) check: Check,
}

impl Source {
    /// Builds the volume with its key.
    pub(crate) fn build(&self, key: &Secret) -> Result<Volume> {
        self.check.verify(key).map_err(|e| explain::on_volume(&self.device, &e))?;
        let volume = Volume::new(Arc::clone(&self.storage), &self.layout, key, Cpu::detect());
        volume.map_err(|e| explain::on_volume(&self.device, &e))
    }

    /// `volume` with `size` bytes; `None` means as many as its header says, or its device has by
    /// now. The error messages are cryptsetup's.
    pub(crate) fn resized(&self, volume: &Volume, size: Option<u64>) -> Result<Volume> {
        let device = self.device.display();
        let has = self.storage.refresh_len();
        let has = has.map_err(|e| {
            Failure::new(Exit::Device, format!("The size of device {device} is not known: {e}."))
        })?;
        let Some(last) = self.layout.segments.last() else {
            return Err(refused(format!("Device {device} has a table that cannot be resized.")));
        };
        let room = match has.checked_sub(last.storage_offset).filter(|room| *room > 0) {
            Some(room) => room,
            None => return Err(refused(format!("Requested offset is beyond real size of device {device}."))),
        };
        let by_header = last.length.filter(|_| self.check.has_header()).map(|len| last.plaintext_start + len);
        match size {
            Some(size) if size > last.plaintext_start.saturating_add(room) => {
                Err(refused(format!("Device {device} is too small.")))
            }
            Some(size) if !size.is_multiple_of(volume.unit()) => {
                Err(refused("Device size is not aligned to requested sector size.".into()))
            }
            size => volume.resized(size.or(by_header)).map_err(|e| explain::on_volume(&self.device, &e)),
        }
    }
}

/// How the right volume key is recognised.
pub(crate) enum Check {
    /// By the header's digest.
    Luks(Box<Luks>),
    /// For a plain volume, which has no header: by a digest of its key, made when it was opened.
    Digest(KeyDigest),
}

impl Check {
    /// For a volume without a header that `key` has opened.
    pub(crate) fn of_key(key: &Secret) -> Result<Self> {
        let mut salt = [0; SALT_LEN];
        OsRandom.fill(&mut salt)?;
        let digest = digest(key, &salt)?;
        Ok(Self::Digest(KeyDigest { salt, digest }))
    }

    fn has_header(&self) -> bool {
        matches!(self, Self::Luks(_))
    }

    fn verify(&self, key: &Secret) -> keyway_volume::Result<()> {
        match self {
            Self::Luks(luks) => keyway_volume::verify_volume_key(luks, key).map(drop),
            Self::Digest(known) if digest(key, &known.salt)?.ct_eq(known.digest.expose()) => Ok(()),
            Self::Digest(_) => Err(keyway_volume::Error::WrongPassphrase),
        }
    }
}

/// A digest like the one LUKS keeps of its volume key: PBKDF2 with a salt.
pub(crate) struct KeyDigest {
    salt: [u8; SALT_LEN],
    digest: Secret,
}

fn digest(key: &Secret, salt: &[u8]) -> keyway_volume::Result<Secret> {
    let mut digest = Secret::zeroed(DIGEST_LEN);
    pbkdf2(Hash::Sha256, key.expose(), salt, ITERATIONS, digest.expose_mut(), &Stop::default())?;
    Ok(digest)
}

fn refused(message: String) -> Failure {
    Failure::new(Exit::Parameters, message)
}

const SALT_LEN: usize = 32;
const DIGEST_LEN: usize = 32;

/// Takes a few milliseconds.
const ITERATIONS: u32 = 20_000;
