//! What a module says of itself: its section `.modinfo`, texts with a zero
//! behind each ("alias=crypto-xts", "depends=a,b").
//!
//! The texts are looked for in the whole file, which is an ELF object: they stand in it as they
//! are, and a file that is cut or odd still gives what it has.

use super::{Inventory, LONGEST_NAME};
use keyway_boot::initramfs::Compression;
use std::io;

impl Inventory {
    /// Reads the module `name` from its file's content, packed or not; of a packed one no
    /// more than is `left` for all modules together.
    pub(super) fn add_object(&mut self, name: &str, content: &[u8], left: &mut u64) -> io::Result<()> {
        let unpacked;
        let object = match Compression::of(content) {
            Some(compression) => {
                unpacked = compression.unpack_some(content, LARGEST.min(*left))?;
                *left -= unpacked.len() as u64;
                &unpacked[..]
            }
            None => content,
        };
        for text in object.split(|byte| *byte == 0) {
            if let Some(alias) = said(text, b"alias=crypto-", LONGEST_NAME) {
                self.implemented(alias, name);
            } else if let Some(before) = said(text, b"depends=", LONGEST_LIST) {
                self.depend(name, before.split(','));
            } else if self.release.is_empty()
                && let Some(release) = said(text, b"vermagic=", LONGEST_NAME)
            {
                self.release = release.split(' ').next().unwrap_or_default().to_owned();
            }
        }
        Ok(())
    }
}

/// What stands behind `key`, where it is no longer than a kernel's build makes it.
fn said<'a>(text: &'a [u8], key: &[u8], longest: usize) -> Option<&'a str> {
    let value = text.strip_prefix(key).filter(|value| value.len() <= longest)?;
    std::str::from_utf8(value).ok()
}

/// Of a module the part that is read. The texts stand in front of debugging information,
/// and without that modules have some tens of MiB.
pub(super) const LARGEST: u64 = 64 << 20;
/// What the modules of one kernel may unpack to, together: those of
/// distributions have less than half.
pub(super) const MOST_UNPACKED: u64 = 2 << 30;
const LONGEST_LIST: usize = 1 << 14;
