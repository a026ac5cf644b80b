//! A hidden volume in the end of an outer one's data. Only its two headers are written: what it is over is random
//! already, or the outer volume's.

use super::super::headers::Headers;
use super::super::opened::opens_by_any_kdf;
use super::super::{Place, Tcrypt};
use super::{NewVolume, new_keys};
use crate::error::shared;
use crate::kind::written::refused;
use crate::{Random, Refusal, Result, Storage, UnlockOptions};
use keyway_crypto::Secret;
use keyway_format::tcrypt::{Fields, Header, Kdf, Position, data_of_new_hidden};
use std::ops::Range;

/// An outer volume that was opened, to hide another one in.
pub struct Outer {
    /// Where its data is on the device.
    data: Range<u64>,
    sector_size: u32,
    /// Its passphrase, with its key files, and its PIM.
    password: Secret,
    /// What derives its key.
    kdf: &'static Kdf,
    pim: Option<u32>,
}

impl Outer {
    /// Opens the volume that `of` describes.
    ///
    /// # Errors
    /// [`WrongPassphrase`](crate::Error::WrongPassphrase); [`Refused`](crate::Error::Refused): it cannot hold a hidden volume.
    pub fn open(
        storage: &dyn Storage,
        of: &Tcrypt,
        passphrase: &Secret,
        options: &UnlockOptions,
    ) -> Result<Self> {
        let of = Tcrypt { place: Place::default(), header: None, protects: None, ..of.clone() };
        let locked = of.read(storage)?;
        let unlocked = locked.unlock(passphrase, options)?;
        let found = unlocked.found(storage.len())?;
        let segment = found.layout.segments.first().expect("a volume is one segment");
        let (start, header) = (segment.storage_offset, &unlocked.header);
        let len = segment.length.unwrap_or(storage.len().saturating_sub(start));
        // Older volumes have data where the header of a hidden volume would go.
        if Position::Hidden.offset(storage.len()).is_none_or(|at| start <= at) {
            return Err(Refusal::Geometry
                .because("the outer volume is of TrueCrypt 5 or earlier, and has no room for the header"));
        }
        let password = locked.key_files.with(passphrase)?;
        let (sector_size, pim) = (header.shown_sector_size(), of.pim);
        Ok(Self { data: start..start + len, sector_size, password, kdf: unlocked.kdf, pim })
    }

    /// Hides a new volume of `size` bytes in it. Another one that is hidden there is lost.
    ///
    /// # Errors
    /// [`Refused`](crate::Error::Refused), before anything is written: VeraCrypt makes no such volume, it does not fit, what opens it
    /// opens the outer one, too, or a hidden volume opens with the same; [`Io`](crate::Error::Io).
    pub fn hide(
        &self,
        storage: &dyn Storage,
        size: u64,
        new: &NewVolume,
        passphrase: &Secret,
        (rng, options): (&mut dyn Random, &UnlockOptions),
    ) -> Result<()> {
        let data = self.room(storage, size)?;
        let (sealing, password) = new.password(storage, passphrase)?;
        // No PIM is the same as the default one.
        let opens_outer = self.kdf.stretch(new.pim) == self.kdf.stretch(self.pim);
        if password.ct_eq(self.password.expose()) && opens_outer {
            let why = "the hidden volume needs another passphrase, PIM or key files than the outer one: \
                       VeraCrypt would open the outer one";
            return Err(Refusal::Unusable.because(why));
        }
        self.refuse_another(storage, sealing.pim, &password, options)?;
        let fields = Fields::of_new(data, self.sector_size, true);
        let header = Header::new(fields, new_keys(sealing.cipher, rng)?)?;
        let positions = [Position::HiddenBackup, Position::Hidden];
        Headers::seal(&header, &sealing, &password, &positions, rng)?.write(storage)
    }

    /// Where a hidden volume of that size would be.
    ///
    /// # Errors
    /// [`Refused`](crate::Error::Refused): nowhere.
    pub fn room(&self, storage: &dyn Storage, size: u64) -> Result<Range<u64>> {
        data_of_new_hidden(&self.data, storage.len(), size).map_err(refused(Refusal::NoRoom))
    }

    /// What is hidden there is seen only by what opens it: this looks for what the new key opens, by any KDF.
    fn refuse_another(
        &self,
        storage: &dyn Storage,
        pim: Option<u32>,
        password: &Secret,
        options: &UnlockOptions,
    ) -> Result<()> {
        let place = Place::Volume { hidden: true, backup: false };
        match opens_by_any_kdf(storage, place, pim, password, options)? {
            false => Ok(()),
            true => Err(shared::opens_hidden()),
        }
    }
}
