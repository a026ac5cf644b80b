//! The label of a physical volume, in one of a device's first four sectors. Little-endian.
//!
//! ```text
//! 0    8  "LABELONE"
//! 8    8  the number of this sector
//! 16   4  checksum of the sector from byte 20 on
//! 20   4  where the contents start, from the label on (32)
//! 24   8  "LVM2 001"
//! then    UUID (32 characters), size of the device in bytes (8)
//!         areas for data: offset and size in bytes (8 and 8) each, ended by an offset of 0
//!         areas for metadata: the same
//!         version (4), flags (4) and areas for boot loaders: not needed here
//! ```

use super::{Error, FIRST, Id, SECTOR, checksum, u32_at, u64_at};

/// What a label says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Label {
    /// The physical volume's UUID.
    pub id: Id,
    /// The device's size when it was made, in bytes.
    pub size: u64,
    /// Where metadata are.
    pub areas: Vec<Area>,
}

/// A part of a device, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Area {
    /// Where it starts.
    pub offset: u64,
    /// How long it is.
    pub size: u64,
}

impl Label {
    /// How much of a device's start has to be read for it.
    pub const START: usize = SECTORS * SECTOR as usize;

    /// The label in the first sectors of a device; `None` if there is none.
    ///
    /// # Errors
    /// If there is one that is damaged.
    pub fn find(start: &[u8]) -> Result<Option<Self>, Error> {
        let sectors = start.chunks_exact(SECTOR as usize).take(SECTORS).enumerate();
        let mut labels = sectors.filter(|(_, sector)| sector.starts_with(MAGIC) && &sector[24..32] == KIND);
        let Some((number, sector)) = labels.next() else { return Ok(None) };
        if u64_at(sector, 8) != Some(number as u64) {
            return Err(Error::Field("the label names a sector other than its own".into()));
        }
        if u32_at(sector, 16) != Some(checksum(FIRST, &sector[20..])) {
            return Err(Error::Checksum("the label"));
        }
        Self::contents(sector).map(Some).ok_or_else(|| Error::Field("the label is cut off".into()))
    }

    fn contents(sector: &[u8]) -> Option<Self> {
        let contents = sector.get(u32_at(sector, 20)? as usize..)?;
        let id = Id::of_bytes(contents.get(..ID)?)?;
        let (data, next) = areas(contents, ID + 8)?;
        let (areas, _) = areas(contents, next)?;
        (data.len() <= 1).then_some(Self { id, size: u64_at(contents, ID)?, areas })
    }
}

/// A list of areas, and where it ends.
fn areas(contents: &[u8], mut at: usize) -> Option<(Vec<Area>, usize)> {
    let mut found = Vec::new();
    loop {
        let area = Area { offset: u64_at(contents, at)?, size: u64_at(contents, at + 8)? };
        at += AREA;
        if area.offset == 0 {
            return Some((found, at));
        }
        found.push(area);
    }
}

const MAGIC: &[u8] = b"LABELONE";
const KIND: &[u8] = b"LVM2 001";
const SECTORS: usize = 4;
const ID: usize = 32;
const AREA: usize = 16;
