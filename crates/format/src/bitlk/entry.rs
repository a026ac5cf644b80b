//! Metadata are a list of entries, some of which hold lists themselves (libyal, "FVE metadata entry").
//!
//! | offset | length | field                                              |
//! |--------|--------|----------------------------------------------------|
//! | 0      | 2      | length of the entry, these bytes included          |
//! | 2      | 2      | what it is for                                     |
//! | 4      | 2      | what its data are                                  |
//! | 6      | 2      | version (1), or flags; nothing depends on it here    |
//! | 8      |        | data                                               |
//!
//! Fewer than eight bytes, or a length of zero, end a list.

use super::le16;
use crate::Error;
use alloc::format;
use alloc::vec::Vec;

/// An entry of metadata.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Entry<'a> {
    /// What it is for: one of [`purpose`].
    pub purpose: u16,
    /// What its data are: one of [`value`].
    pub value: u16,
    /// Version or flags.
    pub version: u16,
    /// The data.
    pub data: &'a [u8],
    /// Where the data begin, counted from the start of what was parsed.
    pub at: usize,
}

impl<'a> Entry<'a> {
    /// The entries in its data, from `from` on.
    pub(super) fn inside(&self, from: usize) -> Entries<'a> {
        Entries { bytes: self.data.get(from..).unwrap_or_default(), at: self.at + from }
    }

    /// Refuses data shorter than `needs` bytes, by `name`.
    pub(super) fn check_len(&self, needs: usize, name: &str) -> Result<(), Error> {
        match self.data.len() {
            has if has < needs => Err(self.refused(name, format!("{has} bytes of data, it needs {needs}"))),
            _ => Ok(()),
        }
    }

    pub(super) fn refused(&self, name: &str, why: impl Into<alloc::string::String>) -> Error {
        Error::invalid(format!("{name} at byte {}", self.at - HEADER), why)
    }
}

/// The entries of a list. After an error there are no more.
#[derive(Debug, Clone)]
pub struct Entries<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Entries<'a> {
    /// Those in `bytes`, which begin at `at` of what is parsed.
    pub fn of(bytes: &'a [u8], at: usize) -> Self {
        Self { bytes, at }
    }
}

impl<'a> Iterator for Entries<'a> {
    type Item = Result<Entry<'a>, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        let (bytes, at) = (self.bytes, self.at);
        self.bytes = &[];
        let len = usize::from(le16(bytes, 0));
        if bytes.len() < HEADER || len == 0 {
            return None;
        }
        if len < HEADER || len > bytes.len() {
            let why = format!("its length is {len} bytes, and {} are left", bytes.len());
            return Some(Err(Error::invalid(format!("metadata entry at byte {at}"), why)));
        }
        let (entry, rest) = bytes.split_at(len);
        (self.bytes, self.at) = (rest, at + len);
        Some(Ok(Entry {
            purpose: le16(entry, 2),
            value: le16(entry, 4),
            version: le16(entry, 6),
            data: &entry[HEADER..],
            at: at + HEADER,
        }))
    }
}

/// An entry of `data`, which are shorter than 64 KiB.
pub(super) fn bytes_of(purpose: u16, value: u16, data: &[u8]) -> Vec<u8> {
    let head = [(HEADER + data.len()) as u16, purpose, value, VERSION].map(u16::to_le_bytes);
    [head.as_flattened(), data].concat()
}

/// The version of what is written here.
const VERSION: u16 = 1;
/// The bytes before an entry's data.
pub(super) const HEADER: usize = 8;

/// What entries are for.
pub(super) mod purpose {
    /// Of what holds it.
    pub(crate) const PROPERTY: u16 = 0;
    pub(crate) const PROTECTOR: u16 = 2;
    pub(crate) const VOLUME_KEY: u16 = 3;
    pub(crate) const STARTUP_KEY: u16 = 6;
    pub(crate) const DESCRIPTION: u16 = 7;
    pub(crate) const BOOT_SECTORS: u16 = 15;
    pub(crate) const RECOVERY_PASSWORD: u16 = 18;
    pub(crate) const RECOVERY_KEY: u16 = 19;
}

/// What the data of entries are.
pub(super) mod value {
    pub(crate) const KEY: u16 = 1;
    pub(crate) const TEXT: u16 = 2;
    pub(crate) const STRETCHED: u16 = 3;
    pub(crate) const WRAPPED: u16 = 5;
    pub(crate) const PROTECTOR: u16 = 8;
    pub(crate) const EXTERNAL: u16 = 9;
    pub(crate) const PLACE: u16 = 15;
}
