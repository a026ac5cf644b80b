//! Begins a re-encryption, an encryption, a decryption.

use super::{Reencrypt, Reencryption};
use crate::error::At;
use crate::key::Read;
use crate::{Device, Error, Header, Key, Result, VolumeKey};
use keyway_crypto::{CipherSpec, Secret};
use keyway_format::luks2::SegmentKind;
use keyway_volume::change::create;
use keyway_volume::device::storage::Topology;
use keyway_volume::reencrypt::{self, Begin, NewSlot, Terms, VolumeKeys};
use keyway_volume::{Access, Luks, OsRandom, Storage};
use std::sync::Arc;

impl Device {
    /// Begins to give the volume another key, cipher or sector size. `keys` are what
    /// [`Header::try_key`] found in `header`, with the passphrases: the new volume gets a keyslot
    /// for each. The header says so when this returns, and no data has changed. See
    /// [`Reencryption`] for an example.
    ///
    /// # Errors
    /// Nothing would change; the header has no room for the new keyslots;
    /// [`ErrorKind::EmptyPassphrase`](crate::ErrorKind::EmptyPassphrase) for an empty passphrase that does not open the
    /// keyslot it was found in;
    /// [`ErrorKind::WrongVolumeKey`](crate::ErrorKind::WrongVolumeKey) for a key that was found
    /// elsewhere.
    pub fn begin_reencryption(
        &self,
        header: Header,
        how: &Reencrypt,
        keys: Vec<(VolumeKey, Key)>,
    ) -> Result<Reencryption> {
        let data = self.claim_for(how)?;
        let (luks, keys) = self.begun(header, how, keys, &data)?;
        let holds_header = self.data_device().holds_header;
        Reencryption::with_keys(luks, data, &keys, how, (self.header_place(), holds_header))
    }

    /// Writes into the header what [`Device::begin_reencryption`] begins, and no more.
    fn begun(
        &self,
        header: Header,
        how: &Reencrypt,
        keys: Vec<(VolumeKey, Key)>,
        data: &Arc<dyn Storage>,
    ) -> Result<(Luks, VolumeKeys)> {
        let place = self.header_place().clone();
        keys.iter().try_for_each(|(found, _)| header.check_own(found))?;
        let Some((first, _)) = keys.first() else {
            return Err(Error::no_key().at(&place));
        };
        let wanted = Wanted::new(&header, how, first).at(&place)?;
        let passphrases = keys.iter().map(|(found, key)| match found.keyslot() {
            // A volume key opens no keyslot that could be replaced.
            None => Ok(None),
            Some(keyslot) => passphrase_for(&header, how, Some(keyslot), key).map(|it| Some((keyslot, it))),
        });
        let passphrases: Vec<_> = passphrases.collect::<Result<Vec<_>>>().at(&place)?;
        let mut slots = Vec::new();
        for (keyslot, passphrase) in passphrases.iter().flatten() {
            let options = how.keyslot.like(&header, *keyslot);
            slots.push(NewSlot { passphrase, options, replaces: Some(*keyslot) });
        }
        let new = wanted.key.as_ref().map(|key| (key, &slots[..]));
        let what = Begin::Reencrypt { cipher: &wanted.cipher, sector_size: wanted.sector_size, new };
        let key = Secret::copy_from(first.secret.expose());
        self.begin_on(header.into_luks(), how, &key, what, data)
    }

    /// Begins to turn the plaintext on this device into the volume that `header` describes, a new
    /// header on another device ([`Create::header`](crate::Create::header)), whose key is `key`.
    ///
    /// # Errors
    /// Those of [`Device::begin_reencryption`].
    pub fn begin_encryption(&self, header: Header, how: &Reencrypt, key: VolumeKey) -> Result<Reencryption> {
        header.check_own(&key)?;
        self.begin(header.into_luks(), how, &key.secret, Begin::Encrypt { moves: false })
    }

