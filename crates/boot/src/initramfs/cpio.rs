//! "newc" cpio archives (Linux,
//! Documentation/driver-api/early-userspace/buffer-format.rst), read as a stream.
//!
//! ```text
//! 0    6   "070701", or "070702" with a checksum
//! 6    8×13  hexadecimal: inode, mode, uid, gid, links, time, size, device (2), special device (2), length of name, checksum
//! 110  n   name with its zero; zeros to a multiple of 4
//!          content; zeros to a multiple of 4
//! ```
//!
//! The entry named "TRAILER!!!" ends an archive; zeros, and another archive, may follow.

use super::newc::{self, HEADER, TRAILER};
use std::fmt;
use std::io::{self, BufRead, Read};

/// Reads consecutive archives from a stream. Reading from this yields the content of the current
/// entry.
#[derive(Debug)]
pub struct Archive<R> {
    input: R,
    /// The number of bytes read so far, for error messages.
    position: u64,
    /// The remaining bytes of the current entry's content.
    left: u64,
    padding: u64,
}

/// One entry. Its content is read from the archive.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// The path, without a leading slash or "./".
    pub name: String,
    /// Type and permissions, as in stat.
    pub mode: u32,
    /// The content's length in bytes; of several hard links only the last has content.
    pub size: u64,
    /// The number of links.
    pub links: u32,
    /// What identifies the file if it has several links: the inode, and its device (two numbers).
    pub identity: (u32, u32, u32),
    /// A device node's numbers.
    pub special: (u32, u32),
}

/// Why reading stopped.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// The data at this offset is not an entry, or not a reasonable one.
    NotAnEntry {
        /// The offset.
        at: u64,
        /// The rule that is violated.
        why: &'static str,
    },
    /// The stream failed or ended within an entry.
    Io {
        /// The offset.
        at: u64,
        /// Why.
        source: io::Error,
    },
}

impl<R: BufRead> Archive<R> {
    /// Reads archives from `input`.
    pub fn new(input: R) -> Self {
        Self { input, position: 0, left: 0, padding: 0 }
    }

    /// Skips the rest of the current entry and returns the next one. `None` at the trailer, or if
    /// the stream ends between entries.
    pub fn next_entry(&mut self) -> Result<Option<Entry>, Error> {
        self.skip()?;
        if self.peek()?.is_empty() {
            return Ok(None);
        }
        let mut header = [0; HEADER];
        let at = self.position;
        self.exactly(&mut header)?;
        let not = |why| Err(Error::NotAnEntry { at, why });
        if !matches!(&header[..6], b"070701" | b"070702") {
            return not("it does not start with 070701");
        }
        let Some(fields) = fields(&header) else { return not("its header is not hexadecimal") };
        let [inode, mode, _, _, links, _, size, major, minor, special_major, special_minor, name_length, _] =
            fields;
        if !(1..=LONGEST_NAME).contains(&name_length) {
            return not("its name is empty or longer than any path");
        }
        let mut name = vec![0; name_length as usize];
        self.exactly(&mut name)?;
        if name.pop() != Some(0) || name.contains(&0) {
            return not("its name does not end with its only NUL byte");
        }
        if mode & newc::TYPE == newc::LINK && size > LONGEST_NAME {
            return not("its link's target has more than 4096 bytes, longer than any path");
        }
        (self.left, self.padding) = (u64::from(size), padding(u64::from(size)));
        self.discard(padding(HEADER as u64 + u64::from(name_length)))?;
        if name == TRAILER {
            self.skip()?;
            return Ok(None);
        }
        let name = String::from_utf8_lossy(&name);
        let name = name.trim_start_matches("./").trim_start_matches('/').to_owned();
        Ok(Some(Entry {
            name,
            mode,
            size: u64::from(size),
            links,
            identity: (inode, major, minor),
            special: (special_major, special_minor),
        }))
    }

    /// Skips the zeros after an archive. Returns whether another archive follows.
    pub(crate) fn another_follows(&mut self) -> Result<bool, Error> {
        loop {
            let buffer = self.peek()?;
            let zeros = buffer.iter().take_while(|byte| **byte == 0).count();
            let rest = &buffer[zeros..];
            let (is_end, is_archive) =
                (buffer.is_empty() || !rest.is_empty(), rest.starts_with(&b"0707"[..rest.len().min(4)]));
            let is_archive = is_archive && !rest.is_empty();
            self.input.consume(zeros);
            self.position += zeros as u64;
            if is_end {
                return Ok(is_archive);
            }
        }
    }

    /// The number of bytes read so far.
    pub fn position(&self) -> u64 {
        self.position
    }

    /// The stream, positioned where reading stopped.
    pub fn into_inner(self) -> R {
        self.input
    }

    fn skip(&mut self) -> Result<(), Error> {
        let (left, padding) = (std::mem::take(&mut self.left), std::mem::take(&mut self.padding));
        self.discard(left)?;
        // The padding of the last entry may be missing.
        if self.peek()?.is_empty() { Ok(()) } else { self.discard(padding) }
    }

