//! Content of volumes on its way: copied through all cores, compared, and what of an image needs no copy (feature `parts`).
//! [`Create::build`](crate::Create::build) and [`Volume::copy_to_file`](crate::Volume::copy_to_file) use the same.
//!
//! ```
//! use keyway::parts::{CopyOptions, Meter, Source};
//! use keyway::storage::Memory;
//! use keyway::stream::{self, ImageHoles, Sink};
//! let (image, disk) = (Memory::from(vec![7; 8192]), Memory::zeroed(8192));
//! let moved = stream::copy(Source::Storage(&image, 0..8192), Sink::Storage(&disk, 0), &CopyOptions::default(), &Meter::new())?;
//! assert_eq!(moved.length, 8192);
//!
//! let compared = stream::compare(Source::Storage(&image, 0..8192), ImageHoles::None.in_transfer(), &disk, &Meter::new())?;
//! assert!(compared.difference.is_none());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use crate::parts::{CopyOptions, Holes, Meter, Source};
use keyway_volume::Storage;
use keyway_volume::data::{build, compare as comparing};
use keyway_volume::device::stream::transfer;

/// What is done with the holes of an image, for a program that lets its user choose.
pub use keyway_volume::data::build::ImageHoles;
/// Why a volume has no length: from [`plaintext_len`].
pub use keyway_volume::data::build::NoLength;
/// What was found equal, or where the first difference is: from [`compare`].
pub use keyway_volume::data::compare::Comparison;
/// What of an image its file system does not use: from [`ImageHoles::view`].
pub use keyway_volume::data::unused::Unneeded;
/// Why a copy or comparison has ended before its end.
pub use keyway_volume::device::stream::Failure;
/// What was copied: from [`copy`].
pub use keyway_volume::device::stream::Moved;
/// Where bytes are copied to.
pub use keyway_volume::device::stream::Sink;

/// No file or device is longer, in bytes.
pub const LONGEST: u64 = build::MOST;

/// Copies from a source to a sink. See [`stream`](self) for an example.
///
/// # Errors
/// Reading or writing fails, or somebody stops it.
pub fn copy(
    source: Source<'_>,
    sink: Sink<'_>,
    options: &CopyOptions,
    meter: &Meter,
) -> Result<Moved, Failure> {
    transfer(source, sink, options, meter)
}

/// Compares a source with the plaintext of a volume, up to the first difference. See [`stream`](self) for an example.
///
/// # Errors
/// Reading fails, of the source or (as a failure to write) of the volume; or somebody stops it.
pub fn compare(
    source: Source<'_>,
    holes: Holes,
    volume: &dyn Storage,
    meter: &Meter,
) -> Result<Comparison, Failure> {
    comparing::compare(source, holes, volume, meter)
}

/// The length of a new volume's plaintext: the size that is asked for, or that of its content with headroom. `None` for
/// content whose length is not known.
///
/// ```
/// use keyway::stream::{self, NoLength};
/// assert_eq!(stream::plaintext_len(Some(5000), None, Some(1000)), Ok(Some(6000)));
/// assert_eq!(stream::plaintext_len(Some(0), None, None), Err(NoLength::Empty));
/// ```
///
/// # Errors
/// The content does not fit, or there is none.
pub fn plaintext_len(
    content: Option<u64>,
    size: Option<u64>,
    headroom: Option<u64>,
) -> Result<Option<u64>, NoLength> {
    build::plaintext_len(content, size, headroom)
}
