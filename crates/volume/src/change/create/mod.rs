//! Creates volumes: the header is first planned as bytes, then written, key material first and
//! header last.

mod luks1;
mod luks2;
mod rules;

pub use luks1::{Luks1Params, create_luks1, plan_luks1, plan_luks1_on};
pub(crate) use luks2::new_digest;
pub use luks2::{Luks2Params, create_luks2, plan_luks2, plan_luks2_on};
pub use rules::{check_key_bits, check_reproducible, check_sector_size, default_key_bits, random_volume_key};

use crate::device::lock::{HeaderLock, LockMode};
use crate::device::probe;
use crate::device::storage::{Exclusive, Topology, extend_to};
use crate::device::stream::Meter;
use crate::error::shared;
use crate::header::luks::{Header, read_header};
use crate::{Error, Layout, Locking, Luks, Random, Refusal, Result, Storage};
use std::ops::Range;
use std::sync::Arc;

/// A new header as bytes, not yet written anywhere.
pub struct Plan {
    /// What the header says.
    pub header: Header,
    /// Where the data starts on the data device, in bytes.
    pub data_offset: u64,
    /// Where header and keyslots end, in bytes: at most
    /// `data_offset`, unless the header is detached.
    pub header_end: u64,
    /// Offset and content of the pieces that make up the header, in the order in which they must be
    /// written: key material first. Everything between them is padding.
    pub writes: Vec<(u64, Vec<u8>)>,
    /// Keyslot areas, to be filled with random bytes before anything is written to them.
    pub(crate) areas: Vec<Range<u64>>,
}

impl Plan {
    /// Maps the plaintext to the data device.
    pub fn layout(&self) -> Result<Layout> {
        self.header.layout()
    }

    /// Writes the header to empty storage: holes stay holes, and the bytes that make it a volume
    /// are written last.
    pub fn write_to_new(&self, storage: &dyn Storage) -> Result<()> {
        for (at, bytes) in &self.writes {
            storage.write_at(bytes, *at).map_err(io("writing"))?;
        }
        storage.flush().map_err(io("flushing"))
    }

    /// Zeroes everything before the data, and all signatures, so that an old header cannot claim
    /// the new data.
    pub fn wipe(&self, storage: &Exclusive) -> Result<()> {
        zero(&***storage, 0..self.data_offset, &Meter::new())?;
        wipe_signatures(&***storage)
    }

    /// Overwrites the previous content, then writes the header: there is no valid volume until its
    /// last bytes are written. The storage is claimed before the first write, unless it is already.
    pub fn write(
        self,
        storage: Arc<dyn Storage>,
        detached: bool,
        locking: Locking,
        rng: &mut dyn Random,
    ) -> Result<Luks> {
        self.write_metered(storage, detached, locking, rng, &Meter::new())
    }

    /// As [`Plan::write`]; `meter` counts the wiped bytes, and can stop the wiping. No volume
    /// exists then.
    ///
    /// # Errors
    /// [`keyway_crypto::Error::Stopped`] after [`Meter::stop`]; the error of writing.
    pub fn write_metered(
        self,
        storage: Arc<dyn Storage>,
        detached: bool,
        locking: Locking,
        rng: &mut dyn Random,
        meter: &Meter,
    ) -> Result<Luks> {
        let target = Exclusive::claim(Arc::clone(&storage))?;
        let lock = HeaderLock::acquire(&*storage, LockMode::Exclusive, locking)?;
        if !detached && storage.can_grow() {
            extend_to(&*storage, self.data_offset).map_err(io("making room for"))?;
        }
        zero(&*storage, 0..self.zeroed(detached), meter)?;
        wipe_signatures(&*storage)?;
        for area in &self.areas {
            fill(&*storage, area.clone(), meter, &mut |block| rng.fill(block))?;
        }
        for (at, bytes) in &self.writes {
            storage.write_at(bytes, *at).map_err(io("writing"))?;
            storage.flush().map_err(io("flushing"))?;
        }
        let (header, damaged) = read_header(&*storage)?;
        if damaged || !header.is_same_state(&self.header) {
            return Err(io("reading back")(shared::other_than_written()));
        }
        drop((lock, target));
        Ok(Luks::from_parts(storage, header, locking))
    }

    /// Bytes that [`Plan::write`] wipes.
    pub fn wiped(&self, detached: bool) -> u64 {
        self.zeroed(detached) + self.areas.iter().map(|area| area.end - area.start).sum::<u64>()
    }

