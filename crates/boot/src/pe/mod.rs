//! PE32+ images, as far as necessary for unified kernel images (Microsoft, "PE Format"; UAPI,
//! "Unified Kernel Image"): sections are listed, and appended to a stub, which finds them by name.
//!
//! ```text
//! 60   4  where "PE\0\0" stands; behind it the COFF header
//!  +0  2  machine            +16 2  bytes of optional header
//!  +2  2  sections           +18 2  characteristics
//! then the optional header (PE32+): 0 2 magic 0x20b; 8 4 bytes of initialised data; 32 4 alignment in memory; 36 4 in the file; 56 4 bytes in
//! memory; 60 4 bytes of headers; 64 4 checksum; 108 4 directories, 8 bytes each: the fifth says where signatures stand
//! then sections, 40 bytes each: 0 8 name; 8 4 bytes in memory; 12 4 address; 16 4 bytes in file; 20 4 place in file; 36 4 characteristics
//! ```

mod append;
mod uki;

pub use append::{NewSection, append};
pub use uki::{Unified, uname};

use std::fmt;

/// An image's headers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Image {
    /// 0x8664 for x86-64, 0xaa64 for AArch64.
    pub machine: u16,
    /// The offset of the COFF header.
    coff: usize,
    /// The offset of the optional header.
    optional: usize,
    /// The offset of the first section's row.
    table: usize,
    /// The alignment of sections in memory.
    pub section_alignment: u32,
    /// The alignment of sections in the file.
    pub file_alignment: u32,
    /// The length of all headers in bytes.
    pub headers: u32,
    /// The offset and length of the signatures.
    pub signatures: Option<(u32, u32)>,
    /// The sections, in order.
    pub sections: Vec<Section>,
}

/// A section's row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Section {
    /// ".linux".
    pub name: String,
    /// Bytes in memory.
    pub virtual_size: u32,
    /// The address in memory.
    pub address: u32,
    /// Bytes in the file.
    pub size: u32,
    /// The offset in the file.
    pub place: u32,
    /// Code, data, readable.
    pub characteristics: u32,
}

/// Why a file is not an image, or cannot take more sections.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Error {
    /// No "MZ", no "PE", or truncated.
    NotPe,
    /// Not PE32+.
    NotPe32Plus,
    /// The headers are inconsistent.
    Damaged(&'static str),
    /// The headers have no room for this many additional sections.
    NoRoom {
        /// The number of sections to be added.
        wanted: usize,
        /// The number of sections for which there is room.
        room: usize,
    },
    /// The image is signed, and the signatures would become invalid.
    Signed,
    /// There is already a section with this name.
    Twice(String),
    /// The name is longer than eight bytes.
    LongName(String),
    /// More than 4 GiB.
    TooLarge,
    /// A part of a unified kernel image is invalid.
    Part {
        /// ".linux".
        section: &'static str,
        /// Why.
        why: String,
    },
}

impl Image {
    /// Parses the headers of an image.
    pub fn parse(file: &[u8]) -> Result<Self, Error> {
        if !file.starts_with(b"MZ") {
            return Err(Error::NotPe);
        }
        let pe = word(file, 60).ok_or(Error::NotPe)? as usize;
        if file.get(pe..).is_none_or(|rest| !rest.starts_with(b"PE\0\0")) {
            return Err(Error::NotPe);
        }
        // Overlapping headers cannot be modified independently.
        if pe < DOS_HEADER {
            return Err(Error::Damaged("its headers overlap"));
        }
        let coff = pe + 4;
        let half = |at: usize| short(file, at).ok_or(Error::NotPe);
        let (machine, count, length) = (half(coff)?, half(coff + 2)?, half(coff + 16)?);
        let optional = coff + COFF;
        if half(optional)? != PE32_PLUS {
            return Err(Error::NotPe32Plus);
        }
        if usize::from(length) < FIRST_DIRECTORY {
            return Err(Error::Damaged("its optional header is too short"));
        }
        let field = |at: usize| word(file, optional + at).ok_or(Error::NotPe);
        let table = optional + usize::from(length);
        let sections = (0..usize::from(count))
            .map(|index| Section::parse(file, table + index * ROW))
            .collect::<Option<Vec<_>>>()
            .ok_or(Error::NotPe)?;
        let has_signatures = field(DIRECTORIES)? > SIGNATURES as u32
            && usize::from(length) >= FIRST_DIRECTORY + 8 * (SIGNATURES + 1);
        let signatures = match has_signatures {
            true => {
                let at = FIRST_DIRECTORY + 8 * SIGNATURES;
                Some((field(at)?, field(at + 4)?)).filter(|(_, length)| *length > 0)
            }
            false => None,
        };
        let image = Self {
            machine,
            coff,
            optional,
            table,
            section_alignment: field(32)?,
            file_alignment: field(36)?,
            headers: field(60)?,
            signatures,
            sections,
        };
        image.check(file)?;
        Ok(image)
    }

