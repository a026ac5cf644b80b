//! A LUKS header: its content and its edits.

mod keys;
mod keyslots;
mod names;
mod sealing;
mod tokens;
mod try_key;
mod whole;

pub use keys::{LastKeyslot, NewKeyslot};
pub use keyslots::{Keyslot, Priority};
pub use tokens::{NewToken, StoredToken};

use crate::error::At;
use crate::{Error, ErrorKind, Key, Location, Result, Unlock, Version, VolumeKey};
use keyway_crypto::Secret;
use keyway_format::Sectors;
use keyway_format::luks2::{SegmentKind, SegmentSize};
use keyway_volume::trust::{admission, facts};
use keyway_volume::{Access, DataDevice, Luks, UnlockTimes};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// A LUKS header, of either version: from [`Device::header`](crate::Device::header). Its edits need
/// a device that is open for writing. Each edit takes the header's lock, fails if somebody else has
/// edited the header meanwhile, and writes in an order such that an interruption at any byte leaves
/// a header that opens. A header that does not match its seal is not edited, but for keyslots that
/// are removed, unless the seal is ignored ([`Unlock::ignore_seal`](crate::Unlock::ignore_seal)).
///
/// ```
/// # use keyway::*;
/// # let key = Key::passphrase("correct horse");
/// # let create = Create::luks2().kdf(NewKdf::pbkdf2(1000)).label("backup").uuid("d1a5e3a4-0000-4000-8000-3c0754d1a5e3");
/// # let device = create.in_memory(1 << 20, &key)?;
/// let header = device.header()?;
/// assert_eq!(header.version(), Version::Luks2);
/// assert_eq!(header.uuid(), "d1a5e3a4-0000-4000-8000-3c0754d1a5e3");
/// assert_eq!(header.label(), "backup");
/// assert_eq!(header.cipher().as_deref(), Some("aes-xts-plain64"));
/// assert_eq!(header.key_bits(), Some(512));
/// assert_eq!(header.sector_size(), 4096);
/// assert!(header.findings().is_empty() && !header.is_sealed());
/// let volume = device.unlock(&key)?;
/// assert_eq!((volume.version(), volume.keyslot()), (Some(header.version()), Some(0)));
/// assert_eq!(volume.uuid(), header.uuid());
/// # Ok::<(), keyway::Error>(())
/// ```
pub struct Header {
    pub(crate) luks: Luks,
    place: Location,
    options: Unlock,
    data: DataDevice,
    /// Identifies this value by its address.
    mark: Arc<()>,
    /// The volume key with which edits renew the seal.
    renewal: Option<Secret>,
}

/// A part of the data device, as the header describes it. See [`Header::segments`] for an example.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Segment {
    /// Where it starts on the data device, in bytes.
    pub offset: u64,
    /// Its length in bytes; `None`: to the end of the device.
    pub length: Option<u64>,
    /// The cipher, such as "aes-xts-plain64"; `None` where the segment is not encrypted, or is
    /// encrypted in a way that this build does not know.
    pub cipher: Option<String>,
    /// Encryption sector size in bytes.
    pub sector_size: u32,
}

impl Header {
    pub(crate) fn new(luks: Luks, place: Location, options: Unlock, data: DataDevice) -> Self {
        let luks = luks.ignoring_seal(options.terms().ignore_seal);
        Self { luks, place, options, data, mark: Arc::default(), renewal: None }
    }

    pub(crate) fn into_luks(self) -> Luks {
        self.luks
    }

    pub(crate) fn place(&self) -> &Location {
        &self.place
    }

    pub(crate) fn data_device(&self) -> DataDevice {
        self.data
    }

    /// The header, and the key with which its edits renew the seal.
    #[cfg(feature = "dm")]
    pub(crate) fn edited(&mut self) -> (&mut Luks, Option<&Secret>) {
        (&mut self.luks, self.renewal.as_ref())
    }

    pub(crate) fn limits(&self) -> keyway_volume::UnlockOptions {
        self.options.options()
    }

    pub(crate) fn takes_weak_ciphers(&self) -> bool {
        self.options.terms().weak_ciphers
    }

    /// The version. See [`Header`] for an example.
    pub fn version(&self) -> Version {
        Version::of(&self.luks)
    }

    /// The UUID, as written in the header. See [`Header`] for an example.
    pub fn uuid(&self) -> &str {
        self.luks.uuid()
    }

    /// The cipher of the first encrypted segment. See [`Header`] for an example.
    pub fn cipher(&self) -> Option<String> {
        self.segments().into_iter().find_map(|segment| segment.cipher)
    }

    /// The encryption sector size of the first segment, in bytes. See [`Header`] for an example.
    pub fn sector_size(&self) -> u32 {
        self.segments().first().map_or(SECTOR, |segment| segment.sector_size)
    }

    /// The volume key's length in bits; `None` where no keyslot states it. See [`Header`] for an
    /// example.
    pub fn key_bits(&self) -> Option<usize> {
        self.luks.header().volume_key_len().map(|bytes| 8 * bytes)
    }

