//! What is on a device, by its bytes.

use super::Identity;
use crate::Signature;
use keyway_volume::Storage;
use keyway_volume::device::probe::{self, Found, Reach};
use std::io;

/// All signatures of known formats, the outer layers first.
///
/// ```
/// use keyway::devices;
/// use keyway::storage::{Memory, Storage};
/// let disk = Memory::zeroed(1 << 18);
/// disk.write_at(b"\x53\xef", 1024 + 0x38)?;
/// disk.write_at(&[0x40], 1024 + 0x60)?;
/// assert_eq!(devices::signatures(&disk)?[0].blkid, "ext4");
/// assert_eq!(devices::file_system(&disk)?.unwrap().blkid, "ext4");
/// assert_eq!(devices::identity(&Memory::zeroed(1 << 18))?, None);
/// # Ok::<(), std::io::Error>(())
/// ```
///
/// # Errors
/// A place where a signature could be cannot be read.
pub fn signatures(storage: &dyn Storage) -> io::Result<Vec<Signature>> {
    Ok(named(probe::probe(storage)?))
}

/// Those that are at its start: what is read is little, wherever else others may be. See [`signatures`] for an example.
///
/// # Errors
/// Those of [`signatures`].
pub fn signatures_at_start(storage: &dyn Storage) -> io::Result<Vec<Signature>> {
    Ok(named(probe::probe_range(storage, 0..storage.len(), Reach::Start)?))
}

/// The file system that would be mounted; `None` where there is none, or more than one. See [`signatures`] for an
/// example.
///
/// # Errors
/// Those of [`signatures`].
pub fn file_system(storage: &dyn Storage) -> io::Result<Option<Signature>> {
    Ok(probe::file_system(storage, Reach::Start)?.map(Signature::of))
}

/// The UUID and label of the volume or file system. See [`signatures`] for an example.
///
/// # Errors
/// It cannot be read.
pub fn identity(storage: &dyn Storage) -> io::Result<Option<Identity>> {
    probe::identity(storage)
}

/// Whether these bytes, of the start of something without a signature, are random.
///
/// ```
/// assert!(!keyway::devices::is_noise(&[0; 65536]));
/// ```
pub fn is_noise(bytes: &[u8]) -> bool {
    probe::is_noise(bytes)
}

/// What there is that counts in blocks smaller than `sector` bytes, and could not be mounted from encryption sectors of
/// that size: its name as blkid has it, and the size of its blocks. See
/// [`Device::smaller_blocks`](crate::Device::smaller_blocks) for an example.
pub fn smaller_blocks(storage: &dyn Storage, sector: u32) -> Option<(&'static str, u32)> {
    probe::too_small_for(storage, sector)
}

fn named(found: Vec<Found>) -> Vec<Signature> {
    found.into_iter().map(|found| Signature::of(found.signature)).collect()
}
