//! Initramfs images as boot loaders pass them on: a sequence of cpio archives, plain or compressed,
//! separated by zeros, possibly preceded by U-Boot's header.
//!
//! (Linux, init/initramfs.c `unpack_to_rootfs`; U-Boot's "legacy"
//! header is 64 bytes and starts with 27051956.)

//!
//! ```text
//! compression, lz4, extent   what parts are packed with, and where they end
//! allowance                  how much an image may unpack to, and name
//! cpio, writer               archives read, and written
//! append, original           an image with an archive behind it; the /init that it had
//! contained                  for which machine an image is
//! layout                     what Keyway puts into an image
//! listing                    what is in an image, and what another one has more
//! ```

mod allowance;
mod append;
pub mod compression;
mod contained;
pub mod cpio;
mod extent;
pub mod layout;
mod listing;
mod lz4;
mod newc;
mod original;
pub mod writer;

use allowance::{Allowance, Limited, Names};
pub use append::{Appended, Packing, append, is_beginning};
pub use compression::Compression;
pub use contained::Contained;
use cpio::{Archive, Entry};
pub use listing::{Difference, Item, Listing};
pub use original::Original;
use std::fmt;
use std::io::{self, BufRead, Read};

/// Why an image cannot be read.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// There is no archive where there has to be one.
    NoArchive {
        /// The offset in the image.
        at: usize,
    },
    /// An archive is damaged.
    Archive {
        /// The archive's compression.
        packed: Option<Compression>,
        /// The offset in the image at which it starts.
        at: usize,
        /// What is wrong.
        source: cpio::Error,
    },
    /// A compressed part cannot be decompressed.
    Unpack {
        /// The offset in the image.
        at: usize,
        /// Why.
        source: io::Error,
    },
}

/// Called for each entry, with a reader of its content.
pub(crate) type Visit<'a> = dyn FnMut(&Entry, &mut dyn Read) -> io::Result<()> + 'a;

/// Calls `visit` for each entry of each archive.
pub fn walk(image: &[u8], visit: &mut Visit<'_>) -> Result<(), Error> {
    walk_parts(image, &mut |_, entry, content| visit(entry, content).map(|()| Wanted::More))
}

/// Whether a visitor wants more entries from this part of an image.
enum Wanted {
    More,
    /// The rest of this part is skipped if that costs nothing.
    NothingMore,
}

type Visitor<'a> = dyn FnMut(&Entry, &mut dyn Read) -> io::Result<Wanted> + 'a;

/// Calls `visit` for each entry of each archive with the number of its part, until the visitor
/// wants nothing more from that part of the image.
fn walk_parts(
    image: &[u8],
    visit: &mut dyn FnMut(usize, &Entry, &mut dyn Read) -> io::Result<Wanted>,
) -> Result<(), Error> {
    let mut rest = match image.starts_with(UBOOT_MAGIC) {
        true => image.get(UBOOT_HEADER..).unwrap_or_default(),
        false => image,
    };
    let mut allowance = Allowance::of(image.len());
    let mut parts = 0;
    loop {
        rest = &rest[rest.iter().take_while(|byte| **byte == 0).count()..];
        let at = image.len() - rest.len();
        let visit: &mut Visitor<'_> = &mut |entry, content| visit(parts, entry, content);
        match rest {
            [] if parts > 0 => return Ok(()),
            [b'0', b'7', b'0', b'7', ..] => {
                let read = archives(rest, visit, false, &mut allowance.names);
                (_, rest) = read.map_err(|source| Error::Archive { packed: None, at, source })?;
            }
            _ => {
                let compression = Compression::of(rest).ok_or(Error::NoArchive { at })?;
                allowance.part().map_err(|source| Error::Unpack { at, source })?;
                rest = packed(compression, rest, at, visit, &mut allowance)?;
            }
        }
        parts += 1;
    }
}

/// Reads a compressed part. Returns what follows it.
fn packed<'a>(
    compression: Compression,
    part: &'a [u8],
    at: usize,
    visit: &mut Visitor<'_>,
    allowance: &mut Allowance,
) -> Result<&'a [u8], Error> {
    let extent = compression.extent(part);
    let mut rest = part;
    let unpacked = compression.unpack(&mut rest).map_err(|source| Error::Unpack { at, source })?;
    let unpacked = Limited { input: unpacked, left: &mut allowance.unpacked };
    let (wanted, mut after) = archives(unpacked, visit, extent.is_some(), &mut allowance.names)
        .map_err(|source| Error::Archive { packed: Some(compression), at, source })?;
    if let (Wanted::NothingMore, Some(extent)) = (wanted, extent) {
        return Ok(&part[extent..]);
    }
    // Data after the last archive belongs to the compressed part; the next part starts where this
    // one ends.
    io::copy(&mut after, &mut io::sink()).map_err(|source| Error::Unpack { at, source })?;
    drop(after);
    Ok(rest)
}

/// Reads all archives of a stream, or, if the visitor may stop, only until it wants nothing more.
/// Returns the rest of the stream.
fn archives<R: BufRead>(
    input: R,
    visit: &mut Visitor<'_>,
    may_stop: bool,
    names: &mut Names,
) -> Result<(Wanted, R), cpio::Error> {
    let mut archive = Archive::new(input);
    loop {
        while let Some(entry) = archive.next_entry()? {
            let at = archive.position();
            names.entry(&entry).map_err(|why| cpio::Error::NotAnEntry { at, why })?;
            let wanted = visit(&entry, &mut archive).map_err(|source| cpio::Error::Io { at, source })?;
            if may_stop && matches!(wanted, Wanted::NothingMore) {
                return Ok((wanted, archive.into_inner()));
            }
        }
        if !archive.another_follows()? {
            return Ok((Wanted::More, archive.into_inner()));
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoArchive { at } => {
                write!(f, "at byte {at} there is no cpio archive, compressed or not")
            }
            Self::Archive { packed: None, at, source } => write!(f, "the archive at byte {at}: {source}"),
            Self::Archive { packed: Some(packed), at, source } => {
                write!(f, "the archive at byte {at}, decompressed ({}): {source}", packed.name())
            }
            Self::Unpack { at, source } => write!(f, "the part at byte {at}: {source}"),
        }
    }
}

impl std::error::Error for Error {}

const UBOOT_MAGIC: &[u8] = &crate::uboot::MAGIC;
const UBOOT_HEADER: usize = crate::uboot::HEADER;

#[cfg(test)]
pub(crate) mod tests;
