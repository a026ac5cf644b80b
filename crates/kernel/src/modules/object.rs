//! A module's own metadata: its section `.modinfo`, which consists of NUL-terminated texts
//! ("alias=crypto-xts", "depends=a,b", "softdep=pre: c", "firmware=d/e.bin").
//!
//! The texts are searched for in the whole ELF file, in which they appear verbatim, so a truncated
//! or unusual file still yields what it contains.

use super::{Inventory, LONGEST_NAME};
use keyway_boot::initramfs::Compression;
use std::io;

impl Inventory {
    /// Reads the module `name` from its file's content, compressed or not. The `left` bytes limit
    /// what all compressed modules together may unpack to.
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
            } else if let Some(alias) = said(text, b"alias=", LONGEST_NAME) {
                self.is_also(alias, name);
            } else if let Some(list) = said(text, b"softdep=", LONGEST_LIST) {
                self.depend_softly(name, list);
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

/// The firmware that an unpacked module may ask for, by the names of its files.
pub fn firmware(object: &[u8]) -> Vec<&str> {
    let texts = object.split(|byte| *byte == 0);
    let mut names: Vec<&str> = texts.filter_map(|text| said(text, b"firmware=", LONGEST_NAME)).collect();
    names.retain(|name| !name.is_empty() && !name.split('/').any(|part| matches!(part, "" | "." | "..")));
    names.sort_unstable();
    names.dedup();
    names
}

/// The value of `key`, unless it is longer than the kernel's build makes it.
fn said<'a>(text: &'a [u8], key: &[u8], longest: usize) -> Option<&'a str> {
    let value = text.strip_prefix(key).filter(|value| value.len() <= longest)?;
    std::str::from_utf8(value).ok()
}

/// How much of a module is read. The texts come before debugging information, without which modules
/// have at most some tens of MiB.
pub(super) const LARGEST: u64 = 64 << 20;
/// What the modules of one kernel may unpack to in total: those of distributions need less than
/// half.
pub(super) const MOST_UNPACKED: u64 = 2 << 30;
const LONGEST_LIST: usize = 1 << 14;
