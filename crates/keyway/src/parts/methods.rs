//! What programs that bring storage, keys or front ends of their own can do besides.

use crate::error::At;
use crate::estimate::Estimate;
use crate::opened::Parts;
use crate::volume_key::find_both;
use crate::{
    Admitted, Building, Create, Device, DeviceOptions, Error, Header, Key, Location, NewKdf, Reencrypt,
    Result, StoredToken, Unlock, VolumeKey,
};
#[cfg(feature = "keyring")]
use keyway_crypto::Secret;
use keyway_format::luks2::Metadata;
use keyway_volume::data::build::{Content, Target};
use keyway_volume::device::storage::Exclusive;
#[cfg(feature = "keyring")]
use keyway_volume::keyslot::tokens::Miss;
use keyway_volume::kind::Kind;
use keyway_volume::reencrypt::{VolumeKeys, limited_to};
use keyway_volume::{DataDevice, KdfChoice, Luks, Storage, Terms, UnderWay, UnlockOptions, Unlocked};
use std::sync::Arc;

impl DeviceOptions {
    /// A device whose bytes the caller has opened, for writing too where these options say so:
    /// `location` names it in errors, and `header` is its header's storage, which may be the same.
    ///
    /// ```
    /// # use keyway::{storage::Memory, Device, Probe};
    /// # use std::sync::Arc;
    /// let bytes = Arc::new(Memory::zeroed(4096));
    /// let device = Device::options().write(true).over("a test", bytes.clone(), bytes);
    /// assert_eq!(device.probe()?, Probe::Nothing);
    /// # Ok::<(), keyway::Error>(())
    /// ```
    pub fn over(
        &self,
        location: impl Into<Location>,
        data: Arc<dyn Storage>,
        header: Arc<dyn Storage>,
    ) -> Device {
        self.device(location.into(), data, header)
    }
}

impl Error {
    /// The error of the crate `keyway-volume` that this one is made of, if it is of one: with the
    /// figures and holders that a message of the caller's own may name.
    ///
    /// ```
    /// # use keyway::{storage::Memory, Device, Unlock};
    /// # use std::sync::Arc;
    /// let blank = Device::from_storage(Arc::new(Memory::zeroed(4096)));
    /// let error = blank.admit(&Unlock::new()).unwrap_err();
    /// assert_eq!(error.into_volume_error().unwrap().to_string(), "not a LUKS header");
    /// ```
    ///
    /// # Errors
    /// This error, if it is made of another.
    pub fn into_volume_error(self) -> Result<keyway_volume::Error> {
        self.into_source()
    }
}

impl Unlock {
    /// Replaces all demands and everything that is tolerated: policies, seal, weak ciphers, linear
    /// segments. See [`Unlock`] for an example of setting them one by one.
    #[must_use]
    pub fn with_terms(mut self, terms: Terms) -> Self {
        self.set_terms(terms);
        self
    }
}

impl StoredToken {
    /// The tokens of a header that the caller has read, in the order of their numbers. See
    /// [`Header::tokens`] for those of a [`Header`].
    pub fn in_metadata(metadata: &Metadata) -> Vec<Self> {
        Self::of(metadata)
    }
}

#[cfg(feature = "keyring")]
impl crate::Token {
    /// Unlocks with the first token that opens a keyslot, and returns its passphrase too. `watch` is told
    /// what happens meanwhile, and may open the keyslots itself. See [`Token`](crate::Token) for an example of
    /// unlocking.
    ///
    /// # Errors
    /// The most useful of the reasons why none does.
    pub fn find_in(
        &self,
        luks: &Luks,
        options: &UnlockOptions,
        watch: &mut dyn crate::Watch,
    ) -> Result<(Unlocked, Secret), Miss> {
        self.search(luks, options, watch)
    }
}

impl Admitted {
    /// Its LUKS header, and what was tolerated in it; `None` for another kind of volume. See
    /// [`Admitted::into_parts`] for an example.
    pub fn judged(&self) -> Option<&keyway_volume::Admitted> {
        self.luks()
    }

    /// Finds the volume key by the caller's own search, with tokens of its own for example. In the
    /// middle of a re-encryption it searches for two keys, one after the other, each time with these options limited to
    /// the keyslots of that key. See [`Admitted::try_key`] for an example of the usual search.
    ///
    /// # Errors
    /// Those of the search.
    ///
    /// # Panics
    /// If it has no LUKS header.
    pub fn find_key<E>(
        &self,
        options: &UnlockOptions,
        search: impl Fn(&Luks, &UnlockOptions) -> Result<Unlocked, E>,
    ) -> Result<VolumeKey, E> {
        let judged = self.luks().expect("keyslots are searched in a LUKS header");
        match judged.under_way() {
            Some(under_way) => find_both(under_way, |digest| match digest {
                Some(digest) => search(judged.luks(), &limited_to(judged.luks(), digest, options)),
                None => search(judged.luks(), options),
            }),
            None => search(judged.luks(), options).map(VolumeKey::from),
        }
        .map(|found| self.own(found))
    }

