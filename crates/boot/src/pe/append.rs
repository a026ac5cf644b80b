//! Appends sections to an image: adds their rows in the room left in the headers, their content at
//! the end of the file and their addresses after the last section's, and corrects sizes and the
//! checksum.

use super::{Error, Image, ROW, short, word};

/// A section to be added, with readable data.
#[derive(Debug, Clone)]
pub struct NewSection<'a> {
    /// The name, at most eight bytes.
    pub name: &'a str,
    /// The content.
    pub content: &'a [u8],
}

/// Appends these sections to an image.
pub fn append(file: &[u8], sections: &[NewSection<'_>]) -> Result<Vec<u8>, Error> {
    let image = Image::parse(file)?;
    if image.signatures.is_some() {
        return Err(Error::Signed);
    }
    room(file, &image, sections)?;
    let mut made = file.to_vec();
    let file_alignment = image.file_alignment as usize;
    let end_of = |section: &super::Section| {
        u64::from(section.address) + u64::from(section.virtual_size.max(section.size))
    };
    let mut address = image.sections.iter().map(end_of).max().unwrap_or(u64::from(image.headers));
    // At least pages, even if the stub's sections are aligned more closely: a kernel has to start
    // at a page boundary.
    let alignment = u64::from(image.section_alignment.max(PAGE));
    let mut row = image.table + image.sections.len() * ROW;
    let mut added = 0_u64;
    for section in sections {
        made.resize(made.len().next_multiple_of(file_alignment), 0);
        address = address.next_multiple_of(alignment);
        let size = section.content.len().next_multiple_of(file_alignment);
        let place = made.len();
        made.extend_from_slice(section.content);
        made.resize(place + size, 0);
        made[row..row + ROW].fill(0);
        made[row..row + section.name.len()].copy_from_slice(section.name.as_bytes());
        for (at, field) in [
            (8, section.content.len() as u64),
            (12, address),
            (16, size as u64),
            (20, place as u64),
            (36, u64::from(READABLE_DATA)),
        ] {
            set(&mut made, row + at, field)?;
        }
        address += section.content.len() as u64;
        added += size as u64;
        row += ROW;
    }
    let count = image.sections.len() + sections.len();
    made[image.coff + 2..image.coff + 4].copy_from_slice(&(count as u16).to_le_bytes());
    let data = u64::from(word(file, image.optional + DATA).unwrap_or_default()) + added;
    set(&mut made, image.optional + DATA, data)?;
    let in_memory = address.next_multiple_of(alignment);
    set(&mut made, image.optional + IN_MEMORY, in_memory)?;
    set(&mut made, image.optional + CHECKSUM, 0)?;
    let sum = checksum(&made);
    set(&mut made, image.optional + CHECKSUM, u64::from(sum))?;
    Ok(made)
}

/// Checks that the names are valid, and that their rows fit before the first section's content.
fn room(file: &[u8], image: &Image, sections: &[NewSection<'_>]) -> Result<(), Error> {
    for (number, section) in sections.iter().enumerate() {
        if section.name.len() > 8 {
            return Err(Error::LongName(section.name.to_owned()));
        }
        let before = sections[..number].iter().map(|other| other.name);
        if image.sections.iter().map(|other| &other.name[..]).chain(before).any(|name| name == section.name) {
            return Err(Error::Twice(section.name.to_owned()));
        }
    }
    let end = image.table + image.sections.len() * ROW;
    let places =
        image.sections.iter().filter(|section| section.size > 0).map(|section| section.place as usize);
    let limit = places.min().unwrap_or(file.len()).min(image.headers as usize).max(end);
    let room = (limit - end) / ROW;
    // Bytes that are not zero must not be overwritten by rows.
    let used = file[end..limit].iter().take(sections.len() * ROW).any(|byte| *byte != 0);
    match sections.len() <= room && !used {
        true => Ok(()),
        false => Err(Error::NoRoom { wanted: sections.len(), room: if used { 0 } else { room } }),
    }
}

fn set(file: &mut [u8], at: usize, value: u64) -> Result<(), Error> {
    let value = u32::try_from(value).map_err(|_| Error::TooLarge)?;
    file[at..at + 4].copy_from_slice(&value.to_le_bytes());
    Ok(())
}

/// The sum of all 16-bit words with the carries added in, plus the file's length (imagehlp's
/// CheckSumMappedFile).
fn checksum(file: &[u8]) -> u32 {
    let mut sum = 0_u64;
    for at in (0..file.len()).step_by(2) {
        let word = short(file, at).unwrap_or_else(|| u16::from(file[at]));
        sum += u64::from(word);
    }
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    (sum as u32).wrapping_add(file.len() as u32)
}

const PAGE: u32 = 4096;
const DATA: usize = 8;
const IN_MEMORY: usize = 56;
const CHECKSUM: usize = 64;
/// IMAGE_SCN_CNT_INITIALIZED_DATA, IMAGE_SCN_MEM_READ.
const READABLE_DATA: u32 = 0x4000_0040;
