//! What few new volumes need: another geometry, a given volume key, a seal, a mark, a seed.

use super::Create;
use crate::{Error, Result, Version};
use keyway_crypto::Secret;
use keyway_volume::change::seal;
use keyway_volume::reencrypt::rekey;
use keyway_volume::{Locking, Luks, Random};
use std::fmt;
use std::sync::Arc;

/// Where header and data go. Absent values are cryptsetup's defaults.
#[derive(Debug, Clone, Default)]
pub(super) struct Geometry {
    /// In 512-byte sectors.
    pub(super) alignment: Option<u64>,
    /// In 512-byte sectors.
    pub(super) data_offset: Option<u64>,
    pub(super) metadata_size: Option<u64>,
    pub(super) keyslots_size: Option<u64>,
}

#[derive(Debug, Clone, Default)]
pub(super) struct Names {
    pub(super) label: Option<String>,
    pub(super) subsystem: Option<String>,
    pub(super) uuid: Option<String>,
}

/// Secrets that are not made from the system's random numbers.
#[derive(Clone, Default)]
pub(super) struct Secrets {
    pub(super) volume_key: Option<Arc<Secret>>,
    pub(super) seed: Option<Arc<Secret>>,
}

impl fmt::Debug for Secrets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Secrets").finish_non_exhaustive()
    }
}

/// What a new header gets as soon as it is written.
#[derive(Debug, Clone, Default)]
pub(super) struct Additions {
    seal: Option<Seal>,
    /// The mark of a volume whose key is to be replaced at its first boot.
    mark: bool,
}

#[derive(Debug, Clone)]
struct Seal {
    context: Option<String>,
}

impl Additions {
    pub(super) fn are_none(&self) -> bool {
        self.seal.is_none() && !self.mark
    }

    /// Refuses what the header has no room for, and what contradicts itself.
    pub(super) fn check(&self, version: Version) -> Result<()> {
        match (version, &self.seal, self.mark) {
            (Version::Luks1, Some(_), _) => Err(Error::refused("a LUKS1 header has no room for a seal")),
            (Version::Luks1, _, true) => Err(Error::refused("a LUKS1 header has no room for a mark")),
            (_, Some(_), true) => Err(Error::refused(
                "a volume that waits for a new volume key cannot be sealed with the old one",
            )),
            _ => Ok(()),
        }
    }

    pub(super) fn put(
        &self,
        luks: &mut Luks,
        volume_key: &Secret,
        data_len: u64,
        random: &mut dyn Random,
    ) -> Result<()> {
        if self.mark {
            rekey::mark(luks, random)?;
        }
        match &self.seal {
            Some(Seal { context }) => Ok(seal::seal(luks, volume_key, data_len, context.as_deref(), random)?),
            None => Ok(()),
        }
    }
}

impl Create {
    /// The hash of the digest and of the first keyslot's stripes, by its name in LUKS headers;
    /// in LUKS1 also of PBKDF2. The default is SHA-256. See [`Create::data_offset`] for an example.
    #[must_use]
    pub fn hash(mut self, name: &str) -> Self {
        self.hash = Some(name.to_owned());
        self
    }

    /// The number of the first keyslot; 0 by default. See [`Create::data_offset`] for an example.
    #[must_use]
    pub fn keyslot(mut self, number: u32) -> Self {
        self.keyslot = Some(number);
        self
    }

    /// The cipher of the first keyslot's area, and that cipher's key length in bits (LUKS2): the
    /// data's by default. See [`Create::data_offset`] for an example.
    #[must_use]
    pub fn keyslot_cipher(mut self, cipher: &str, key_bits: u32) -> Self {
        self.keyslot_cipher = Some((cipher.to_owned(), key_bits));
        self
    }

    /// Where the data starts, in sectors of 512 bytes. It takes precedence over
    /// [`Create::alignment`].
    ///
    /// ```
    /// # use keyway::*;
    /// # let key = Key::passphrase("correct horse");
    /// let create = Create::luks2().kdf(NewKdf::pbkdf2(1000)).hash("sha512").subsystem("archive");
    /// let create = create.metadata_size(32 << 10).keyslots_size(1 << 20).data_offset(4096);
    /// let create = create.keyslot(3).keyslot_cipher("serpent-xts-plain64", 512);
    /// let device = create.in_memory(1 << 20, &key)?;
    /// let header = device.header()?;
    /// assert_eq!(header.segments()[0].offset, 4096 * 512);
    /// assert_eq!((header.subsystem(), header.keyslots()[0].number), ("archive", 3));
    /// assert_eq!(header.keyslots()[0].cipher.as_deref(), Some("serpent-xts-plain64"));
    /// # Ok::<(), keyway::Error>(())
    /// ```
    #[must_use]
    pub fn data_offset(mut self, sectors: u64) -> Self {
        self.geometry.data_offset = Some(sectors);
        self
    }

