//! A new volume together with its content, in one pass.

use super::{NewVolume, place};
use crate::device::stream::{Failure, Holes, Meter, Options, Sink, Source, transfer};
use crate::{Error, Random, Refusal, Result, Storage, Volume};
use keyway_crypto::{Cpu, Secret};
use keyway_format::tcrypt::len_of_new;
use std::sync::Arc;

/// Why there is no new volume.
#[derive(Debug)]
pub enum NotFilled {
    /// The content could not be read to its end, or not be written.
    Moving(Failure),
    /// Anything else.
    Other(Error),
}

impl From<Error> for NotFilled {
    fn from(error: Error) -> Self {
        Self::Other(error)
    }
}

impl NewVolume {
    /// The length in bytes of a new file for so many bytes of content.
    ///
    /// # Errors
    /// [`Error::Refused`]: no file is that long.
    pub fn len_for(content: u64) -> Result<u64> {
        len_of_new(content).ok_or_else(|| Refusal::NoRoom.because("no file is that long"))
    }

    /// Refuses content that the data area has no room for.
    ///
    /// # Errors
    /// [`Error::TooShort`]; [`Error::Refused`]: no volume can be there.
    pub fn check_room(&self, storage: &dyn Storage, content: u64) -> Result<()> {
        let (data, _) = place(storage)?;
        match content > data.end - data.start {
            true => Err(Error::TooShort { needs: Self::len_for(content)?, has: storage.len() }),
            false => Ok(()),
        }
    }

    /// Makes the volume over all that is on `storage`, which the caller has claimed. Its data begins with `content`, and
    /// zeros follow: all of the data area is written, so that nothing shows which of it is used. `meter` counts its bytes,
    /// and can stop that: no volume exists then.
    ///
    /// # Errors
    /// Those of [`NewVolume::make`] and [`NewVolume::check_room`], before anything is written;
    /// [`NotFilled::Moving`] for the first failure of either side.
    pub fn make_filled(
        &self,
        storage: &Arc<dyn Storage>,
        content: Source<'_>,
        passphrase: &Secret,
        (rng, options): (&mut dyn Random, Options),
        meter: &Meter,
    ) -> Result<(), NotFilled> {
        if let Source::Storage(_, range) = &content {
            self.check_room(&**storage, range.end - range.start)?;
        }
        self.make_around(&**storage, passphrase, rng, |new, _| {
            let found = new.found(storage.len())?;
            let volume = Volume::new(Arc::clone(storage), &found.layout, &found.volume_key, Cpu::detect())?;
            let len = volume.len();
            let options =
                Options { holes: Holes::Fill, limit: Some(len), extend_to: len, pad: true, ..options };
            let moved = transfer(content, Sink::Storage(&volume, 0), &options, meter);
            moved.map(drop).map_err(NotFilled::Moving)
        })
    }
}
