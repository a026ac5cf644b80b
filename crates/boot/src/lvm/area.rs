//! A metadata area: one sector of header, then a ring in which each new text is written behind the one before. A text that
//! does not fit at the end goes on behind the header. Little-endian.
//!
//! ```text
//! 0    4  checksum of the sector from byte 4 on
//! 4   16  20 4c 56 4d 32 20 78 5b 35 41 25 72 30 4e 2a 3e
//! 20   4  version (1)
//! 24   8  where this area starts on the device, in bytes
//! 32   8  how long it is
//! 40 4×24 texts: offset in the area (8), length (8), checksum (4), flags (4; 1: ignored)
//!         the first is valid; the second is one that is being written
//! ```

use super::label::Area;
use super::{Error, FIRST, Read, SECTOR, checksum, u32_at, u64_at};

/// How many bytes of metadata may still be read, of all devices together: anybody's stick may have some.
#[derive(Debug)]
pub struct Budget(u64);

impl Default for Budget {
    fn default() -> Self {
        Self(ALL)
    }
}

impl Budget {
    fn take(&mut self, length: u64) -> Result<(), Error> {
        let most = || format!("{length} bytes of metadata; the limit for all devices together is {ALL}");
        self.0 = self.0.checked_sub(length).ok_or_else(|| Error::Field(most()))?;
        Ok(())
    }
}

/// The valid text of an area; `None` if it has none, as that of a physical volume without a group.
///
/// # Errors
/// [`Error::Unreadable`], [`Error::Checksum`], [`Error::Field`].
pub fn text(area: Area, budget: &mut Budget, read: Read<'_>) -> Result<Option<Vec<u8>>, Error> {
    let mut header = [0; HEADER];
    fill(read, area.offset, &mut header)?;
    let Some(place) = Place::parse(&header, area)? else { return Ok(None) };
    budget.take(place.length as u64)?;
    let mut text = vec![0; place.length];
    let (first, second) = text.split_at_mut(place.before_end);
    fill(read, place.start, first)?;
    fill(read, area.offset + SECTOR, second)?;
    match checksum(FIRST, &text) == place.checksum {
        true => Ok(Some(text)),
        false => Err(Error::Checksum("the metadata")),
    }
}

fn fill(read: Read<'_>, offset: u64, room: &mut [u8]) -> Result<(), Error> {
    if room.is_empty() || read(offset, room) { Ok(()) } else { Err(Error::Unreadable(offset)) }
}

/// Where a text is.
struct Place {
    /// On the device, in bytes.
    start: u64,
    length: usize,
    /// How much of it is there; the rest goes on behind the header.
    before_end: usize,
    checksum: u32,
}

impl Place {
    fn parse(header: &[u8; HEADER], area: Area) -> Result<Option<Self>, Error> {
        if header[4..20] != MAGIC[..] {
            return Err(Error::Field("the metadata area has no header".into()));
        }
        if u32_at(header, 0) != Some(checksum(FIRST, &header[4..])) {
            return Err(Error::Checksum("the metadata area"));
        }
        let field = |at| u64_at(header, at).unwrap_or_default();
        let size = field(32);
        if u32_at(header, 20) != Some(1) || field(24) != area.offset {
            return Err(Error::Field("the metadata area has an unknown version or a wrong offset".into()));
        }
        let (offset, length) = (field(TEXT), field(TEXT + 8));
        let flags = u32_at(header, TEXT + 20).unwrap_or_default();
        if offset == 0 || length == 0 || flags & IGNORED != 0 {
            return Ok(None);
        }
        if length > LONGEST {
            return Err(Error::Field(format!("{length} bytes of metadata; the limit is {LONGEST}")));
        }
        let fits = (SECTOR..size).contains(&offset) && length <= size - SECTOR;
        let start = area.offset.checked_add(offset).filter(|_| area.offset.checked_add(size).is_some());
        let Some(start) = start.filter(|_| fits) else {
            return Err(Error::Field(format!(
                "{length} bytes of metadata at {offset} do not fit into {size}"
            )));
        };
        let before_end = length.min(size - offset) as usize;
        let checksum = u32_at(header, TEXT + 16).unwrap_or_default();
        Ok(Some(Self { start, length: length as usize, before_end, checksum }))
    }
}

const HEADER: usize = SECTOR as usize;
const MAGIC: &[u8; 16] = b"\x20LVM2\x20x[5A%r0N*>";
const TEXT: usize = 40;
const IGNORED: u32 = 1;
/// In bytes. lvm2's areas are of 1 MiB unless larger ones are asked for, and a text is at most half as long.
const LONGEST: u64 = 4 << 20;
/// In bytes: sixty-four physical volumes with half a MiB each.
const ALL: u64 = 32 << 20;
