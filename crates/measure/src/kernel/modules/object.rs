//! What a module says of itself: its section `.modinfo`, texts with a zero behind each ("alias=crypto-xts", "depends=a,b").
//!
//! The texts are looked for in the whole file, which is an ELF object: they stand in it as they are, and a file that is cut
//! or odd still gives what it has.

use super::{Inventory, normal};
use keyway_boot::initramfs::Compression;
use std::io;

impl Inventory {
    /// Reads the module `name` from its file's content, packed or not.
    pub(super) fn add_object(&mut self, name: &str, content: &[u8]) -> io::Result<()> {
        let unpacked;
        let object = match Compression::of(content) {
            Some(compression) => {
                unpacked = compression.unpack_all(content, LARGEST)?;
                &unpacked[..]
            }
            None => content,
        };
        for text in object.split(|byte| *byte == 0) {
            let Ok(text) = std::str::from_utf8(text) else { continue };
            if let Some(alias) = text.strip_prefix("alias=crypto-") {
                self.crypto.entry(alias.to_owned()).or_default().insert(name.to_owned());
            } else if let Some(before) = text.strip_prefix("depends=") {
                let before = before.split(',').filter(|name| !name.is_empty()).map(normal);
                self.depends.entry(name.to_owned()).or_default().extend(before);
            } else if let Some(release) = text.strip_prefix("vermagic=").filter(|_| self.release.is_empty()) {
                self.release = release.split(' ').next().unwrap_or_default().to_owned();
            }
        }
        Ok(())
    }
}

/// The largest modules have some tens of MiB with their debugging information.
pub(super) const LARGEST: u64 = 256 << 20;
