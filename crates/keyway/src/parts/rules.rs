//! What a new header may say: for programs that judge what they are asked for before anything is read or made.

use crate::{Create, Result, Version};
use keyway_crypto::CipherSpec;
use keyway_volume::change::create;
use keyway_volume::random::random_uuid;
use keyway_volume::{OsRandom, Storage};

impl Version {
    /// Whether a header of this version can describe a volume under this cipher, with a volume key of so many bits.
    ///
    /// ```
    /// # use keyway::*;
    /// let cipher = keyway_crypto::CipherSpec::parse("aes-xts-plain64")?;
    /// Version::Luks2.check_key_bits(&cipher, Create::default_key_bits(&cipher))?;
    /// assert!(Version::Luks2.check_key_bits(&cipher, 100).is_err());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Why not.
    pub fn check_key_bits(self, cipher: &CipherSpec, bits: u32) -> Result<()> {
        Ok(create::check_key_bits(cipher, bits, self.number())?)
    }

    /// Whether a header of this version can describe a volume with encryption sectors of so many bytes.
    ///
    /// ```
    /// # use keyway::*;
    /// Version::Luks2.check_sector_size(4096)?;
    /// assert!(Version::Luks1.check_sector_size(4096).is_err());
    /// # Ok::<(), keyway::Error>(())
    /// ```
    ///
    /// # Errors
    /// Why not.
    pub fn check_sector_size(self, bytes: u32) -> Result<()> {
        Ok(create::check_sector_size(bytes, self.number())?)
    }
}

impl Create {
    /// The length of a new volume's key in bits, unless one is said: cryptsetup's, or the longest that the cipher takes.
    /// See [`Version::check_key_bits`] for an example.
    pub fn default_key_bits(cipher: &CipherSpec) -> u32 {
        create::default_key_bits(cipher)
    }

    /// Refuses a cipher under which two volumes with the same key show what differs in them, as
    /// [`Create::seed`] would make them. See [`Version::check_key_bits`] for an example of a cipher.
    ///
    /// # Errors
    /// It is such a cipher.
    pub fn check_reproducible(cipher: &CipherSpec) -> Result<()> {
        Ok(create::check_reproducible(cipher)?)
    }

    /// Refuses a device that cannot hold a header, before anybody is asked for anything: a zoned one.
    ///
    /// ```
    /// # use keyway::{Create, storage::Memory};
    /// Create::check_place(&Memory::zeroed(4096))?;
    /// # Ok::<(), keyway::Error>(())
    /// ```
    ///
    /// # Errors
    /// It cannot.
    pub fn check_place(storage: &dyn Storage) -> Result<()> {
        Ok(create::check_place(storage)?)
    }

    /// A random UUID for [`Create::uuid`], where it has to be known before the volume is made.
    ///
    /// ```
    /// assert_eq!(keyway::Create::random_uuid()?.len(), 36);
    /// # Ok::<(), keyway::Error>(())
    /// ```
    ///
    /// # Errors
    /// There is no randomness.
    pub fn random_uuid() -> Result<String> {
        Ok(random_uuid(&mut OsRandom)?)
    }
}
