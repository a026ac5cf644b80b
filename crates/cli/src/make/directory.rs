//! What `build` says of a directory: the line that first makes a file-system image of it.

use crate::output::failure::{Exit, Failure, Result};
use crate::output::shell;
use std::fs;
use std::io;
use std::path::Path;

/// Refuses a directory as the source of a volume.
pub(crate) fn refuse(source: &Path, out: &Path) -> Result<()> {
    if !source.is_dir() {
        return Ok(());
    }
    let name = source.file_name().unwrap_or("rootfs".as_ref()).to_string_lossy();
    let [from, out] = [source, out].map(|path| shell::word(&path.to_string_lossy()));
    let image = shell::word(&format!("{name}.ext4"));
    let size = room(source).map_or_else(|_| "SIZE".to_owned(), |bytes| format!("{}M", bytes.div_ceil(MIB)));
    let message = format!("{} is a directory; an image, a device or a pipe is needed.", source.display());
    let way = format!("mke2fs -q -t ext4 -d {from} {image} {size} && keyway build {image} {out}");
    Err(Failure::new(Exit::Device, message).hinting(format!("Make an image of it first: {way}")))
}

/// Bytes that hold the directory as ext4: its files in whole blocks, with an inode each, and room for
/// the journal, the tables and what is reserved.
fn room(directory: &Path) -> io::Result<u64> {
    let mut bytes = INODE;
    let mut folders = vec![directory.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder)? {
            let entry = entry?;
            let found = entry.metadata()?;
            let len = if found.is_file() { found.len().next_multiple_of(BLOCK) } else { BLOCK };
            bytes = bytes.saturating_add(len).saturating_add(INODE);
            if found.is_dir() {
                folders.push(entry.path());
            }
        }
    }
    Ok(bytes.saturating_add(bytes / 4).saturating_add(LEAST))
}

/// ext4's usual block.
const BLOCK: u64 = 4096;
/// mke2fs makes an inode for so many bytes at least.
const INODE: u64 = 16 << 10;
/// What an empty file system takes, with its journal.
const LEAST: u64 = 16 << 20;
const MIB: u64 = 1 << 20;
