//! md RAID as a boot meets it: what the superblock on a member says of its array, which members an array has, and whether it
//! can run with those that are there. The kernel reads the superblocks again itself when it gets the members.
//!
//! ```text
//! superblock   what one says, and where it is: 1.1 at the start, 1.2 after 4 KiB, 1.0 and 0.90 near the end
//! search       the one of a device
//! v1 v0        the fields of version 1, and of version 0.90
//! level        how many members an array can do without
//! assembly     what was found on all devices, as arrays with their members; which members do not count
//! verdict      which arrays start in a search, which are waited for, and what is said of the others
//! ```
//!
//! (Linux: include/uapi/linux/raid/md_p.h, drivers/md/md.c; mdadm: Assemble.c. Nothing of it is authenticated: on a disk that
//! is not encrypted, all of it is whoever wrote it last.)

pub mod assembly;
pub mod level;
mod search;
pub mod superblock;
#[cfg(test)]
mod tests;
mod v0;
mod v1;
pub mod verdict;

pub use assembly::{Array, Found, State, assemble};
pub use level::Level;
pub use search::is_of_disk;
pub use superblock::{Role, Superblock, Version};
pub use verdict::{Verdict, Wanted};

use std::fmt;

/// The UUID of an array.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Uuid(pub [u8; 16]);

impl Uuid {
    /// As mdadm, udev or dracut write it: 32 digits, with colons or hyphens wherever they like.
    pub fn parse(text: &str) -> Option<Self> {
        let digits: String = text.chars().filter(|c| !matches!(c, ':' | '-')).collect();
        let is_whole = digits.len() == 32 && digits.bytes().all(|byte| byte.is_ascii_hexdigit());
        is_whole.then(|| u128::from_str_radix(&digits, 16).ok().map(|value| Self(value.to_be_bytes())))?
    }
}

/// As mdadm writes it.
impl fmt::Display for Uuid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (number, part) in self.0.chunks_exact(4).enumerate() {
            let colon = if number > 0 { ":" } else { "" };
            write!(f, "{colon}{:02x}{:02x}{:02x}{:02x}", part[0], part[1], part[2], part[3])?;
        }
        Ok(())
    }
}

impl fmt::Debug for Uuid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

/// Why an array is not brought up: it is on its way from one form to another.
const RESHAPED: &str = "it is being reshaped";
/// A field that cannot be: how many members there are.
const NO_COUNT: &str = "the number of members is impossible";

/// Why a superblock cannot be used.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Error {
    /// The checksum does not match.
    Checksum,
    /// A field that cannot be.
    Field(&'static str),
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Checksum => f.write_str("the checksum of its md superblock is wrong"),
            Self::Field(what) => write!(f, "its md superblock is invalid: {what}"),
        }
    }
}

impl std::error::Error for Error {}

/// Reads bytes of a device: an offset, and the room for them. False if they are not there.
pub type Read<'a> = &'a mut dyn FnMut(u64, &mut [u8]) -> bool;

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_le_bytes(bytes.get(at..at.checked_add(2)?)?.try_into().ok()?))
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(bytes.get(at..at.checked_add(4)?)?.try_into().ok()?))
}

fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_le_bytes(bytes.get(at..at.checked_add(8)?)?.try_into().ok()?))
}