    /// Takes the volume apart instead of opening it.
    ///
    /// ```
    /// # use keyway::*;
    /// # let key = Key::passphrase("correct horse");
    /// # let device = Create::luks2().kdf(NewKdf::pbkdf2(1000)).in_memory(1 << 20, &key)?;
    /// let admitted = device.admit(&Unlock::new())?;
    /// let found = admitted.try_key(&key)?;
    /// let parts = admitted.into_parts(found)?;
    /// assert_eq!(parts.volume_key.len(), 64);
    /// assert_eq!(parts.header.map(|luks| luks.version()), Some(2));
    /// assert_eq!(parts.layout.segments[0].storage_offset, 16 << 20);
    /// # Ok::<(), keyway::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`Admitted::open`].
    pub fn into_parts(self, key: VolumeKey) -> Result<Parts> {
        let data = self.claimed();
        self.ready(key, data)
    }
}

impl Device {
    /// As [`Device::admit_as`], of a kind of volume as `keyway-volume` describes it.
    ///
    /// ```
    /// # use keyway::{Device, Key, Unlock, storage::Memory};
    /// # use std::sync::Arc;
    /// use keyway_volume::kind::plain::{Plain, PlainVolume};
    /// # let device = Device::from_storage(Arc::new(Memory::zeroed(1 << 20)));
    /// let volume = PlainVolume::new(keyway_crypto::CipherSpec::parse("aes-xts-plain64")?);
    /// let hash = keyway_format::plain::PassphraseHash::parse("sha256")?;
    /// let plain = Plain { volume, key_len: 64, hash, overwrite: false };
    /// let volume = device.admit_described(&plain, &Unlock::new())?.unlock(&Key::passphrase("correct horse"))?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`Device::admit_as`].
    pub fn admit_described(&self, kind: &dyn Kind, options: &Unlock) -> Result<Admitted> {
        self.admit_kind(kind, options)
    }

    /// As [`Device::estimate_conversion`], of a kind of volume as `keyway-volume` describes it. See there for an example.
    ///
    /// # Errors
    /// Those of [`Device::estimate_conversion`].
    pub fn estimate_conversion_described(
        &self,
        kind: &dyn Kind,
        create: &Create,
        how: &Reencrypt,
        limit: Option<u64>,
    ) -> Result<Estimate> {
        self.estimate_kind(kind, create, how, limit)
    }
}

impl Header {
    /// The header as it was read, with everything that its format has. See
    /// [`Admitted::into_parts`] for an example.
    pub fn luks(&self) -> &Luks {
        &self.luks
    }

    /// The re-encryption that is under way, as the header says.
    ///
    /// ```
    /// # use keyway::*;
    /// # let key = Key::passphrase("correct horse");
    /// # let device = Create::luks2().kdf(NewKdf::pbkdf2(1000)).in_memory(1 << 20, &key)?;
    /// assert!(device.header()?.under_way()?.is_none());
    /// # Ok::<(), keyway::Error>(())
    /// ```
    ///
    /// # Errors
    /// What the header says of it is impossible.
    pub fn under_way(&self) -> Result<Option<UnderWay>> {
        UnderWay::of(self.luks.header()).at(self.place())
    }

    /// The volume keys of the re-encryption that is under way. See [`Device::prepare_reencryption`].
    ///
    /// # Errors
    /// Those of [`Device::resume_reencryption`].
    pub fn reencryption_keys(&self, key: &Key) -> Result<VolumeKeys> {
        self.both_keys(key)
    }
}

impl Device {
    /// As [`Device::begin_reencryption`], but only the header is written: a process that has the
    /// volume in use goes on with these keys. The device is not claimed.
    ///
    /// ```
    /// # use keyway::*;
    /// # let key = Key::passphrase("correct horse");
    /// # let device = Create::luks2().kdf(NewKdf::pbkdf2(1000)).in_memory(1 << 20, &key)?;
    /// # let cheap = NewKeyslot::new().kdf(NewKdf::pbkdf2(1000));
    /// # let header = device.header()?;
    /// # let found = header.try_key(&key)?;
    /// let how = Reencrypt::new().keyslot(cheap);
    /// let keys = device.prepare_reencryption(header, &how, vec![(found, Key::passphrase("correct horse"))])?;
    /// let same = device.header()?.reencryption_keys(&key)?;
    /// assert!(keys.old().unwrap().ct_eq(same.old().unwrap().expose()));
    /// assert!(keys.new_key().unwrap().ct_eq(same.new_key().unwrap().expose()));
    /// # Ok::<(), keyway::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`Device::begin_reencryption`].
    pub fn prepare_reencryption(
        &self,
        header: Header,
        how: &Reencrypt,
        keys: Vec<(VolumeKey, Key)>,
    ) -> Result<VolumeKeys> {
        self.begun_in_use(header, how, keys)
    }

