//! A superblock of version 0.90: 1024 words in the byte order of the machine that made it, here little-endian.
//!
//! ```text
//! word 0  magic              word 32  when it was written         word 128  members, 32 words each:
//!      1  0                       33  state (1: clean)                 +0  number
//!      2  90 (91: reshaped)       38  checksum                         +3  place
//!      5  UUID, its first word    39  events                           +4  state (1: faulty, 2: active,
//!      6  when it was made        64  layout                               4: in sync, 8: removed)
//!      7  level                      65  chunk                    word 992  this member: the same
//!      8  used size in KiB
//!     10  members
//!     11  number of the device
//!     13  UUID, three more words
//! ```

use super::superblock::{MAGIC, checksum, is_marked};
use super::{Error, Level, NO_COUNT, RESHAPED, Role, Superblock, Uuid, Version, u32_at, u64_at};

/// The superblock in these bytes, which are at `place` of the device; `None` if there is none.
pub(super) fn parse(bytes: &[u8], place: u64) -> Result<Option<Superblock>, Error> {
    if bytes.get(..4) == Some(&MAGIC.to_be_bytes()) && bytes.get(4..12) == Some(&[0, 0, 0, 0, 0, 0, 0, 90]) {
        return Err(Error::Field("a machine with another byte order made it"));
    }
    let word = |number: usize| u32_at(bytes, 4 * number);
    // At the end of the last partition, the disk seems to have one, too.
    let fits = word(8).is_some_and(|size| u64::from(size) << 10 <= place);
    if !is_marked(bytes) || word(1) != Some(0) || !fits {
        return Ok(None);
    }
    if word(SUM) != Some(checksum(bytes, 4 * SUM)) {
        return Err(Error::Checksum);
    }
    let read = || {
        let uuid: Vec<u8> =
            [5, 13, 14, 15].iter().filter_map(|at| word(*at)).flat_map(u32::to_be_bytes).collect();
        let roles = (0..MOST).map(|number| {
            let member = MEMBERS + EACH * number;
            Some(role(word(member + 4)?, word(member + 3)?))
        });
        Some(Superblock {
            version: Version::V0,
            uuid: Uuid(uuid.try_into().ok()?),
            name: String::new(),
            minor: word(11),
            created: u64::from(word(6)?),
            level: Level::new(word(7)?.cast_signed(), word(64)?),
            layout: (word(64)?, word(65)?),
            members: word(10)?,
            events: u64_at(bytes, 4 * 39)?,
            number: word(THIS)?,
            roles: roles.collect::<Option<_>>()?,
            is_clean: word(33)? & 1 != 0,
            is_filling: false,
            is_replacement: false,
            has_log: false,
            needs: (word(2)? != 90).then_some(RESHAPED),
        })
    };
    match read() {
        Some(found) if found.members == 0 || found.members as usize > MOST => Err(Error::Field(NO_COUNT)),
        found => Ok(found),
    }
}

fn role(state: u32, place: u32) -> Role {
    match state {
        state if state & (FAULTY | REMOVED) != 0 => Role::Gone,
        state if state & IN_SYNC != 0 => Role::Active(place),
        _ => Role::Spare,
    }
}

const SUM: usize = 38;
const MEMBERS: usize = 128;
const EACH: usize = 32;
const MOST: usize = 27;
const THIS: usize = 992;
const FAULTY: u32 = 1;
const IN_SYNC: u32 = 4;
const REMOVED: u32 = 8;