    /// The content of a section, up to its length in memory.
    pub fn content<'a>(&self, file: &'a [u8], name: &str) -> Option<&'a [u8]> {
        let section = self.sections.iter().find(|section| section.name == name)?;
        let content = file.get(section.place as usize..)?.get(..section.size as usize)?;
        Some(&content[..content.len().min(section.virtual_size as usize)])
    }

    /// The architecture as named in UEFI file names: "x64".
    pub fn architecture(&self) -> Option<&'static str> {
        let known = [(0x8664, "x64"), (0xaa64, "aa64"), (0x14c, "ia32"), (0x1c2, "arm"), (0x5064, "riscv64")];
        known.into_iter().find(|(number, _)| *number == self.machine).map(|(_, name)| name)
    }

    fn check(&self, file: &[u8]) -> Result<(), Error> {
        let powers = self.section_alignment.is_power_of_two() && self.file_alignment.is_power_of_two();
        if !powers || self.section_alignment < self.file_alignment {
            return Err(Error::Damaged("its alignments are not powers of two"));
        }
        if self.headers as usize > file.len()
            || self.table + self.sections.len() * ROW > self.headers as usize
        {
            return Err(Error::Damaged("its headers are longer than it says"));
        }
        for section in &self.sections {
            let end = section.place.checked_add(section.size).map(|end| end as usize);
            if end.is_none_or(|end| end > file.len()) {
                return Err(Error::Damaged("a section reaches beyond its end"));
            }
            if section.address.checked_add(section.virtual_size).is_none() {
                return Err(Error::Damaged("a section reaches beyond 4 GiB of memory"));
            }
        }
        Ok(())
    }
}

impl Section {
    fn parse(file: &[u8], at: usize) -> Option<Self> {
        let row = file.get(at..)?.first_chunk::<ROW>()?;
        let name = row[..8].split(|byte| *byte == 0).next().unwrap_or_default();
        let field = |at| word(row, at).unwrap_or_default();
        Some(Self {
            name: String::from_utf8_lossy(name).into_owned(),
            virtual_size: field(8),
            address: field(12),
            size: field(16),
            place: field(20),
            characteristics: field(36),
        })
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotPe => write!(f, "it is not a PE image (no MZ and PE), or truncated"),
            Self::NotPe32Plus => write!(f, "it is a PE image, but not a 64-bit one (PE32+)"),
            Self::Damaged(why) => write!(f, "it is a damaged PE image: {why}"),
            Self::NoRoom { wanted, room } => {
                write!(f, "its headers have room for {room} more sections, not for {wanted}")
            }
            Self::Signed => {
                write!(f, "it is signed, and additions invalidate the signature: remove it first")
            }
            Self::Twice(name) => write!(f, "it already has a section {name}"),
            Self::LongName(name) => write!(f, "a section's name has at most eight bytes: {name}"),
            Self::TooLarge => write!(f, "a PE image has at most 4 GiB"),
            Self::Part { section, why } => write!(f, "{section}: {why}"),
        }
    }
}

impl std::error::Error for Error {}

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    bytes.get(at..)?.first_chunk().map(|word| u32::from_le_bytes(*word))
}

fn short(bytes: &[u8], at: usize) -> Option<u16> {
    bytes.get(at..)?.first_chunk().map(|word| u16::from_le_bytes(*word))
}

const DOS_HEADER: usize = 64;
const COFF: usize = 20;
const ROW: usize = 40;
const PE32_PLUS: u16 = 0x20b;
const DIRECTORIES: usize = 108;
const FIRST_DIRECTORY: usize = 112;
/// The index of the directory that locates signatures.
const SIGNATURES: usize = 4;

#[cfg(test)]
mod tests;