    /// As [`Device::begin_decryption`], but only the header is written, as with
    /// [`Device::prepare_reencryption`]. It must be detached: no data moves.
    ///
    /// ```
    /// # use keyway::*;
    /// # use keyway_volume::{Storage, device::storage::Memory};
    /// # use std::sync::Arc;
    /// # let key = Key::passphrase("correct horse");
    /// # let (data, header): (Arc<dyn Storage>, _) = (Arc::new(Memory::zeroed(1 << 20)), Arc::new(Memory::zeroed(0)));
    /// # let create = Create::luks2().kdf(NewKdf::pbkdf2(1000));
    /// # let claimed = keyway_volume::device::storage::Exclusive::claim(Arc::clone(&data))?;
    /// # create.create_on(&claimed, Some(header.clone()), &key)?;
    /// # drop(claimed);
    /// # let device = Device::options().write(true).header("header").over(std::path::Path::new("data"), data, header);
    /// let header = device.header()?;
    /// let found = header.try_key(&key)?;
    /// let keys = device.prepare_decryption(header, &Reencrypt::new(), found)?;
    /// assert!(keys.new_key().is_none());
    /// assert!(device.header()?.is_in_reencryption()?);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`Device::begin_decryption`]; data would move.
    pub fn prepare_decryption(&self, header: Header, how: &Reencrypt, key: VolumeKey) -> Result<VolumeKeys> {
        self.begun_decryption_in_use(header, how, key)
    }
}

impl Create {
    /// Writes the header over what is on `data`, or on `header` if it is detached, without asking
    /// whether anything is there. The caller has claimed both.
    ///
    /// ```
    /// # use keyway::{Create, Key, NewKdf, storage::Memory};
    /// # use keyway_volume::device::storage::Exclusive;
    /// # use std::sync::Arc;
    /// let claimed = Exclusive::claim(Arc::new(Memory::zeroed(20 << 20)))?;
    /// let create = Create::luks2().kdf(NewKdf::pbkdf2(1000));
    /// let header = create.create_on(&claimed, None, &Key::passphrase("correct horse"))?;
    /// assert_eq!(header.luks().version(), 2);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`Create::create`], but for what exists.
    pub fn create_on(&self, data: &Exclusive, header: Option<Arc<dyn Storage>>, key: &Key) -> Result<Header> {
        let holds_header = header.is_none();
        let luks = self.write(data, header, key)?;
        let data = DataDevice { len: data.len(), holds_header };
        Ok(Header::new(luks, Location::STORAGE, Unlock::new(), data))
    }

    /// Plans the volume and makes room for its content on a target of the caller's own, for
    /// [`Building::complete`]. From now on a device holds no volume.
    ///
    /// ```
    /// # use keyway::{Create, Key, NewKdf, storage::Memory};
    /// use keyway_volume::data::build::{Content, Target};
    /// use keyway_volume::device::stream::{Holes, Meter, Options};
    /// # use keyway_volume::device::storage::Exclusive;
    /// # use std::sync::Arc;
    /// let claimed = Exclusive::claim(Arc::new(Memory::zeroed(20 << 20)))?;
    /// let image = Memory::zeroed(8192);
    /// let content = || Content::whole(&image, Holes::Fill);
    /// let create = Create::luks2().kdf(NewKdf::pbkdf2(1000));
    /// let key = Key::passphrase("correct horse");
    /// let building = create.begin(Target::Existing(&claimed), &key, &content())?;
    /// let built = building.complete(content(), Options::default(), &Meter::new()).map_err(keyway::Error::from)?;
    /// assert_eq!((built.length, built.holes, built.padding), (8192, 0, 0));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`Create::build`].
    pub fn begin<'a>(&self, target: Target<'a>, key: &Key, content: &Content<'_>) -> Result<Building<'a>> {
        self.building(target, key, content)
    }
}

impl From<KdfChoice> for NewKdf {
    fn from(choice: KdfChoice) -> Self {
        Self::of_choice(choice)
    }
}
