//! A volume of another kind becomes LUKS2 where it is.

use super::{Reencrypt, Reencryption};
use crate::error::At;
use crate::{Admitted, Create, Error, Key, Location, Result, VolumeKey};
use keyway_crypto::Secret;
use keyway_format::luks2::KeyslotKind;
use keyway_volume::change::edit::{AddKey, same_cost};
use keyway_volume::device::storage::Readers;
use keyway_volume::reencrypt::{self, Begin, Conversion, Foreign, NewSlot, VolumeKeys};
use keyway_volume::{Access, Locking, Luks, OsRandom, Storage};
use std::fs;
use std::path::Path;
use std::sync::Arc;

impl Admitted {
    /// Begins to turn a TrueCrypt, VeraCrypt or BitLocker volume into LUKS2, in place and under a volume key of its own.
    /// `create` says what the volume will be, and with [`Create::header`] the new file that its header is in; the data
    /// starts where the device does. `new` opens it, from now on. `key` was found here.
    ///
    /// When this returns, the header is in its file, and nothing opens by those of the old kind any more; a moment before,
    /// BitLocker may. Until the file appears, a cut
    /// leaves the volume as it was; from then on the file is needed, whatever fails: [`Device::resume_reencryption`](crate::Device::resume_reencryption) goes on
    /// after one, and [`Device::unlock`](crate::Device::unlock) opens the volume meanwhile. cryptsetup can do either
    /// of what was BitLocker's, and of others when the conversion is complete.
    ///
    /// ```no_run
    /// # use keyway::*;
    /// let (old, new) = (Key::passphrase("correct horse"), Key::passphrase("battery staple"));
    /// let admitted = Device::open_rw("disk.hc")?.admit_as(&Tcrypt::new(), &Unlock::new())?;
    /// let found = admitted.try_key(&old)?;
    /// let create = Create::luks2().header("disk.header");
    /// let mut conversion = admitted.begin_conversion(found, &create, &new, &Reencrypt::new())?;
    /// while !conversion.step()? {}
    /// # Ok::<(), keyway::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`ErrorKind::Refused`](crate::ErrorKind::Refused) for what LUKS2 cannot describe as it is: a chain of ciphers,
    /// a hidden volume, an encrypted system, BitLocker's sectors of 4096 bytes; for a volume key that was given to a
    /// BitLocker volume, which has nothing to prove it by; [`ErrorKind::Exists`](crate::ErrorKind::Exists) for the header's file;
    /// [`ErrorKind::WrongVolumeKey`](crate::ErrorKind::WrongVolumeKey); the device cannot be written or flushed.
    pub fn begin_conversion(
        self,
        key: VolumeKey,
        create: &Create,
        new: &Key,
        how: &Reencrypt,
    ) -> Result<Reencryption> {
        let place = self.place().clone();
        self.check_conversion(&key, how)?;
        let data = self.writable().at(&place)?;
        let parts = self.ready(key, Arc::clone(&data))?;
        let old = Foreign::new(&parts.layout, parts.volume_key, data.len()).at(&place)?;
        let header = create.header_location().cloned().ok_or_else(|| {
            let why = "its header needs a file of its own: there is no room before the data";
            Error::refused(why).at(&place)
        })?;
        let keys = begin(&old, &data, &header, create, new, how)?;
        let luks = Luks::open_with(header.open(true)?, Access::Write, Locking::default()).at(&header)?;
        let conversion = Reencryption::with_keys(luks, Arc::clone(&data), &keys, how, (&header, false))?;
        // Its own header is gone now: what it said where the first sectors are is of no use any more.
        old.clear(&*data).at(&place)?;
        Ok(conversion)
    }

    /// Refuses what [`Admitted::begin_conversion`] cannot convert, or not in this way, before anything else is asked.
    ///
    /// # Errors
    /// [`ErrorKind::Refused`](crate::ErrorKind::Refused): of `how`, only the hot zone's size and what is without a flush
    /// can be chosen.
    pub fn check_conversion(&self, key: &VolumeKey, how: &Reencrypt) -> Result<()> {
        let place = self.place();
        let Some(layout) = key.layout() else {
            return Err(Error::refused("it is a LUKS volume already").at(place));
        };
        if key.unproven {
            let why = "a volume key proves nothing here: use a passphrase or a key file";
            return Err(Error::refused(why).at(place));
        }
        self.check_convertible()?;
        how.check_conversion().at(place)?;
        let data = self.writable().at(place)?;
        if !data.can_flush() && !how.without_flush {
            return Err(Error::refused("it cannot be flushed: a power failure might lose data").at(place));
        }
        Foreign::check(layout, data.len()).at(place)
    }
}

/// Makes the header, which says when it appears that the conversion has begun.
fn begin(
    old: &Foreign,
    data: &Arc<dyn Storage>,
    place: &Location,
    create: &Create,
    new: &Key,
    how: &Reencrypt,
) -> Result<VolumeKeys> {
    let (file, volume_key) = create.unnamed_header(data.len(), new).at(place)?;
    let storage = Arc::clone(file.file()) as Arc<dyn Storage>;
    // Nobody else can see it yet.
    let mut luks = Luks::open_with(storage, Access::Write, Locking::Disabled).at(place)?;
    let passphrase = new.read_passphrase().at(place)?;
    let slot = NewSlot { passphrase: &passphrase, options: beside(&luks), replaces: None };
    let begin = Conversion { old, slot };
    let terms = how.terms_on(&**data, false);
    let (key, what) = (Secret::copy_from(volume_key.expose()), Begin::Convert(&begin));
    let keys = reencrypt::begin(&mut luks, &**data, &key, what, &terms, &mut OsRandom).at(place)?;
    drop(luks);
    file.complete(Readers::Owner).at(place)?;
    // The old headers go next: the name has to outlive a cut.
    let directory = place.path().and_then(Path::parent).filter(|path| !path.as_os_str().is_empty());
    let directory = fs::File::open(directory.unwrap_or(Path::new(".")));
    directory.and_then(|directory| directory.sync_all()).at(place)?;
    Ok(keys)
}

/// The keyslot of the old key costs what that of the new one does.
fn beside(luks: &Luks) -> AddKey {
    let keyway_volume::Header::Luks2 { metadata, .. } = luks.header() else { return AddKey::default() };
    let kdf = metadata.keyslots.values().find_map(|slot| match &slot.kind {
        KeyslotKind::Luks2 { kdf, .. } => Some(same_cost(kdf)),
        KeyslotKind::Other(_) => None,
    });
    AddKey { kdf: kdf.unwrap_or_default(), ..AddKey::default() }
}
