//! New VeraCrypt volumes together with their content, in one pass.

use super::NewVeracrypt;
use crate::create::build::whole;
use crate::create::building::NotBuilt;
use crate::create::content::{Bytes, Content};
use crate::{Device, Error, ErrorKind, Key, Location, Result};
use keyway_crypto::Cpu;
use keyway_volume::device::stream::{self, Holes, Meter, Options, Sink, Source};
use keyway_volume::kind::tcrypt::NewVolume;
use keyway_volume::{OsRandom, Storage, Volume};
use std::sync::Arc;

impl NewVeracrypt {
    /// Creates the volume together with its content, in one pass. A new file is as long as the content needs, or as
    /// [`NewVeracrypt::size`] says; for a reader, that has to be said. All of the data area is written, holes as
    /// what they read as: nothing shows which of it is used. [`NewVeracrypt::quick`] has no effect.
    ///
    /// ```
    /// # use keyway::*;
    /// # let directory = std::env::temp_dir().join(format!("keyway-veracrypt-built-{}", std::process::id()));
    /// # std::fs::create_dir_all(&directory)?;
    /// # let [image, path] = ["image", "disk.hc"].map(|name| directory.join(name));
    /// # std::fs::write(&image, [7; 100_000])?;
    /// let key = Key::passphrase("correct horse battery staple");
    /// let new = NewVeracrypt::new().pim(1);
    /// let device = new.build(&path, &key, Content::image(&Device::open(&image)?))?;
    /// let volume = device.unlock_as(&Tcrypt::new().pim(1), &key, &Unlock::new())?;
    /// let mut start = [0; 1];
    /// volume.read_at(&mut start, 99_999)?;
    /// assert_eq!((start, volume.len()), ([7], 100_352));
    ///
    /// let mut stream = &b"from a pipe"[..];
    /// new.size(1 << 20).overwrite().build(directory.join("other.hc"), &key, Content::reader(&mut stream))?;
    /// # std::fs::remove_dir_all(&directory)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`NewVeracrypt::create`]; [`ErrorKind::TooShort`] where the content does not
    /// fit; a reader or device fails. No file is left behind then, and no volume on a device.
    pub fn build(&self, location: impl Into<Location>, key: &Key, content: Content<'_>) -> Result<Device> {
        self.appear(location.into(), content.len(), |storage| {
            content.check_apart(&**storage)?;
            self.fill(storage, key, content)
        })
    }

    fn fill(&self, storage: &Arc<dyn Storage>, key: &Key, content: Content<'_>) -> Result<()> {
        let meter = self.limits.begin(Some(NewVolume::default().fills(&**storage)?));
        match content.bytes {
            Bytes::Reader(reader) => self.fill_from(storage, key, Source::Pipe(reader), &meter),
            Bytes::Image(content) | Bytes::Volume(content) => {
                self.fill_from(storage, key, whole(&*content), &meter)
            }
        }
        .map_err(Error::from)
    }

    fn fill_from(
        &self,
        storage: &Arc<dyn Storage>,
        key: &Key,
        content: Source<'_>,
        meter: &Meter,
    ) -> Result<(), NotBuilt> {
        let passphrase = key.read_new_passphrase(!self.volume.key_files.is_empty())?;
        self.check_cost()?;
        if let Source::Storage(_, range) = &content {
            if range.is_empty() {
                return Err(Error::new(ErrorKind::NoContent).into());
            }
            self.volume.check_room(&**storage, range.end - range.start)?;
        }
        self.volume.make_filled(&**storage, &passphrase, &mut OsRandom, |found| {
            let volume = Volume::new(Arc::clone(storage), &found.layout, &found.volume_key, Cpu::detect())?;
            let len = volume.len();
            let options = Options { limit: Some(len), extend_to: len, pad: true, ..self.limits.transfer() };
            let options = Options { holes: Holes::Fill, ..options };
            let moved = stream::transfer(content, Sink::Storage(&volume, 0), &options, meter);
            moved.map(drop).map_err(NotBuilt::Moving)
        })
    }
}

#[cfg(feature = "parts")]
impl NewVeracrypt {
    /// The length in bytes of a new file for so many bytes of content. See [`NewVeracrypt::fill_on`] for an example.
    ///
    /// # Errors
    /// [`ErrorKind::Refused`]: no file is that long.
    pub fn len_for(content: u64) -> Result<u64> {
        Ok(NewVolume::len_for(content)?)
    }

    /// Refuses content that the volume on `storage` would have no room for. See [`NewVeracrypt::fill_on`] for an
    /// example.
    ///
    /// # Errors
    /// [`ErrorKind::TooShort`]; [`ErrorKind::Refused`]: no volume can be there.
    pub fn check_content(&self, storage: &dyn Storage, content: u64) -> Result<()> {
        Ok(self.volume.check_room(storage, content)?)
    }

    /// As [`NewVeracrypt::create_on`], together with the content of the volume: the start of its data; zeros follow.
    ///
    /// ```
    /// # use keyway::{Key, NewVeracrypt, Tcrypt, storage::{Memory, Storage}};
    /// # use keyway_volume::device::stream::Meter;
    /// # use std::sync::Arc;
    /// let (image, meter) = (Memory::zeroed(100_000), Meter::new());
    /// let disk: Arc<dyn Storage> = Arc::new(Memory::zeroed(NewVeracrypt::len_for(image.len())? as usize));
    /// let new = NewVeracrypt::new().pim(1);
    /// new.check_content(&*disk, image.len())?;
    /// assert!(new.check_content(&*disk, 100_353).is_err());
    /// new.fill_on(&disk, &image, &Key::passphrase("correct horse battery staple"), &meter)?;
    /// assert_eq!(meter.done(), 100_352);
    /// # Ok::<(), keyway::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`NotBuilt::Moving`] for the first failure of either side; those of [`NewVeracrypt::build`].
    pub fn fill_on(
        &self,
        storage: &Arc<dyn Storage>,
        content: &dyn Storage,
        key: &Key,
        meter: &Meter,
    ) -> Result<(), NotBuilt> {
        self.fill_from(storage, key, whole(content), meter)
    }
}