    fn discard(&mut self, length: u64) -> Result<(), Error> {
        let at = self.position;
        let passed = io::copy(&mut (&mut self.input).take(length), &mut io::sink())
            .map_err(|source| Error::Io { at, source })?;
        self.position += passed;
        match passed == length {
            true => Ok(()),
            false => Err(Error::Io { at, source: io::ErrorKind::UnexpectedEof.into() }),
        }
    }

    fn exactly(&mut self, buffer: &mut [u8]) -> Result<(), Error> {
        let at = self.position;
        self.input.read_exact(buffer).map_err(|source| Error::Io { at, source })?;
        self.position += buffer.len() as u64;
        Ok(())
    }

    fn peek(&mut self) -> Result<&[u8], Error> {
        let at = self.position;
        self.input.fill_buf().map_err(|source| Error::Io { at, source })
    }
}

/// Reads the current entry's content.
impl<R: BufRead> Read for Archive<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let most = buffer.len().min(usize::try_from(self.left).unwrap_or(usize::MAX));
        let length = self.input.read(&mut buffer[..most])?;
        if length == 0 && most > 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        self.left -= length as u64;
        self.position += length as u64;
        Ok(length)
    }
}

impl Entry {
    /// Whether it is a regular file.
    pub fn is_file(&self) -> bool {
        self.mode & newc::TYPE == newc::FILE
    }

    /// Whether it is a symbolic link.
    pub fn is_link(&self) -> bool {
        self.mode & newc::TYPE == newc::LINK
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotAnEntry { at, why } => write!(f, "no cpio entry at byte {at}: {why}"),
            Self::Io { at, source } if source.kind() == io::ErrorKind::UnexpectedEof => {
                write!(f, "it ends within an entry, after byte {at}")
            }
            Self::Io { at, source } => write!(f, "after byte {at}: {source}"),
        }
    }
}

impl std::error::Error for Error {}

fn fields(header: &[u8; HEADER]) -> Option<[u32; 13]> {
    let mut fields = [0; 13];
    for (field, digits) in fields.iter_mut().zip(header[6..].chunks_exact(8)) {
        let digits = std::str::from_utf8(digits).ok().filter(|text| !text.starts_with('+'))?;
        *field = u32::from_str_radix(digits, 16).ok()?;
    }
    Some(fields)
}

fn padding(length: u64) -> u64 {
    length.next_multiple_of(4) - length
}

/// The kernel's PATH_MAX, for names and links: the kernel skips longer ones.
const LONGEST_NAME: u32 = 4096;

#[cfg(test)]
mod tests {
    use super::super::tests::archive;
    use super::*;

    #[test]
    fn entries_with_their_content() {
        let bytes = archive(&[("bin/sh", b"#!"), ("./etc/fstab", b""), ("lib/x.ko", b"12345")]);
        let mut archive = Archive::new(&bytes[..]);
        let first = archive.next_entry().unwrap().unwrap();
        assert_eq!((&first.name[..], first.size, first.is_file()), ("bin/sh", 2, true));
        let mut content = String::new();
        archive.read_to_string(&mut content).unwrap();
        assert_eq!(content, "#!");
        assert_eq!(archive.next_entry().unwrap().unwrap().name, "etc/fstab");
        // Content that is not read is skipped.
        assert_eq!(archive.next_entry().unwrap().unwrap().size, 5);
        assert_eq!(archive.next_entry().unwrap(), None);
        assert!(!archive.another_follows().unwrap());
    }

    #[test]
    fn archives_one_after_the_other() {
        let mut bytes = archive(&[("a", b"1")]);
        bytes.resize(bytes.len().next_multiple_of(512), 0);
        bytes.extend(archive(&[("b", b"2")]));
        let mut archive = Archive::new(&bytes[..]);
        assert_eq!(archive.next_entry().unwrap().unwrap().name, "a");
        assert_eq!(archive.next_entry().unwrap(), None);
        assert!(archive.another_follows().unwrap());
        assert_eq!(archive.next_entry().unwrap().unwrap().name, "b");
    }

    #[test]
    fn whatever_is_damaged_is_refused_with_its_place() {
        let bytes = archive(&[("a", b"1234")]);
        let first = |bytes: &[u8]| Archive::new(bytes).next_entry().map_err(|error| error.to_string());
        let broken = |at: usize, byte: u8| {
            let mut broken = bytes.clone();
            broken[at] = byte;
            first(&broken).unwrap_err()
        };
        assert_eq!(broken(0, b'x'), "no cpio entry at byte 0: it does not start with 070701");
        assert_eq!(broken(20, b'x'), "no cpio entry at byte 0: its header is not hexadecimal");
        assert_eq!(broken(94, b'f'), "no cpio entry at byte 0: its name is empty or longer than any path");
        assert_eq!(
            broken(111, b'x'),
            "no cpio entry at byte 0: its name does not end with its only NUL byte"
        );
        assert_eq!(first(&bytes[..100]).unwrap_err(), "it ends within an entry, after byte 0");
        let mut cut = Archive::new(&bytes[..114]);
        assert!(cut.next_entry().unwrap().is_some());
        assert!(cut.read(&mut [0; 4]).is_ok_and(|length| length == 2));
        assert!(cut.read(&mut [0; 4]).is_err() && cut.next_entry().is_err());
    }
}
