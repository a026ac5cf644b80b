//! What a suspended volume is rebuilt from, and how the right key is recognised.

use super::error::{Error, Result, SizeFault};
use keyway_crypto::kdf::pbkdf2;
use keyway_crypto::{Cpu, Hash, Secret, Stop};
use keyway_volume::reencrypt::{Hold, Job, Online, Options, UnderWay, VolumeKeys};
use keyway_volume::{Keys, Layout, Luks, MappedSegment, Mapping, OsRandom, Random, Storage, Volume};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

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
    /// What describes it, and recognizes its key.
    pub origin: Origin,
}

/// What describes a volume.
pub enum Origin {
    /// Its header, as it was when the volume was opened or was re-encrypted.
    Luks {
        /// The header.
        luks: Box<Luks>,
        /// Whether it is on the data device.
        holds_header: bool,
        /// The lock of the re-encryption in whose middle the volume was opened.
        hold: Option<Arc<Hold>>,
    },
    /// The key that opened it: it has no LUKS header.
    Other(KeyDigest),
}

impl Source {
    /// Builds the volume with its keys, which were checked.
    pub(super) fn build(&self, keys: Keys<'_>) -> Result<Volume> {
        let volume = Volume::new(Arc::clone(&self.storage), &self.layout, keys, Cpu::detect());
        volume.map_err(|error| self.failed(error))
    }

    /// Builds the volume again, if this is its key.
    pub(super) fn rebuild(&self, key: &Secret) -> Result<Volume> {
        let checked = match &self.origin {
            Origin::Luks { luks, .. } => keyway_volume::verify_volume_key(luks, key).map(drop),
            Origin::Other(digest) => digest.check(key),
        };
        checked.map_err(|error| self.failed(error))?;
        self.build(key.into())
    }

    /// How the first encrypted segment is encrypted: "aes-xts-plain64", and the size of its sectors in
    /// bytes. Nothing and 0 where none is.
    pub fn encryption(&self) -> (String, u64) {
        let found = self.layout.segments.iter().find_map(|MappedSegment { mapping, .. }| match mapping {
            Mapping::Crypt { spec, .. } => Some((spec.to_string(), mapping.unit())),
            Mapping::Chain { ciphers, mode, .. } => Some((format!("{ciphers}-{mode}"), mapping.unit())),
            Mapping::Linear | Mapping::Zero | Mapping::Bytes(_) => None,
        });
        found.unwrap_or_default()
    }

    /// Whether a decryption has left nothing of it encrypted.
    pub(super) fn is_plaintext(&self) -> bool {
        let is_linear = self.layout.segments.iter().all(|segment| segment.mapping.is_linear());
        is_linear && matches!(self.origin, Origin::Luks { .. })
    }

    /// The length of the volume key in bits, where a header says it.
    pub(super) fn key_bits(&self) -> Option<u64> {
        match &self.origin {
            Origin::Luks { luks, .. } => luks.header().volume_key_len().map(|bytes| 8 * bytes as u64),
            Origin::Other(_) => None,
        }
    }

    /// Whether the volume was opened in the middle of a re-encryption: its size cannot be changed
    /// then, nor its keys taken away.
    pub(super) fn is_reencrypting(&self) -> bool {
        match &self.origin {
            Origin::Luks { luks, .. } => matches!(UnderWay::of(luks.header()), Ok(Some(_))),
            Origin::Other(_) => false,
        }
    }

    /// Goes on with the re-encryption that the header describes by now.
    pub(super) fn reencrypt(&self, keys: VolumeKeys, zone: Option<u64>) -> Result<Online> {
        let Origin::Luks { luks, holds_header, hold } = &self.origin else {
            return Err(Error::OnlyLuks2);
        };
        let options = Options {
            zone,
            data_len: None,
            latency: Some(LATENCY),
            holds_header: *holds_header,
            only_recovers: false,
            hold: hold.clone(),
        };
        let go_on = || {
            // Of what the volume was opened with: another header may have been put there since.
            if !self.is_reencrypting() {
                let old = keys.old().ok_or(keyway_volume::Error::WrongVolumeKey)?;
                keyway_volume::verify_volume_key(luks, old)?;
            }
            let header = luks.again_for_writing()?;
            let job = Job::resume(header, Arc::clone(&self.storage), &keys, &options, &mut OsRandom)?;
            Online::new(job, keys, *holds_header)
        };
        go_on().map_err(|error| self.failed(error))
    }

    /// The same volume, as `luks` describes it now.
    pub(super) fn with_header(&self, layout: Layout, luks: Luks) -> Self {
        let (holds_header, hold) = match &self.origin {
            Origin::Luks { holds_header, hold, .. } => (*holds_header, hold.clone()),
            Origin::Other(_) => (false, None),
        };
        Self {
            device: self.device.clone(),
            storage: Arc::clone(&self.storage),
            layout,
            declared_len: self.declared_len,
            origin: Origin::Luks { luks: Box::new(luks), holds_header, hold },
        }
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
            Some(size) if !size.is_multiple_of(volume.unit()) => {
                Err(refused(SizeFault::Unaligned { size, sector: volume.unit() }))
            }
            size => volume.resized(size.or(self.declared_len)).map_err(|error| self.failed(error)),
        }
    }

    pub(super) fn failed(&self, error: keyway_volume::Error) -> Error {
        Error::Volume { device: self.device.clone(), error }
    }
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

/// How long a request may have to wait for the zone that is being re-encrypted.
const LATENCY: Duration = Duration::from_millis(100);
