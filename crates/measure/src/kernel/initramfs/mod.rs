//! Initramfs images as boot loaders hand them over: cpio archives one behind the other, plain or packed, with zeros between,
//! and in front of them perhaps U-Boot's header.
//!
//! (Linux, init/initramfs.c `unpack_to_rootfs`; U-Boot's "legacy" header is 64 bytes and starts with 27051956.)

pub mod compression;
pub mod cpio;
mod lz4;

pub use compression::Compression;
use cpio::{Archive, Entry};
use std::fmt;
use std::io::{self, BufRead, Read};

/// Why an image cannot be read.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// There is no archive where one has to be.
    NoArchive {
        /// At this byte of the image.
        at: usize,
    },
    /// An archive is damaged.
    Archive {
        /// What it is packed with.
        packed: Option<Compression>,
        /// Which starts at this byte of the image.
        at: usize,
        /// What is wrong.
        source: cpio::Error,
    },
    /// A packed part cannot be unpacked.
    Unpack {
        /// At this byte of the image.
        at: usize,
        /// Why.
        source: io::Error,
    },
}

/// What is called for each entry, with a reader of its content.
pub type Visit<'a> = dyn FnMut(&Entry, &mut dyn Read) -> io::Result<()> + 'a;

/// Calls `visit` for each entry of each archive.
pub fn walk(image: &[u8], visit: &mut Visit<'_>) -> Result<(), Error> {
    let mut rest = match image.starts_with(UBOOT_MAGIC) {
        true => image.get(UBOOT_HEADER..).unwrap_or_default(),
        false => image,
    };
    let mut parts = 0;
    loop {
        rest = &rest[rest.iter().take_while(|byte| **byte == 0).count()..];
        let at = image.len() - rest.len();
        match rest {
            [] if parts > 0 => return Ok(()),
            [b'0', b'7', b'0', b'7', ..] => {
                rest = archives(rest, visit).map_err(|source| Error::Archive { packed: None, at, source })?;
            }
            _ => {
                let compression = Compression::of(rest).ok_or(Error::NoArchive { at })?;
                rest = packed(compression, rest, at, visit)?;
            }
        }
        parts += 1;
    }
}

/// A packed part. What follows it.
fn packed<'a>(
    compression: Compression,
    part: &'a [u8],
    at: usize,
    visit: &mut Visit<'_>,
) -> Result<&'a [u8], Error> {
    let mut rest = part;
    let unpacked = compression.unpack(&mut rest).map_err(|source| Error::Unpack { at, source })?;
    let mut after = archives(unpacked.take(MOST_UNPACKED), visit).map_err(|source| Error::Archive {
        packed: Some(compression),
        at,
        source,
    })?;
    // What follows the last archive belongs to the packed part; where that ends the next part starts.
    io::copy(&mut after, &mut io::sink()).map_err(|source| Error::Unpack { at, source })?;
    drop(after);
    Ok(rest)
}

/// All archives of a stream. What is left of it.
fn archives<R: BufRead>(input: R, visit: &mut Visit<'_>) -> Result<R, cpio::Error> {
    let mut archive = Archive::new(input);
    loop {
        while let Some(entry) = archive.next_entry()? {
            visit(&entry, &mut archive).map_err(|source| cpio::Error::Io { at: 0, source })?;
        }
        if !archive.another_follows()? {
            return Ok(archive.into_inner());
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoArchive { at } => {
                write!(f, "at byte {at} there is neither a cpio archive nor a packed one")
            }
            Self::Archive { packed: None, at, source } => write!(f, "the archive at byte {at}: {source}"),
            Self::Archive { packed: Some(packed), at, source } => {
                write!(f, "the archive at byte {at}, unpacked ({}): {source}", packed.name())
            }
            Self::Unpack { at, source } => write!(f, "the part at byte {at}: {source}"),
        }
    }
}

impl std::error::Error for Error {}

const UBOOT_MAGIC: &[u8] = &[0x27, 0x05, 0x19, 0x56];
const UBOOT_HEADER: usize = 64;
/// No machine boots with more; a packed part that never ends does.
const MOST_UNPACKED: u64 = 8 << 30;

#[cfg(test)]
pub(super) mod tests;
