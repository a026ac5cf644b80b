//! RAID levels: their names, and how many members each can do without (Linux: drivers/md/raid*.c).

use std::fmt;

/// A level, with its layout where that matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Level {
    /// Members one after another.
    Linear,
    /// Stripes without copies.
    Raid0,
    /// Copies.
    Raid1,
    /// One parity, always on the same member.
    Raid4,
    /// One parity.
    Raid5,
    /// Two parities.
    Raid6,
    /// Stripes with copies.
    Raid10 {
        /// Copies beside each other.
        near: u32,
        /// Copies of the whole.
        far: u32,
    },
    /// Another one, as superblocks number it.
    Other(i32),
}

impl Level {
    /// From the numbers in a superblock.
    pub fn new(level: i32, layout: u32) -> Self {
        match level {
            -1 => Self::Linear,
            0 => Self::Raid0,
            1 => Self::Raid1,
            4 => Self::Raid4,
            5 => Self::Raid5,
            6 => Self::Raid6,
            10 => Self::Raid10 { near: layout & 0xff, far: layout >> 8 & 0xff },
            other => Self::Other(other),
        }
    }

    /// Whether the array runs with the members of which this says that they are there.
    pub fn runs(self, members: u32, is_there: impl Fn(u32) -> bool) -> bool {
        let missing = (0..members).filter(|place| !is_there(*place)).count();
        match self {
            Self::Linear | Self::Raid0 => missing == 0,
            Self::Raid1 => missing < members as usize,
            Self::Raid4 | Self::Raid5 => missing <= 1,
            Self::Raid6 => missing <= 2,
            Self::Raid10 { near, far } => {
                let copies = near * far;
                let fits = (1..=members).contains(&copies);
                // The first place of each set of copies, until they begin anew.
                let mut first = 0;
                let mut has_one = || {
                    let found = (0..copies).any(|copy| is_there((first + copy) % members));
                    first = (first + near) % members;
                    found
                };
                fits && (0..members).all(|_| has_one())
            }
            Self::Other(_) => false,
        }
    }

    /// Whether what is on a member that is missing is computed from parity.
    pub(crate) fn has_parity(self) -> bool {
        matches!(self, Self::Raid4 | Self::Raid5 | Self::Raid6)
    }
}

/// What the kernel calls it, in /proc/mdstat too.
impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Linear => f.write_str("linear"),
            Self::Raid0 => f.write_str("raid0"),
            Self::Raid1 => f.write_str("raid1"),
            Self::Raid4 => f.write_str("raid4"),
            Self::Raid5 => f.write_str("raid5"),
            Self::Raid6 => f.write_str("raid6"),
            Self::Raid10 { .. } => f.write_str("raid10"),
            Self::Other(level) => write!(f, "level {level}"),
        }
    }
}
