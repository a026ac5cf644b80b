//! U-Boot's "legacy" images: a header of 64 bytes followed by the data (U-Boot, include/image.h).
//! Big-endian.
//!
//! ```text
//! 0   4  27 05 19 56         28  1  operating system (5: Linux)
//! 4   4  CRC-32 of the       29  1  architecture
//!        header, this as 0   30  1  type
//! 8   4  time (Unix)         31  1  compression
//! 12  4  bytes of data       32 32  name, zeros behind it
//! 16  4  load address
//! 20  4  entry point
//! 24  4  CRC-32 of the data
//! ```
//!
//! The data of a script (and of "multi" images) starts with the lengths of its parts, one word
//! each, and a zero word.

use flate2::Crc;
use std::fmt;

/// The contents of a header, except for the fields derived from the data.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Header {
    /// Seconds since 1970.
    pub time: u32,
    /// The load address.
    pub load: u32,
    /// The entry point.
    pub entry: u32,
    /// The operating system, by U-Boot's number: 5 is Linux.
    pub os: u8,
    /// The architecture, by U-Boot's number.
    pub arch: Arch,
    /// The image type.
    pub kind: Kind,
    /// The compression, by U-Boot's number: 0 is none.
    pub compression: u8,
    /// The name, at most 32 bytes.
    pub name: String,
}

/// An image type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Commands.
    Script,
    /// An initramfs.
    Ramdisk,
    /// Another type, by its number.
    Other(u8),
}

/// An architecture, by U-Boot's number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Arch(pub u8);

/// Why something is not a valid image.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Error {
    /// It does not start with the magic number, or ends within the header.
    NoHeader,
    /// The header's checksum does not match.
    HeaderChecksum,
    /// The data's checksum does not match.
    DataChecksum,
    /// The data is shorter than the header says.
    Short {
        /// The length according to the header.
        wanted: u32,
        /// The actual length.
        found: usize,
    },
    /// The name is longer than 32 bytes.
    LongName,
    /// The data is longer than 4 GiB.
    TooLarge,
    /// A script without a table of lengths.
    NoScript,
}

impl Header {
    /// The header of a script, for any architecture.
    pub fn script(name: &str) -> Self {
        Self {
            time: 0,
            load: 0,
            entry: 0,
            os: LINUX,
            arch: Arch(ARM),
            kind: Kind::Script,
            compression: 0,
            name: name.to_owned(),
        }
    }

    /// Parses the header at the front of an image and verifies its checksum.
    pub fn parse(image: &[u8]) -> Result<Self, Error> {
        let header =
            image.first_chunk::<HEADER>().filter(|it| it.starts_with(&MAGIC)).ok_or(Error::NoHeader)?;
        let mut unsigned = *header;
        unsigned[4..8].fill(0);
        if crc(&unsigned) != word(header, 4) {
            return Err(Error::HeaderChecksum);
        }
        let name = header[NAME..].split(|byte| *byte == 0).next().unwrap_or_default();
        Ok(Self {
            time: word(header, 8),
            load: word(header, 16),
            entry: word(header, 20),
            os: header[28],
            arch: Arch(header[29]),
            kind: Kind::of(header[30]),
            compression: header[31],
            name: String::from_utf8_lossy(name).into_owned(),
        })
    }

    /// The header and the data of an image, after verifying both checksums.
    pub fn read(image: &[u8]) -> Result<(Self, &[u8]), Error> {
        let header = Self::parse(image)?;
        let (wanted, rest) = (word(image, 12), &image[HEADER..]);
        let data = usize::try_from(wanted).ok().and_then(|length| rest.get(..length));
        let data = data.ok_or(Error::Short { wanted, found: rest.len() })?;
        match crc(data) == word(image, 24) {
            true => Ok((header, data)),
            false => Err(Error::DataChecksum),
        }
    }

    /// Builds an image with this data.
    pub fn image(&self, data: &[u8]) -> Result<Vec<u8>, Error> {
        if self.name.len() > HEADER - NAME {
            return Err(Error::LongName);
        }
        let length = u32::try_from(data.len()).map_err(|_| Error::TooLarge)?;
        let mut header = [0; HEADER];
        header[..4].copy_from_slice(&MAGIC);
        for (at, field) in [(8, self.time), (12, length), (16, self.load), (20, self.entry), (24, crc(data))]
        {
            header[at..at + 4].copy_from_slice(&field.to_be_bytes());
        }
        header[28..32].copy_from_slice(&[self.os, self.arch.0, self.kind.number(), self.compression]);
        header[NAME..NAME + self.name.len()].copy_from_slice(self.name.as_bytes());
        let checksum = crc(&header);
        header[4..8].copy_from_slice(&checksum.to_be_bytes());
        Ok([&header[..], data].concat())
    }
}