    /// As [`Device::begin_encryption`], with the header in front of the data, which moves back. The
    /// last part of the device is overwritten: twice the header's length must be free there.
    /// `header` is a header in a file; when this returns it is on the device, and the file can be
    /// removed. Until then
    /// resuming with that file as the header goes on, and it is restored when that has ended.
    ///
    /// # Errors
    /// Those of [`Device::begin_reencryption`]; the device is too small.
    pub fn begin_encryption_in_place(
        &self,
        header: Header,
        how: &Reencrypt,
        key: VolumeKey,
    ) -> Result<Reencryption> {
        header.check_own(&key)?;
        self.check_durable(how)?;
        how.check_nothing_is_skipped(MOVES).at(self.place())?;
        let (mut luks, data) = (header.into_luks(), self.claim(&how.unlock)?);
        let terms = self.terms(how, false);
        let what = Begin::Encrypt { moves: true };
        let keys = reencrypt::begin(&mut luks, &*data, &key.secret, what, &terms, &mut OsRandom);
        let keys = keys.at(self.place())?;
        reencrypt::install(&luks, &*data).at(self.place())?;
        let luks = Luks::open_with(data.clone(), Access::Write, self.locking()).at(self.place())?;
        Reencryption::with_keys(luks, data, &keys, how, (self.place(), true))
    }

    /// Begins to turn the volume into plaintext. `header` is on another device; where it is a backup
    /// of one that is still in front of the data, the data moves to the device's start, over it.
    ///
    /// # Errors
    /// Those of [`Device::begin_reencryption`].
    pub fn begin_decryption(&self, header: Header, how: &Reencrypt, key: VolumeKey) -> Result<Reencryption> {
        header.check_own(&key)?;
        how.check_nothing_is_skipped("They would be noise in the plaintext.").at(self.place())?;
        self.begin(header.into_luks(), how, &key.secret, Begin::Decrypt)
    }

    /// What [`Device::begin_reencryption`] writes into the header, where somebody has the volume in use and goes on.
    #[cfg(any(feature = "parts", feature = "dm"))]
    pub(crate) fn begun_in_use(
        &self,
        header: Header,
        how: &Reencrypt,
        keys: Vec<(VolumeKey, Key)>,
    ) -> Result<VolumeKeys> {
        self.check_durable(how)?;
        how.check_nothing_is_skipped("The volume is in use.").at(self.place())?;
        let data = self.data();
        self.begun(header, how, keys, &data).map(|(_, keys)| keys)
    }

    /// The same of [`Device::begin_decryption`].
    #[cfg(any(feature = "parts", feature = "dm"))]
    pub(crate) fn begun_decryption_in_use(
        &self,
        header: Header,
        how: &Reencrypt,
        key: VolumeKey,
    ) -> Result<VolumeKeys> {
        self.check_durable(how)?;
        header.check_own(&key)?;
        if header.segments().first().is_none_or(|segment| segment.offset > 0) {
            return Err(Error::refused("The volume is in use, and its data would move.").at(self.place()));
        }
        let data = self.data();
        let begun = self.begin_on(header.into_luks(), how, &key.secret, Begin::Decrypt, &data);
        begun.map(|(_, keys)| keys)
    }

    fn begin(&self, luks: Luks, how: &Reencrypt, key: &Secret, what: Begin<'_>) -> Result<Reencryption> {
        let data = self.claim_for(how)?;
        let (luks, keys) = self.begin_on(luks, how, key, what, &data)?;
        let holds_header = self.data_device().holds_header;
        Reencryption::with_keys(luks, data, &keys, how, (self.header_place(), holds_header))
    }

    fn claim_for(&self, how: &Reencrypt) -> Result<Arc<dyn Storage>> {
        self.check_durable(how)?;
        self.claim(&how.unlock)
    }

    fn begin_on(
        &self,
        mut luks: Luks,
        how: &Reencrypt,
        key: &Secret,
        what: Begin<'_>,
        data: &Arc<dyn Storage>,
    ) -> Result<(Luks, VolumeKeys)> {
        let terms = self.terms(how, self.data_device().holds_header);
        if how.unused.is_some() {
            if how.data_shift > 0 {
                how.check_nothing_is_skipped(MOVES).at(self.place())?;
            }
            let old = if matches!(what, Begin::Encrypt { .. }) { None } else { Some(key) };
            reencrypt::check_unused(&luks, Arc::clone(data), old, how.data_len).at(self.place())?;
        }
        let keys = reencrypt::begin(&mut luks, &**data, key, what, &terms, &mut OsRandom);
        Ok((luks, keys.at(self.header_place())?))
    }

