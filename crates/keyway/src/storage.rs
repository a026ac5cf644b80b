//! Storage: the interface to a volume's bytes, and to its plaintext.
//!
//! To keep a volume's bytes in a place of your own, implement [`Storage`]. A file
//! system that reads from a `Storage` can read from a [`Volume`](crate::Volume) too.
//!
//! ```
//! # use keyway::*;
//! use keyway::storage::{Memory, Storage};
//! use std::sync::Arc;
//!
//! /// A file system's own reader.
//! fn magic(disk: &dyn Storage) -> std::io::Result<[u8; 2]> {
//!     let mut magic = [0; 2];
//!     disk.read_at(&mut magic, 1024 + 56)?;
//!     Ok(magic)
//! }
//!
//! # let key = Key::passphrase("correct horse");
//! let bytes: Arc<dyn Storage> = Arc::new(Memory::zeroed(4 << 20));
//! assert_eq!(Device::from_storage(bytes).probe()?, Probe::Nothing);
//!
//! # let device = Create::luks2().kdf(NewKdf::pbkdf2(1000)).in_memory(1 << 20, &key)?;
//! let volume = device.unlock(&key)?;
//! volume.write_at(&[0x53, 0xef], 1024 + 56)?;
//! assert_eq!(magic(&*volume.storage())?, [0x53, 0xef]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! A program that opens files and devices itself (feature `parts`) has here what the library opens them with. Offsets and
//! lengths are bytes, errors are the system's; they name the path.
//!
//! | to … | use |
//! |------|-----|
//! | read or edit what is there; a whole file or device, or a partition of it, `disk.img#2` | `File`, `Direct` |
//! | split such a name, find the image behind it, learn why there is no such partition | `PartitionName`, `image_of`, `NoPartition` |
//! | keep every other program away while a device is written over | `Exclusive` |
//! | write a file that is whole or absent, for those who may read its content alone | `NewFile`, `Readers` |
//! | follow no link that another user may have put in the way | `Place`, `Planted` |

/// A part of a file or device: offset and length in bytes. See [`LockTarget`].
pub use keyway_volume::device::storage::Extent;
/// The target of a lock on storage: which other storage has the same bytes. See [`Storage::lock_target`].
pub use keyway_volume::device::storage::LockTarget;
pub use keyway_volume::device::storage::{Memory, Storage};

/// Bypasses the page cache, for data that is read or written once. See [`File`].
#[cfg(feature = "parts")]
pub use keyway_volume::device::storage::Direct;
/// ```
/// use keyway::storage::{Exclusive, File, Storage};
/// # let directory = std::env::temp_dir().join(format!("keyway-exclusive-{}", std::process::id()));
/// # std::fs::create_dir_all(&directory)?;
/// # let path = directory.join("disk.img");
/// # std::fs::write(&path, [0; 4096])?;
/// let claimed = Exclusive::claim(std::sync::Arc::new(File::overwrite(&path)?))?;
/// assert!(Exclusive::claim(std::sync::Arc::new(File::open_rw(&path)?)).is_err());
/// claimed.write_at(b"nobody else writes here", 512)?;
/// # std::fs::remove_dir_all(&directory)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[cfg(feature = "parts")]
pub use keyway_volume::device::storage::Exclusive;
/// See [`Exclusive`] for an example.
#[cfg(feature = "parts")]
pub use keyway_volume::device::storage::File;
/// ```
/// use keyway::storage::{File, NewFile, Readers, Storage};
/// # let directory = std::env::temp_dir().join(format!("keyway-new-file-{}", std::process::id()));
/// # std::fs::create_dir_all(&directory)?;
/// # let path = directory.join("plain.img");
/// let new = NewFile::create(&path, false)?;
/// new.file().write_at(b"content", 0)?;
/// assert!(!path.exists());
/// new.complete(Readers::Owner)?;
/// assert_eq!(File::open(&path)?.len(), 7);
/// # std::fs::remove_dir_all(&directory)?;
/// # Ok::<(), std::io::Error>(())
/// ```
#[cfg(feature = "parts")]
pub use keyway_volume::device::storage::NewFile;
/// See [`PartitionName`].
#[cfg(feature = "parts")]
pub use keyway_volume::device::storage::NoPartition;
/// ```
/// use keyway::storage::{PartitionName, image_of};
/// # let directory = std::env::temp_dir().join(format!("keyway-partition-{}", std::process::id()));
/// # std::fs::create_dir_all(&directory)?;
/// # let image = directory.join("disk.img");
/// # std::fs::write(&image, [0; 4096])?;
/// let second = directory.join("disk.img#2");
/// let name = PartitionName::of(&second).unwrap();
/// assert_eq!((&name.image, name.number), (&image, 2));
/// assert_eq!(image_of(&second), image);
/// assert!(!name.has_table());
/// # std::fs::remove_dir_all(&directory)?;
/// # Ok::<(), std::io::Error>(())
/// ```
#[cfg(feature = "parts")]
pub use keyway_volume::device::storage::PartitionName;
/// A path that is safe to make, replace or edit, whoever may write to its directory. [`File`] and [`NewFile`] use it.
#[cfg(feature = "parts")]
pub use keyway_volume::device::storage::Place;
/// Why a path is not followed: another user may have put it there. The cause of an [`std::io::Error`].
#[cfg(feature = "parts")]
pub use keyway_volume::device::storage::Planted;
/// See [`NewFile`] for an example.
#[cfg(feature = "parts")]
pub use keyway_volume::device::storage::Readers;
/// See [`PartitionName`] for an example.
#[cfg(feature = "parts")]
pub use keyway_volume::device::storage::image_of;
