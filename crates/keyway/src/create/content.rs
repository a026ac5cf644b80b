//! The content of a volume that is created together with it.

use crate::{Device, Error, Result, Volume};
use keyway_volume::Storage;
use keyway_volume::data::build::ImageHoles;
use keyway_volume::device::in_use;
use std::fmt;
use std::io::Read;
use std::sync::Arc;

/// The content of a volume that [`Create::build`](crate::Create::build) creates; see there for an
/// example.
///
/// Holes stay holes where that is harmless: the holes of a volume, which were never written, and
/// the holes of an image that its own file system (ext2, ext3, ext4, bare or in partitions) marks
/// as free. All other holes are zeros that may be relied on, and are encrypted.
pub struct Content<'a> {
    pub(super) bytes: Bytes<'a>,
    pub(super) holes: ImageHoles,
    pub(super) headroom: u64,
}

pub(super) enum Bytes<'a> {
    Reader(&'a mut (dyn Read + Send)),
    Image(Arc<dyn Storage>),
    Volume(Arc<dyn Storage>),
}

impl<'a> Content<'a> {
    /// Everything from a reader, to its end. See [`Create::build`](crate::Create::build) for an
    /// example.
    pub fn reader(reader: &'a mut (dyn Read + Send)) -> Self {
        Self::new(Bytes::Reader(reader))
    }

    /// All bytes of a device or file, as they are. See [`Create::build`](crate::Create::build) for
    /// an example.
    pub fn image(device: &Device) -> Self {
        Self::new(Bytes::Image(device.data()))
    }

    /// The plaintext of a volume: a copy under a new volume key. See
    /// [`Create::build`](crate::Create::build) for an example.
    pub fn volume(volume: &Volume) -> Self {
        Self::new(Bytes::Volume(volume.storage()))
    }

    /// Encrypts all holes as zeros, so that nothing shows which sectors are in use. See
    /// [`Create::build`](crate::Create::build) for an example.
    #[must_use]
    pub fn fill_holes(mut self) -> Self {
        self.holes = ImageHoles::None;
        self
    }

    /// Leaves all holes unwritten. They then read as noise, so use this only for images whose holes
    /// are never read. See [`Create::build`](crate::Create::build) for an example.
    #[must_use]
    pub fn keep_holes(mut self) -> Self {
        self.holes = ImageHoles::All;
        self
    }

    /// Leaves this many bytes unwritten after the content: they read as noise, unless holes are
    /// filled. See [`Create::build`](crate::Create::build) for an example.
    #[must_use]
    pub fn headroom(mut self, bytes: u64) -> Self {
        self.headroom = bytes;
        self
    }

    /// Its length in bytes; a reader has none.
    pub(super) fn len(&self) -> Option<u64> {
        match &self.bytes {
            Bytes::Reader(_) => None,
            Bytes::Image(storage) | Bytes::Volume(storage) => Some(storage.len()),
        }
    }

    /// Refuses an image that is the new volume's own device.
    pub(super) fn check_apart(&self, target: &dyn Storage) -> Result<()> {
        match &self.bytes {
            Bytes::Image(image) if in_use::is_same(&**image, target) => {
                Err(Error::refused("it would be overwritten while it is read"))
            }
            _ => Ok(()),
        }
    }

    fn new(bytes: Bytes<'a>) -> Self {
        Self { bytes, holes: ImageHoles::default(), headroom: 0 }
    }
}

impl fmt::Debug for Content<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("Content");
        shown.field("holes", &self.holes).field("headroom", &self.headroom).finish_non_exhaustive()
    }
}
