//! A new volume together with its content, in one pass.

use super::{NewVolume, place};
use crate::kind::Found;
use crate::{Error, Random, Refusal, Result, Storage};
use keyway_crypto::Secret;
use keyway_format::tcrypt::len_of_new;

impl NewVolume {
    /// The length in bytes of a new file for so many bytes of content.
    ///
    /// # Errors
    /// [`Error::Refused`]: no file is that long.
    pub fn len_for(content: u64) -> Result<u64> {
        len_of_new(content).ok_or_else(|| Refusal::NoRoom.because("no file can be that long"))
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

    /// Makes the volume over all that is on `storage`, which the caller has claimed. `fill` writes its data area: all of it,
    /// or what was there shows. No volume exists before that has ended, nor if it fails.
    ///
    /// # Errors
    /// Those of [`NewVolume::make`], before anything is written; that of `fill`.
    pub fn make_filled<E: From<Error>>(
        &self,
        storage: &dyn Storage,
        passphrase: &Secret,
        rng: &mut dyn Random,
        fill: impl FnOnce(Found) -> Result<(), E>,
    ) -> Result<(), E> {
        self.make_around(storage, passphrase, rng, |new, _| fill(new.found(storage.len())?))
    }
}