    pub(crate) fn terms(&self, how: &Reencrypt, holds_header: bool) -> Terms {
        how.terms_on(&*self.data(), holds_header)
    }
}

impl Reencrypt {
    /// The terms for data on this device.
    pub(super) fn terms_on(&self, data: &dyn Storage, holds_header: bool) -> Terms {
        let defaults = Terms::default();
        Terms {
            resilience: self.resilience.name().to_owned(),
            hash: self.hash.clone().unwrap_or(defaults.hash),
            block: Topology::of(data).sector_size,
            data_len: self.data_len,
            shift: self.data_shift,
            zone: self.hot_zone,
            holds_header,
            kdf: self.keyslot.kdf_choice().unwrap_or(defaults.kdf),
        }
    }

    pub(crate) fn check_nothing_is_skipped(&self, why: &str) -> Result<()> {
        match self.unused {
            None => Ok(()),
            Some(_) => Err(Error::refused(format!("Unused blocks cannot be skipped here. {why}"))),
        }
    }
}

/// The passphrase of the new keyslot that replaces the keyslot `old`. An empty one is taken unasked only where it opens
/// that one already: none is made.
pub(super) fn passphrase_for<'a>(
    header: &Header,
    how: &Reencrypt,
    old: Option<u32>,
    key: &'a Key,
) -> Result<Read<'a>> {
    how.keyslot.read_new(key).or_else(|refused| match old.map(|number| header.try_key_on(number, key)) {
        Some(Ok(_)) => key.read_passphrase(),
        _ => Err(refused),
    })
}

const MOVES: &str = "The data moves: each block is written over another one.";

/// The cipher and the sector size of the whole volume; `None` if it has none.
pub(crate) fn encryption_of(luks: &Luks) -> Option<(String, u32)> {
    match luks.header() {
        keyway_volume::Header::Luks1(header) => Some((header.cipher(), 512)),
        keyway_volume::Header::Luks2 { metadata, .. } => match &metadata.segments.get(&0)?.kind {
            SegmentKind::Crypt { encryption, sector_size, .. } => Some((encryption.clone(), *sector_size)),
            _ => None,
        },
    }
}

/// The new encryption, with everything that was not said taken from the old one.
pub(super) struct Wanted {
    pub(super) cipher: String,
    sector_size: u32,
    /// `None` to keep it.
    pub(super) key: Option<Secret>,
}

impl Wanted {
    pub(super) fn new(header: &Header, how: &Reencrypt, found: &VolumeKey) -> Result<Self> {
        let Some((encryption, sector_size)) = encryption_of(&header.luks) else {
            return Err(Error::refused("the volume is not encrypted"));
        };
        let is_luks1 = header.luks.version() == 1;
        let cipher = how.cipher.as_ref().map_or(&encryption, |(cipher, _)| cipher).clone();
        let new_sector_size = how.sector_size.unwrap_or(sector_size);
        let bits = how.cipher.as_ref().map_or(8 * found.secret.len() as u32, |(_, bits)| *bits);
        // In LUKS1 the hash may be what changes.
        if how.keep_key && !is_luks1 && cipher == encryption && new_sector_size == sector_size {
            return Err(Error::refused("No data segment parameters changed. Reencryption aborted."));
        }
        let spec = CipherSpec::parse(&cipher).map_err(keyway_volume::Error::from)?;
        if let Some(weakness) = spec.weakness_with(bits as usize / 8)
            && !header.takes_weak_ciphers()
        {
            return Err(Error::refused(format!("{spec}{weakness}")));
        }
        let key = match (&how.new_key, how.keep_key) {
            (_, true) => None,
            (Some(given), false) => Some(Secret::copy_from(given.0.expose())),
            (None, false) => Some(create::random_volume_key(bits, &mut OsRandom)?),
        };
        Ok(Self { cipher, sector_size: new_sector_size, key })
    }
}