/// Builds a script with its header, which U-Boot's `source` command runs.
pub fn script(header: &Header, text: &[u8]) -> Result<Vec<u8>, Error> {
    let length = u32::try_from(text.len()).map_err(|_| Error::TooLarge)?;
    header.image(&[&length.to_be_bytes(), &[0; 4][..], text].concat())
}

/// Extracts the text of a script from an image's data.
pub fn script_text(data: &[u8]) -> Result<&[u8], Error> {
    let (length, rest) = data.split_first_chunk().ok_or(Error::NoScript)?;
    let text = rest.strip_prefix(&[0; 4]).ok_or(Error::NoScript)?;
    let length = usize::try_from(u32::from_be_bytes(*length)).map_err(|_| Error::NoScript)?;
    text.get(..length).ok_or(Error::NoScript)
}

impl Kind {
    const fn of(number: u8) -> Self {
        match number {
            3 => Self::Ramdisk,
            6 => Self::Script,
            other => Self::Other(other),
        }
    }

    const fn number(self) -> u8 {
        match self {
            Self::Ramdisk => 3,
            Self::Script => 6,
            Self::Other(number) => number,
        }
    }
}

impl Arch {
    /// Looks up an architecture by U-Boot's name: "arm64".
    pub fn find(name: &str) -> Option<Self> {
        ARCHES.iter().find(|(known, _)| *known == name).map(|(_, number)| Self(*number))
    }

    /// All names.
    pub fn names() -> impl Iterator<Item = &'static str> {
        ARCHES.iter().map(|(name, _)| *name)
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoHeader => write!(f, "it does not start with a U-Boot header (27 05 19 56)"),
            Self::HeaderChecksum => write!(f, "the checksum of its U-Boot header is wrong"),
            Self::DataChecksum => write!(f, "the checksum of the data after its U-Boot header is wrong"),
            Self::Short { wanted, found } => {
                write!(f, "its U-Boot header says {wanted} bytes, but there are {found}")
            }
            Self::LongName => write!(f, "the name in a U-Boot header has at most 32 bytes"),
            Self::TooLarge => write!(f, "a U-Boot image has at most 4 GiB"),
            Self::NoScript => {
                write!(f, "it is not a script: its data does not start with a table of lengths")
            }
        }
    }
}

impl std::error::Error for Error {}

/// CRC-32 as in zlib.
pub(crate) fn crc(bytes: &[u8]) -> u32 {
    let mut crc = Crc::new();
    crc.update(bytes);
    crc.sum()
}

fn word(bytes: &[u8], at: usize) -> u32 {
    bytes.get(at..).and_then(|rest| rest.first_chunk()).map_or(0, |word| u32::from_be_bytes(*word))
}

/// The magic number.
pub const MAGIC: [u8; 4] = [0x27, 0x05, 0x19, 0x56];
/// The length of the header in bytes.
pub const HEADER: usize = 64;
const NAME: usize = 32;
const LINUX: u8 = 5;
const ARM: u8 = 2;
const ARCHES: &[(&str, u8)] = &[
    ("arm", ARM),
    ("x86", 3),
    ("mips", 5),
    ("mips64", 6),
    ("powerpc", 7),
    ("m68k", 12),
    ("microblaze", 14),
    ("arm64", 22),
    ("x86_64", 24),
    ("riscv", 26),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_script_is_read_again() {
        let header =
            Header { time: 1_700_000_000, arch: Arch::find("arm64").unwrap(), ..Header::script("boot") };
        let image = script(&header, b"bootm 0x10000000\n").unwrap();
        let (again, data) = Header::read(&image).unwrap();
        assert_eq!((&again, script_text(data)), (&header, Ok(&b"bootm 0x10000000\n"[..])));
        assert_eq!(again.image(data).unwrap(), image);
    }

    #[test]
    fn damage_is_named() {
        let image = script(&Header::script("boot"), b"echo").unwrap();
        let damaged = |at: usize| {
            let mut image = image.clone();
            image[at] ^= 1;
            Header::read(&image).unwrap_err()
        };
        assert_eq!(
            (damaged(0), damaged(9), damaged(63)),
            (Error::NoHeader, Error::HeaderChecksum, Error::HeaderChecksum)
        );
        assert_eq!(damaged(image.len() - 1), Error::DataChecksum);
        assert_eq!(Header::read(&image[..70]), Err(Error::Short { wanted: 12, found: 6 }));
        assert_eq!(Header::read(&image[..63]), Err(Error::NoHeader));
        assert_eq!(script_text(b"\0\0\0\x09\0\0\0\0abc"), Err(Error::NoScript));
        assert_eq!(Header::script(&"x".repeat(33)).image(&[]), Err(Error::LongName));
    }
}
