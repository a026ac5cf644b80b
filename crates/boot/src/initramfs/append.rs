//! An image with one more archive. What was there stays as it is, byte for byte: the
//! kernel unpacks archives one after the other, each packed in its own way or not at
//! all (Linux, init/initramfs.c `unpack_to_rootfs`).
//!
//! Between the two stand zeros. A plain archive has to start at a multiple of
//! four; LZ4's legacy frames end with a zero word or with the image; and so many
//! tools pad to 512 bytes that loaders are used to it.

use super::{Compression, UBOOT_HEADER, UBOOT_MAGIC};
use crate::uboot;
use std::io::{self, Write};

/// How the added archive is packed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Packing {
    /// Not at all: every kernel reads it.
    Plain,
    /// By gzip.
    Gzip,
}

/// An image and how it came about.
#[derive(Debug)]
pub struct Appended {
    /// The bytes.
    pub image: Vec<u8>,
    /// Where what was added starts.
    pub at: usize,
}

impl Packing {
    /// Packs an archive.
    pub fn pack(self, archive: Vec<u8>) -> io::Result<Vec<u8>> {
        match self {
            Self::Plain => Ok(archive),
            Self::Gzip => {
                // No name and no time in its header.
                let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
                packed.write_all(&archive)?;
                packed.finish()
            }
        }
    }

    /// What the kernel of this image surely reads: gzip where the image has it already.
    pub fn like(original: &[u8]) -> Self {
        let body = if original.starts_with(UBOOT_MAGIC) {
            &original[UBOOT_HEADER.min(original.len())..]
        } else {
            original
        };
        match Compression::of(body) {
            Some(Compression::Gzip) => Self::Gzip,
            _ => Self::Plain,
        }
    }
}

/// Whether an image with something added begins with the original,
/// byte for byte: U-Boot's header in front changes.
pub fn is_beginning(original: &[u8]) -> bool {
    !original.starts_with(UBOOT_MAGIC)
}

/// `original` with `added`, an archive, behind it. U-Boot's header in front is
/// made anew: it counts bytes and has their checksum.
pub fn append(original: Vec<u8>, added: &[u8]) -> Result<Appended, uboot::Error> {
    let header = if is_beginning(&original) { None } else { Some(uboot::Header::parse(&original)?) };
    let mut image = original;
    // At least a zero word.
    let at = (image.len() + 4).next_multiple_of(ALIGNMENT);
    image.reserve_exact(at - image.len() + added.len());
    image.resize(at, 0);
    image.extend_from_slice(added);
    if let Some(header) = header {
        let body = image.split_off(UBOOT_HEADER);
        image = header.image(&body)?;
    }
    Ok(Appended { image, at })
}

const ALIGNMENT: usize = 512;

#[cfg(test)]
mod tests {
    use super::super::tests::{archive, gzip};
    use super::super::walk;
    use super::*;

    fn names(image: &[u8]) -> Vec<String> {
        let mut names = Vec::new();
        walk(image, &mut |entry, _| {
            names.push(entry.name.clone());
            Ok(())
        })
        .unwrap();
        names
    }

    #[test]
    fn the_original_is_its_beginning() {
        let added = archive(&[("late", b"1")]);
        let mut lz4 = vec![0x02, 0x21, 0x4c, 0x18];
        let block = lz4_flex::block::compress(&archive(&[("early", b"1")]));
        lz4.extend((block.len() as u32).to_le_bytes());
        lz4.extend(block);
        for original in [archive(&[("early", b"1")]), gzip(&archive(&[("early", b"1")])), lz4] {
            for packing in [Packing::Plain, Packing::Gzip] {
                let packed = packing.pack(added.clone()).unwrap();
                let appended = append(original.clone(), &packed).unwrap();
                assert!(appended.image.starts_with(&original) && appended.at.is_multiple_of(512));
                assert_eq!(&appended.image[appended.at..], packed);
                assert_eq!(names(&appended.image), ["early", "late"]);
            }
        }
    }

    #[test]
    fn u_boots_header_counts_what_was_added() {
        let header = uboot::Header { kind: uboot::Kind::Ramdisk, ..uboot::Header::script("ramdisk") };
        let original = header.image(&gzip(&archive(&[("early", b"1")]))).unwrap();
        let appended = append(original, &archive(&[("late", b"1")])).unwrap();
        assert_eq!(names(&appended.image), ["early", "late"]);
        let (again, body) = uboot::Header::read(&appended.image).unwrap();
        assert_eq!(
            (again.kind, again.name, body.len()),
            (uboot::Kind::Ramdisk, "ramdisk".into(), appended.image.len() - 64)
        );
    }

    #[test]
    fn packing_as_the_image_is_packed() {
        assert_eq!(Packing::like(&gzip(b"x")), Packing::Gzip);
        assert_eq!(Packing::like(&archive(&[])), Packing::Plain);
        assert_eq!(Packing::like(b"\x28\xb5\x2f\xfd"), Packing::Plain);
        let archive = archive(&[("a", &[7; 10_000])]);
        assert_eq!(Packing::Gzip.pack(archive.clone()).unwrap(), Packing::Gzip.pack(archive).unwrap());
    }
}
