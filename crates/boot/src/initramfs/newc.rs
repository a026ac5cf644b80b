//! Constants of the "newc" cpio format, which [`super::cpio`] reads and [`super::writer`] writes.

/// The number of bytes before the name.
pub(super) const HEADER: usize = 110;
/// The name that ends an archive.
pub(super) const TRAILER: &[u8] = b"TRAILER!!!";
/// The mode bits that give the type.
pub(super) const TYPE: u32 = 0o170_000;
/// A regular file.
pub(super) const FILE: u32 = 0o100_000;
/// A directory.
pub(super) const DIRECTORY: u32 = 0o040_000;
/// A symbolic link.
pub(super) const LINK: u32 = 0o120_000;
/// A character device.
pub(super) const CHARACTER: u32 = 0o020_000;