    /// What the start of the data is a multiple of, in sectors of 512 bytes: 2048 by default. See
    /// [`Create::data_offset`] for an example.
    #[must_use]
    pub fn alignment(mut self, sectors: u64) -> Self {
        self.geometry.alignment = Some(sectors);
        self
    }

    /// The size of each of the header's two copies, in bytes (LUKS2): one of those that the format
    /// knows, 16 KiB to 4 MiB. See [`Create::data_offset`] for an example.
    #[must_use]
    pub fn metadata_size(mut self, bytes: u64) -> Self {
        self.geometry.metadata_size = Some(bytes);
        self
    }

    /// The size of the area for all keyslots, in bytes (LUKS2): a multiple of 4096. See
    /// [`Create::data_offset`] for an example.
    #[must_use]
    pub fn keyslots_size(mut self, bytes: u64) -> Self {
        self.geometry.keyslots_size = Some(bytes);
        self
    }

    /// The subsystem, a second label of at most 47 bytes (LUKS2). See [`Create::data_offset`] for
    /// an example.
    #[must_use]
    pub fn subsystem(mut self, text: &str) -> Self {
        self.names.subsystem = Some(text.to_owned());
        self
    }

    /// The volume key, instead of a random one: of the length that [`Create::cipher`] says. Two
    /// volumes with the same key show where their contents are equal, and a header backup of one
    /// opens the other.
    ///
    /// ```
    /// # use keyway::*;
    /// let (key, own) = (Key::passphrase("correct horse"), Secret::copy_from(&[7; 64]));
    /// let device = Create::luks2().kdf(NewKdf::pbkdf2(1000)).volume_key(own).in_memory(1 << 20, &key)?;
    /// device.unlock(&Key::VolumeKey(Secret::copy_from(&[7; 64])))?;
    /// # Ok::<(), keyway::Error>(())
    /// ```
    #[must_use]
    pub fn volume_key(mut self, key: Secret) -> Self {
        self.secrets.volume_key = Some(Arc::new(key));
        self
    }

    /// Seals the header as it is created (LUKS2), as [`Header::seal`](crate::Header::seal) does for
    /// an existing volume.
    ///
    /// ```
    /// # use keyway::*;
    /// # let key = Key::passphrase("correct horse");
    /// let create = Create::luks2().kdf(NewKdf::pbkdf2(1000)).seal(Some("host 17"));
    /// let device = create.in_memory(1 << 20, &key)?;
    /// device.unlock_with(&key, &Unlock::new().seal_context("host 17"))?;
    /// # Ok::<(), keyway::Error>(())
    /// ```
    #[must_use]
    pub fn seal(mut self, context: Option<&str>) -> Self {
        self.additions.seal = Some(Seal { context: context.map(str::to_owned) });
        self
    }

    /// Marks the volume (LUKS2): its key is the image's, which many machines are to get, and is to be
    /// replaced at the first boot of each. `keyway unlock` does it in a ramdisk, anybody's
    /// re-encryption ([`Device::begin_reencryption`](crate::Device::begin_reencryption)) does it
    /// elsewhere; the mark goes when that has ended.
    ///
    /// ```
    /// # use keyway::*;
    /// # let key = Key::passphrase("correct horse");
    /// let create = Create::luks2().kdf(NewKdf::pbkdf2(1000)).rekey_at_first_boot();
    /// let device = create.in_memory(1 << 20, &key)?;
    /// let header = device.header()?;
    /// assert!(header.awaits_first_boot());
    ///
    /// let keys = vec![(header.try_key(&key)?, Key::passphrase("correct horse"))];
    /// let mut reencryption = device.begin_reencryption(header, &Reencrypt::new(), keys)?;
    /// while !reencryption.step()? {}
    /// assert!(!device.header()?.awaits_first_boot());
    /// # Ok::<(), keyway::Error>(())
    /// ```
    #[must_use]
    pub fn rekey_at_first_boot(mut self) -> Self {
        self.additions.mark = true;
        self
    }

    /// Derives everything random from a seed, so that the same parameters, content and seed give
    /// the same bytes. The key derivation's cost must be forced. Whoever has the seed has the volume
    /// key, and volumes of one seed show which of their sectors are equal.
    ///
    /// ```
    /// # use keyway::*;
    /// # let key = Key::passphrase("correct horse");
    /// let make = || {
    ///     let create = Create::luks2().kdf(NewKdf::pbkdf2(1000)).seed(Secret::copy_from(&[7; 32]));
    ///     create.in_memory(1 << 20, &key)
    /// };
    /// assert_eq!(make()?.header()?.uuid(), make()?.header()?.uuid());
    /// # Ok::<(), keyway::Error>(())
    /// ```
    #[must_use]
    pub fn seed(mut self, seed: Secret) -> Self {
        self.secrets.seed = Some(Arc::new(seed));
        self
    }

    /// Takes no lock on the header of an existing device while it is written: see
    /// [`DeviceOptions::without_header_lock`](crate::DeviceOptions::without_header_lock).
    #[must_use]
    pub fn without_header_lock(mut self) -> Self {
        self.locking = Locking::Disabled;
        self
    }
}
