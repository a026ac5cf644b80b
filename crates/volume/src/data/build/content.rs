//! The content of a new volume: its bytes, its length, and the treatment of its holes.

use crate::device::stream::{Holes, Source};
use crate::{Storage, Unneeded};
use std::io;

/// The content of the volume.
pub struct Content<'a> {
    /// The bytes.
    pub source: Source<'a>,
    /// Length of the plaintext, extension included, where it is known.
    pub len: Option<u64>,
    /// What to do with holes of the source.
    pub holes: Holes,
    /// The minimum length of the plaintext.
    pub extend_to: u64,
    /// How far the plaintext extends beyond the source's end.
    pub headroom: u64,
    /// The maximum that a pipe may deliver.
    pub limit: Option<u64>,
}

impl<'a> Content<'a> {
    /// A whole storage, and nothing else.
    pub fn whole(storage: &'a dyn Storage, holes: Holes) -> Self {
        let len = storage.len();
        let source = Source::Storage(storage, 0..len);
        Self { source, len: Some(len), holes, extend_to: 0, headroom: 0, limit: None }
    }
}

/// Why the length of a content is not possible.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoLength {
    /// It is longer than the requested size.
    DoesNotFit {
        /// Its length.
        len: u64,
        /// The requested size.
        size: u64,
    },
    /// It is empty, and no extra room was requested.
    Empty,
}

/// Length of a plaintext whose source has `len` bytes: `size`, or the source's length plus
/// `headroom`. `None` for a pipe of unknown length.
///
/// # Errors
/// No such length is possible.
pub fn plaintext_len(
    len: Option<u64>,
    size: Option<u64>,
    headroom: Option<u64>,
) -> Result<Option<u64>, NoLength> {
    match (size, headroom, len) {
        (Some(size), _, Some(len)) if size < len => Err(NoLength::DoesNotFit { len, size }),
        (None, headroom, Some(0)) if headroom.unwrap_or(0) == 0 => Err(NoLength::Empty),
        (Some(size), ..) => Ok(Some(size)),
        (None, headroom, len) => Ok(len.map(|len| len.saturating_add(headroom.unwrap_or(0)))),
    }
}

/// How an image's holes are treated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ImageHoles {
    /// Holes that the image's own file system marks as free stay holes; the others are zeros in
    /// use.
    #[default]
    Unneeded,
    /// All of them stay.
    All,
    /// All of them are encrypted as zeros.
    None,
}

impl ImageHoles {
    /// How the pipeline treats the holes of the view.
    pub fn in_transfer(self) -> Holes {
        if self == Self::None { Holes::Fill } else { Holes::Keep }
    }

    /// The image's free space, where that matters.
    ///
    /// # Errors
    /// The image cannot be read.
    pub fn view(self, image: &dyn Storage) -> io::Result<Option<Unneeded<'_>>> {
        match self {
            Self::Unneeded => Unneeded::of(image).map(Some),
            Self::All | Self::None => Ok(None),
        }
    }
}
