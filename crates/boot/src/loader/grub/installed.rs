//! Facts about an installed GRUB: its version from `grub-install --version`, the modules in
//! core.img, and the `cryptomount` line of the configuration, which is embedded or stored beside
//! it.
//!
//! core.img contains the modules as consecutive ELF files, uncompressed in EFI images, compressed
//! on i386-pc; each ELF file has its name in the section `.modname`, as a C string.

use keyway_format::Sectors;
use std::io::Read;

/// The modules in an image (EFI's grubx64.efi, i386-pc's core.img); empty if none can be found.
pub fn modules(image: &[u8]) -> Vec<String> {
    let unpacked = unpacked(image);
    let image = unpacked.as_deref().unwrap_or(image);
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(start) = find(&image[at..], b"\x7fELF").map(|offset| at + offset) {
        found.extend(module_name(&image[start..]));
        at = start + 4;
    }
    found.sort_unstable();
    found.dedup();
    found
}

/// The compressed part of i386-pc's core.img. The decompressor, which follows the first sector,
/// contains both lengths as little-endian numbers (startup_raw.S); the end of the image is raw LZMA
/// with the parameters that util/mkimage.c uses. `None` for other images.
fn unpacked(core: &[u8]) -> Option<Vec<u8>> {
    let number = |at: usize| Some(u32::from_le_bytes(core.get(at..at + 4)?.try_into().ok()?));
    let (packed, len) = (number(SECTOR + 8)?, number(SECTOR + 12)?);
    let start = core.len().checked_sub(packed as usize).filter(|start| *start > SECTOR)?;
    if packed >= len || len > MOST_UNPACKED {
        return None;
    }
    let (lc, lp, pb) = (3, 0, 2);
    let stream =
        lzma_rust2::LzmaReader::new(&core[start..], u64::from(len), lc, lp, pb, LZMA_DICTIONARY, None)
            .ok()?;
    let mut unpacked = Vec::new();
    stream.take(u64::from(len)).read_to_end(&mut unpacked).ok()?;
    (unpacked.len() == len as usize).then_some(unpacked)
}

/// The UUIDs of all `cryptomount -u UUID` commands in a configuration, as written.
pub fn cryptomount_uuids(configuration: &str) -> Vec<&str> {
    configuration
        .lines()
        .filter_map(|line| {
            let mut words = line.split_whitespace();
            (words.next() == Some("cryptomount")).then_some(())?;
            words.skip_while(|word| *word != "-u").nth(1)
        })
        .collect()
}

/// The content of the section `.modname` in an ELF64 or ELF32 file.
fn module_name(elf: &[u8]) -> Option<String> {
    let wide = *elf.get(4)? == 2;
    let number = |at: usize, len: usize| -> Option<usize> {
        let bytes = elf.get(at..at.checked_add(len)?)?;
        Some(bytes.iter().rev().fold(0, |sum, byte| sum << 8 | usize::from(*byte)))
    };
    let (table, entry, count, names) = match wide {
        true => (number(40, 8)?, number(58, 2)?, number(60, 2)?, number(62, 2)?),
        false => (number(32, 4)?, number(46, 2)?, number(48, 2)?, number(50, 2)?),
    };
    let section = |index: usize| -> Option<(usize, usize, usize)> {
        let at = table.checked_add(entry.checked_mul(index)?)?;
        match wide {
            true => Some((number(at, 4)?, number(at + 24, 8)?, number(at + 32, 8)?)),
            false => Some((number(at, 4)?, number(at + 16, 4)?, number(at + 20, 4)?)),
        }
    };
    let (_, strings, _) = section(names)?;
    (0..count.min(MOST_SECTIONS)).find_map(|index| {
        let (name, offset, size) = section(index)?;
        let name = elf.get(strings.checked_add(name)?..)?;
        name.starts_with(b".modname\0").then_some(())?;
        let text = elf.get(offset..offset.checked_add(size)?)?;
        // An image may have thousands of section headers that refer to the same text of megabytes.
        let text = &text[..text.len().min(LONGEST_NAME)];
        let end = text.iter().position(|byte| *byte == 0).unwrap_or(size);
        let text = std::str::from_utf8(text.get(..end)?).ok()?;
        (!text.is_empty()).then(|| text.to_owned())
    })
}

fn find(haystack: &[u8], needle: &[u8]) -> Option<usize> {
    haystack.windows(needle.len()).position(|part| part == needle)
}

const SECTOR: usize = Sectors::SIZE as usize;
/// i386-pc's image has to fit below one megabyte twice; other images are uncompressed.
const MOST_UNPACKED: u32 = 16 << 20;
const LZMA_DICTIONARY: u32 = 1 << 16;
/// The maximum length of a module's name, including the NUL.
const LONGEST_NAME: usize = 64;
/// A module has about twenty.
const MOST_SECTIONS: usize = 256;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_configurations() {
        let text =
            "set x=1\n  cryptomount -u 1234abcd\ncryptomount -a\nsearch -u 99\ncryptomount -A -u 55-66\n";
        assert_eq!(cryptomount_uuids(text), ["1234abcd", "55-66"]);
    }

    #[test]
    fn rubbish_has_no_modules() {
        assert!(modules(b"\x7fELF\x02").is_empty());
        let mut elf = vec![0xff; 4096];
        elf[..5].copy_from_slice(b"\x7fELF\x02");
        assert!(modules(&elf).is_empty());
        assert!(modules(&b"\x7fELF".repeat(100)).is_empty());
    }
}
