//! The tables of volumes (crypttab and those in its format), and what they demand of a volume.
//!
//! An entry means a volume that has its name, its device or its header, however these are written;
//! the demands of all that do so count together.

use crate::args::address;
use crate::device::{found, is_same};
use keyway_boot::crypttab::{self, Entry};
use std::ffi::OsStr;
use std::fs;
use std::io::{self, ErrorKind};
use std::path::Path;

/// The entries of the table in `file`; none where there is no table.
///
/// # Errors
/// There is one, and it cannot be read.
pub(crate) fn read(file: &str) -> io::Result<Vec<Entry>> {
    match fs::read(file) {
        Ok(text) => Ok(crypttab::parse(&text)),
        Err(error) if [ErrorKind::NotFound, ErrorKind::NotADirectory].contains(&error.kind()) => {
            Ok(Vec::new())
        }
        Err(error) => Err(error),
    }
}

/// A volume that is about to be opened.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Meant<'a> {
    /// The name to open it under.
    pub(crate) name: Option<&'a OsStr>,
    /// Its device, found.
    pub(crate) device: &'a Path,
    /// Its header, if that is elsewhere.
    pub(crate) header: Option<&'a Path>,
}

impl Meant<'_> {
    /// The entries with demands that mean it.
    pub(crate) fn demanding<'e>(&self, entries: &'e [Entry]) -> Vec<&'e Entry> {
        entries.iter().filter(|entry| entry.demands().next().is_some() && self.is(entry)).collect()
    }

    fn is(&self, entry: &Entry) -> bool {
        let header = || entry.option("header").zip(self.header);
        let device = address::without_secrets(entry.device.clone());
        self.name == Some(&entry.name)
            || found::is_meant(&device, self.device)
            || self.header.is_some_and(|header| found::is_header_of(&device, header))
            || header().is_some_and(|(one, other)| is_same(&found::path_of(one.as_ref()), other))
    }
}
