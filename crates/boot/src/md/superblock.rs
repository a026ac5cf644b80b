//! What a superblock says, whatever its version is, and where each version has it.
//!
//! ```text
//! 1.1    at the start
//! 1.2    4 KiB after the start
//! 1.0    8 to 12 KiB before the end, at a multiple of 4 KiB
//! 0.90   64 to 128 KiB before the end, at a multiple of 64 KiB
//! ```

use super::{Level, Uuid, u32_at};

/// What a superblock says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Superblock {
    /// Its version, which tells where it is.
    pub version: Version,
    /// The array's UUID.
    pub uuid: Uuid,
    /// The array's name, mostly `HOST:NAME`; 0.90 has none.
    pub name: String,
    /// The number of the array's device; of 0.90 only.
    pub minor: Option<u32>,
    /// When the array was made, in seconds.
    pub created: u64,
    /// How its data are spread.
    pub level: Level,
    /// The layout as superblocks number it, and the bytes or sectors of a chunk.
    pub layout: (u32, u32),
    /// How many members it has when it is whole.
    pub members: u32,
    /// How often superblocks were written.
    pub events: u64,
    /// The number of this member in `roles`.
    pub number: u32,
    /// What each member is for, by its number.
    pub roles: Vec<Role>,
    /// Whether all parity and all copies were right when the array was stopped.
    pub is_clean: bool,
    /// The member is being filled, and cannot take another's place yet.
    pub is_filling: bool,
    /// The member is to replace another one that is still there.
    pub is_replacement: bool,
    /// Parity that was being written is in a log (PPL).
    pub has_log: bool,
    /// What of the array needs more than its assembly.
    pub needs: Option<&'static str>,
}

/// The versions of superblocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Version {
    /// 0.90
    V0,
    /// 1.0
    V1End,
    /// 1.1
    V1Start,
    /// 1.2
    V1Behind,
}

/// What a member is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// It has the data of this place.
    Active(u32),
    /// It is to take the place of one that fails.
    Spare,
    /// It failed, or was removed, or never was there.
    Gone,
    /// It is a journal of writes.
    Journal,
}

impl Version {
    /// As the kernel takes it.
    pub const fn text(self) -> &'static str {
        match self {
            Self::V0 => "0.90",
            Self::V1End => "1.0",
            Self::V1Start => "1.1",
            Self::V1Behind => "1.2",
        }
    }

    /// Whether it is at the start of a device, or just behind.
    pub fn is_at_start(self) -> bool {
        matches!(self, Self::V1Start | Self::V1Behind)
    }

    /// Where it is on a device of this many bytes.
    pub fn place(self, size: u64) -> Option<u64> {
        let sectors = size / SECTOR;
        let place = match self {
            Self::V0 => (sectors & !127).checked_sub(128)?,
            Self::V1End => sectors.checked_sub(16)? & !7,
            Self::V1Start => 0,
            Self::V1Behind => 8,
        };
        Some(place * SECTOR)
    }
}

impl Superblock {
    /// What the member with this number is for.
    pub(crate) fn role_of(&self, number: u32) -> Role {
        self.roles.get(number as usize).copied().unwrap_or(Role::Spare)
    }

    /// What is the same on all members of an array.
    pub(super) fn shape(&self) -> (Level, (u32, u32), u32) {
        (self.level, self.layout, self.members)
    }

    /// What this member is for.
    pub fn role(&self) -> Role {
        self.role_of(self.number)
    }
}

/// Whether there is a superblock's mark in this byte order at the start.
pub(super) fn is_marked(bytes: &[u8]) -> bool {
    u32_at(bytes, 0) == Some(MAGIC)
}

/// Numbers of 32 bits added up with the carry, without the one that is at `own`.
pub(super) fn checksum(bytes: &[u8], own: usize) -> u32 {
    let words = bytes.chunks(4).enumerate().filter(|(number, _)| number * 4 != own);
    let value = |word: &[u8]| word.iter().rev().fold(0, |value, byte| value << 8 | u64::from(*byte));
    let sum: u64 = words.map(|(_, word)| value(word)).sum();
    ((sum & u64::from(u32::MAX)) + (sum >> 32)) as u32
}

pub(super) const MAGIC: u32 = 0xa92b_4efc;
pub(super) const LENGTH: usize = 4096;
/// The unit of all offsets.
pub(super) const SECTOR: u64 = 512;
