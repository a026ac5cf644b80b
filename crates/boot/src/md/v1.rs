//! A superblock of version 1. Little-endian.
//!
//! ```text
//! 0    4  magic                      96   4  bitmap, in sectors from here
//! 4    4  1                          128  8  where data begin, in sectors
//! 8    4  features                   144  8  this superblock's sector
//! 16  16  UUID of the array          160  4  number of this member
//! 32  32  its name                   200  8  events
//! 64   8  when it was made           208  8  up to where it is in sync (all bits: wholly)
//! 72   4  level                      216  4  checksum, of the roles too
//! 76   4  layout                     220  4  how many roles follow
//! 88   4  chunk                      256  2  each: a place, or 0xfffd journal, 0xfffe gone, 0xffff spare
//! 92   4  members
//! ```

use super::superblock::{SECTOR, checksum, is_marked};
use super::{Error, Level, NO_COUNT, RESHAPED, Role, Superblock, Uuid, Version, u16_at, u32_at, u64_at};

/// The superblock in these bytes, which are at `place` of the device; `None` if there is none of that place.
pub(super) fn parse(bytes: &[u8], version: Version, place: u64) -> Result<Option<Superblock>, Error> {
    // One that is of another place belongs to a partition of this disk, or to the disk of this partition.
    let is_here =
        is_marked(bytes) && u32_at(bytes, 4) == Some(1) && u64_at(bytes, 144) == Some(place / SECTOR);
    if !is_here {
        return Ok(None);
    }
    fields(bytes, version).transpose().unwrap_or(Err(Error::Field("it is cut off"))).map(Some)
}

fn fields(bytes: &[u8], version: Version) -> Result<Option<Superblock>, Error> {
    let Some(count) = u32_at(bytes, 220).map(|count| count as usize) else { return Ok(None) };
    if count > MOST_ROLES {
        return Err(Error::Field("it has too many members"));
    }
    let Some(summed) = bytes.get(..ROLES + 2 * count) else { return Ok(None) };
    if u32_at(bytes, SUM) != Some(checksum(summed, SUM)) {
        return Err(Error::Checksum);
    }
    let read = || {
        let features = u32_at(bytes, 8)?;
        let name = bytes.get(32..64)?.split(|byte| *byte == 0).next()?;
        let roles = (0..count).map(|number| u16_at(bytes, ROLES + 2 * number).map(role));
        Some(Superblock {
            version,
            uuid: Uuid(bytes.get(16..32)?.try_into().ok()?),
            name: String::from_utf8_lossy(name).into_owned(),
            minor: None,
            // Microseconds are above.
            created: u64_at(bytes, 64)? & ((1 << 40) - 1),
            level: Level::new(u32_at(bytes, 72)?.cast_signed(), u32_at(bytes, 76)?),
            layout: (u32_at(bytes, 76)?, u32_at(bytes, 88)?),
            members: u32_at(bytes, 92)?,
            events: u64_at(bytes, 200)?,
            number: u32_at(bytes, 160)?,
            roles: roles.collect::<Option<_>>()?,
            is_clean: u64_at(bytes, 208)? == u64::MAX,
            is_filling: features & FILLING != 0,
            is_replacement: features & REPLACEMENT != 0,
            has_log: features & (LOG | LOGS) != 0,
            needs: NEEDS.iter().find(|(bits, _)| features & bits != 0).map(|(_, what)| *what),
        })
    };
    let found = read();
    if found.as_ref().is_some_and(|found| found.members == 0 || found.members as usize > MOST_ROLES) {
        return Err(Error::Field(NO_COUNT));
    }
    Ok(found)
}

fn role(role: u16) -> Role {
    match role {
        0xffff => Role::Spare,
        0xfffd => Role::Journal,
        active if active <= LAST_ROLE => Role::Active(u32::from(active)),
        _ => Role::Gone,
    }
}

const SUM: usize = 216;
const ROLES: usize = 256;
/// What fits into 4 KiB.
const MOST_ROLES: usize = 1920;
const LAST_ROLE: u16 = 0xff00;
const FILLING: u32 = 2;
const REPLACEMENT: u32 = 16;
const LOG: u32 = 1 << 10;
const LOGS: u32 = 1 << 11;
/// Bits of features, and what they mean.
const NEEDS: &[(u32, &str)] = &[
    (4 | 32 | 64, RESHAPED),
    (1 << 8, "its bitmap is that of a cluster"),
    (1 << 9, "it has a journal of writes"),
    (!0x1fff, "it has features that are newer than this program"),
];
