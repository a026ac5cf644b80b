//! Appends an archive to an image. The existing content stays as it is, byte for byte: the kernel
//! unpacks archives one after the other, each with its own compression or none (Linux,
//! init/initramfs.c `unpack_to_rootfs`).
//!
//! The two are separated by zeros. A plain archive has to start at a multiple of four; LZ4's legacy
//! frames end with a zero word or with the image; and so many tools pad to 512 bytes that loaders
//! cope with it.

use super::{Compression, UBOOT_HEADER, UBOOT_MAGIC};
use crate::uboot;
use std::io::{self, Write};

/// How the added archive is compressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Packing {
    /// Uncompressed, which every kernel can read.
    Plain,
    /// By gzip.
    Gzip,
}

/// An image with an appended archive.
#[derive(Debug)]
pub struct Appended {
    /// The bytes.
    pub image: Vec<u8>,
    /// The offset at which the added archive starts.
    pub at: usize,
}

impl Packing {
    /// Compresses an archive.
    pub fn pack(self, archive: Vec<u8>) -> io::Result<Vec<u8>> {
        match self {
            Self::Plain => Ok(archive),
            Self::Gzip => {
                // The gzip header has no name and no time.
                let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
                packed.write_all(&archive)?;
                packed.finish()
            }
        }
    }

    /// A compression that the image's kernel is sure to support: gzip if the image uses it already.
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

/// Whether an image with an appended archive would begin with the original, byte for byte; U-Boot's
/// header at the front would change.
pub fn is_beginning(original: &[u8]) -> bool {
    !original.starts_with(UBOOT_MAGIC)
}

/// Appends the archive `added` to `original`. U-Boot's header at the front is rebuilt, because it
/// contains the data's length and checksum.
pub fn append(original: Vec<u8>, added: &[u8]) -> Result<Appended, uboot::Error> {
    let header = if is_beginning(&original) { None } else { Some(uboot::Header::parse(&original)?) };
    let mut image = original;
    // At least one zero word.
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