    /// The end of the range that is zeroed before anything else is written.
    fn zeroed(&self, detached: bool) -> u64 {
        match (detached, self.data_offset) {
            (true, _) => DETACHED_WIPE.min(self.header_end),
            (false, offset) if offset > MOST_WIPED => self.header_end,
            (false, offset) => offset,
        }
    }
}

/// Refuses a device that could not hold a header, before anybody is asked for anything.
///
/// # Errors
/// [`Refusal::Zoned`].
pub fn check_place(storage: &dyn Storage) -> Result<()> {
    match Topology::of(storage).zoned {
        true => Err(shared::zoned("a LUKS header")),
        false => Ok(()),
    }
}

/// What is known about the storage that a plan is for. Lengths are in bytes.
#[derive(Debug, Clone, Copy)]
enum Room {
    /// Nothing: the storage will be made to fit.
    Unknown,
    /// It has this fixed length.
    Fixed(u64),
    /// It has this length, and grows to hold the header.
    Growing(u64),
}

impl Room {
    fn of(storage: &dyn Storage) -> Self {
        if storage.can_grow() { Self::Growing(storage.len()) } else { Self::Fixed(storage.len()) }
    }

    fn len(self) -> Option<u64> {
        match self {
            Self::Unknown => None,
            Self::Fixed(len) | Self::Growing(len) => Some(len),
        }
    }

    /// Refuses a header or data area that the storage cannot hold.
    fn check(self, detached: bool, data_offset: u64) -> Result<()> {
        match self {
            Self::Fixed(len) if !detached && len <= data_offset => Err(Refusal::NoRoom.because(format!(
                "Device is too small: header and keyslots take {data_offset} bytes, it has {len}, and there \
                must be room for data too."
            ))),
            _ => Ok(()),
        }
    }
}

impl From<Option<u64>> for Room {
    fn from(storage_len: Option<u64>) -> Self {
        storage_len.map_or(Self::Unknown, Self::Fixed)
    }
}

/// Refuses an explicit offset, in 512-byte sectors, that is not a multiple of the largest sector
/// size.
fn check_offset(sectors: Option<u64>) -> Result<()> {
    match sectors {
        Some(sectors) if !sectors.is_multiple_of(8) => {
            Err(Refusal::Geometry.because("Data offset is not multiple of 4096 bytes."))
        }
        _ => Ok(()),
    }
}

/// Cipher name and mode, which LUKS1 stores separately; "aes" alone means aes-cbc-plain, "null"
/// cipher_null-ecb (cryptsetup's lib/utils_crypt.c).
fn name_and_mode(cipher: &str) -> (&str, &str) {
    match cipher.split_once('-') {
        Some(both) => both,
        None if matches!(cipher, "null" | "cipher_null") => ("cipher_null", "ecb"),
        None if cipher.starts_with("capi:") => (cipher, ""),
        None => (cipher, "cbc-plain"),
    }
}

/// Overwrites a range with zeros.
pub(crate) fn zero(storage: &dyn Storage, range: Range<u64>, meter: &Meter) -> Result<()> {
    fill(storage, range, meter, &mut |block| {
        block.fill(0);
        Ok(())
    })?;
    storage.flush().map_err(io("flushing"))
}

/// Writes a range block by block.
fn fill(
    storage: &dyn Storage,
    range: Range<u64>,
    meter: &Meter,
    content: &mut dyn FnMut(&mut [u8]) -> Result<()>,
) -> Result<()> {
    let mut block = vec![0; WIPE_BLOCK.min((range.end - range.start) as usize)];
    let mut at = range.start;
    while at < range.end {
        if meter.is_stopped() {
            return Err(keyway_crypto::Error::Stopped.into());
        }
        let len = block.len().min((range.end - at) as usize);
        content(&mut block[..len])?;
        storage.write_at(&block[..len], at).map_err(io("wiping"))?;
        at += len as u64;
        meter.add(len as u64);
    }
    Ok(())
}

fn wipe_signatures(storage: &dyn Storage) -> Result<()> {
    probe::wipe(storage).map_err(|source| Error::Io { what: "wiping old signatures".into(), source })
}

fn io(doing: &'static str) -> impl Fn(std::io::Error) -> Error {
    move |source| Error::Io { what: format!("{doing} the new header"), source }
}

/// Bytes that are zeroed first on a detached header's storage.
const DETACHED_WIPE: u64 = 4096;
/// If the data starts beyond this, the space between header and data is left unchanged.
const MOST_WIPED: u64 = 160 << 20;
const WIPE_BLOCK: usize = 1 << 20;