    /// The parts of the device that hold data, in order. They are not checked: a header can claim
    /// anything.
    ///
    /// ```
    /// # use keyway::*;
    /// # let device = Create::luks1().kdf(NewKdf::pbkdf2(1000)).in_memory(1 << 20, &Key::passphrase("a"))?;
    /// let segments = device.header()?.segments();
    /// assert_eq!(segments.len(), 1);
    /// assert_eq!((segments[0].offset, segments[0].length), (2 << 20, None));
    /// # Ok::<(), keyway::Error>(())
    /// ```
    pub fn segments(&self) -> Vec<Segment> {
        match self.luks.header() {
            keyway_volume::Header::Luks1(header) => vec![Segment {
                offset: header.payload_offset.to_bytes().map_or(u64::MAX, |bytes| bytes.0),
                length: None,
                cipher: Some(header.cipher()),
                sector_size: SECTOR,
            }],
            keyway_volume::Header::Luks2 { metadata, .. } => {
                let segments = metadata.segments.values().filter(|segment| !segment.is_backup());
                segments.map(Segment::of_luks2).collect()
            }
        }
    }

    /// Its keyslots, in the order of their numbers; free ones are left out.
    ///
    /// ```
    /// # use keyway::*;
    /// # let device = Create::luks2().kdf(NewKdf::pbkdf2(1000)).in_memory(1 << 20, &Key::passphrase("a"))?;
    /// for keyslot in device.header()?.keyslots() {
    ///     if let Kdf::Pbkdf2 { hash, iterations, .. } = &keyslot.kdf {
    ///         println!("{}: {:?}, {iterations} iterations of {hash}", keyslot.number, keyslot.state);
    ///     }
    /// #   assert_eq!((keyslot.number, keyslot.state, keyslot.priority), (0, KeyslotState::Bound, Priority::Normal));
    /// }
    /// # Ok::<(), keyway::Error>(())
    /// ```
    pub fn keyslots(&self) -> Vec<Keyslot> {
        keyslots::keyslots(&self.luks)
    }

    /// Estimates how long this machine takes to unlock with a keyslot: a short measurement,
    /// multiplied by the keyslot's cost, over 256 MiB of memory at most. `threads` is the number of threads that the derivation may
    /// use.
    ///
    /// ```
    /// # use keyway::*;
    /// # use std::time::Duration;
    /// # let kdf = NewKdf::pbkdf2(1_000_000);
    /// # let device = Create::luks2().kdf(kdf).in_memory(1 << 20, &Key::passphrase("a"))?;
    /// let time = device.header()?.unlock_time(0, 4)?;
    /// assert!(time > Duration::from_millis(1) && time < Duration::from_secs(60));
    /// # Ok::<(), keyway::Error>(())
    /// ```
    ///
    /// # Errors
    /// There is no such keyslot, or this build does not know its key derivation function.
    pub fn unlock_time(&self, keyslot: u32, threads: usize) -> Result<Duration> {
        let found = facts::keyslots(self.luks.header()).into_iter().find(|known| known.number == keyslot);
        let found = found.ok_or_else(|| Error::refused(format!("keyslot {keyslot} is not active")));
        let keyslot = found.at(&self.place)?;
        let time = UnlockTimes::new(threads.max(1))
            .within(UnlockTimes::UNASKED_KIB)
            .of_keyslot(&keyslot)
            .ok_or_else(|| {
                let what = format!("the key derivation of keyslot {}", keyslot.number);
                Error::unsupported(what).at(&self.place)
            })?;
        Ok(Duration::try_from_secs_f64(time.likely).unwrap_or(Duration::MAX))
    }

    /// All objections to opening it, one line each, whatever the terms are. See [`Header`] for an
    /// example.
    pub fn findings(&self) -> Vec<String> {
        admission::findings(&self.luks, Some(self.data)).iter().map(ToString::to_string).collect()
    }

    /// Whether one of LUKS2's two copies is damaged or older than the other. Reading the header of
    /// a device that is open for writing repairs the copy, unless the device also holds something
    /// else. See [`Probe`](crate::Probe) for an example.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn has_damaged_copy(&self) -> Result<bool> {
        Ok(self.luks.damaged_copy().at(&self.place)?.is_some())
    }

    pub(crate) fn check_writable(&self) -> Result<()> {
        match self.luks.access() {
            Access::Write => Ok(()),
            Access::Read | Access::Probe => Err(Error::new(ErrorKind::ReadOnly).at(&self.place)),
        }
    }
}

impl Segment {
    fn of_luks2(segment: &keyway_format::luks2::Segment) -> Self {
        let (cipher, sector_size) = match &segment.kind {
            SegmentKind::Crypt { encryption, sector_size, .. } => (Some(encryption.clone()), *sector_size),
            SegmentKind::Linear | SegmentKind::Other(_) => (None, SECTOR),
        };
        let length = match segment.size {
            SegmentSize::Dynamic => None,
            SegmentSize::Fixed(bytes) => Some(bytes.0),
        };
        Self { offset: segment.offset.0, length, cipher, sector_size }
    }
}

impl fmt::Debug for Header {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("Header");
        shown.field("place", &self.place).field("version", &self.version()).field("uuid", &self.uuid());
        shown.finish_non_exhaustive()
    }
}

/// LUKS1's sector size, and the unit to which the kernel rounds a linear segment.
const SECTOR: u32 = Sectors::SIZE as u32;
