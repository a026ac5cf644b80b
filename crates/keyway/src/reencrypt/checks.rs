//! What speaks for or against a re-encryption, told before anybody is asked for a key or anything begins.

use crate::error::At;
use crate::{Device, Header, Result, VolumeKey};
use keyway_volume::OsRandom;
use keyway_volume::reencrypt::rekey;
use keyway_volume::reencrypt::{
    UnderWay, check_unused_plaintext, smaller_blocks, smaller_blocks_of_plaintext,
};

/// The lengths, in bytes, with which a re-encryption that is under way can go on: from [`Header::possible_lengths`].
pub use keyway_volume::reencrypt::Sizes as PossibleLengths;
/// What a header says of a first boot: from [`Header::first_boot`].
pub use keyway_volume::reencrypt::rekey::FirstBoot;

impl Device {
    /// What the volume holds that counts in blocks smaller than `sector` bytes, and could not be mounted from encryption
    /// sectors of that size: its name as blkid has it, and the size of its blocks. `None` if nothing is known to.
    ///
    /// ```
    /// # use keyway::*;
    /// # let key = Key::passphrase("correct horse");
    /// # let device = Create::luks2().kdf(NewKdf::pbkdf2(1000)).in_memory(1 << 20, &key)?;
    /// let header = device.header()?;
    /// let found = header.try_key(&key)?;
    /// if let Some((name, size)) = device.smaller_blocks(&header, &found, 4096)? {
    ///     println!("{name} has blocks of {size} bytes");
    /// }
    /// # Ok::<(), keyway::Error>(())
    /// ```
    ///
    /// # Errors
    /// The key is not the volume's; the device cannot be read.
    pub fn smaller_blocks(
        &self,
        header: &Header,
        key: &VolumeKey,
        sector: u32,
    ) -> Result<Option<(&'static str, u32)>> {
        smaller_blocks(&header.luks, self.data(), &key.secret, sector).at(self.place())
    }

    /// The same of plaintext that begins at this byte of the device, and is to become a volume. See
    /// [`Device::smaller_blocks`] for an example.
    ///
    /// # Errors
    /// The device cannot be read.
    pub fn smaller_blocks_of_plaintext(
        &self,
        offset: u64,
        sector: u32,
    ) -> Result<Option<(&'static str, u32)>> {
        smaller_blocks_of_plaintext(self.data(), offset, sector).at(self.place())
    }

    /// Refuses plaintext of which [`Reencrypt::skip_unused`](crate::Reencrypt::skip_unused) can leave nothing out. It
    /// begins at this byte of the device; `len` is its length, unless it is all of the device.
    ///
    /// ```
    /// # use keyway::{Device, storage::Memory};
    /// let device = Device::from_storage(std::sync::Arc::new(Memory::zeroed(1 << 20)));
    /// let refused = device.check_unused_plaintext(0, None).unwrap_err().to_string();
    /// assert!(refused.contains("does not hold just an ext2, ext3 or ext4 file system"), "{refused}");
    /// ```
    ///
    /// # Errors
    /// It does not hold a file system that says what it uses, and is whole.
    pub fn check_unused_plaintext(&self, offset: u64, len: Option<u64>) -> Result<()> {
        check_unused_plaintext(self.data(), offset, len).at(self.place())
    }
}

impl Header {
    /// With which lengths the re-encryption that is under way can go on; `None` if none is. See
    /// [`Reencrypt::data_len`](crate::Reencrypt::data_len).
    ///
    /// ```
    /// # use keyway::*;
    /// # let key = Key::passphrase("correct horse");
    /// # let device = Create::luks2().kdf(NewKdf::pbkdf2(1000)).in_memory(1 << 20, &key)?;
    /// if let Some(lengths) = device.header()?.possible_lengths()? {
    ///     println!("{} to {} bytes, in multiples of {}", lengths.least, lengths.len, lengths.unit);
    /// }
    /// # Ok::<(), keyway::Error>(())
    /// ```
    ///
    /// # Errors
    /// The header contradicts itself or its device.
    pub fn possible_lengths(&self) -> Result<Option<PossibleLengths>> {
        let Some(under_way) = UnderWay::of(self.luks.header()).at(self.place())? else { return Ok(None) };
        PossibleLengths::of(&under_way, self.data_device().len).map(Some).at(self.place())
    }

    /// Whether the volume waits for another volume key, or is getting it: it is a clone of an image that was built for
    /// that ([`Create::rekey_at_first_boot`](crate::Create::rekey_at_first_boot)).
    pub fn awaits_first_boot(&self) -> bool {
        self.first_boot() == FirstBoot::Due
    }

    /// The same, with what is wrong with a mark that asks for nothing.
    ///
    /// ```
    /// # use keyway::*;
    /// # let key = Key::passphrase("correct horse");
    /// # let device = Create::luks2().kdf(NewKdf::pbkdf2(1000)).in_memory(1 << 20, &key)?;
    /// let header = device.header()?;
    /// assert_eq!((header.first_boot(), header.awaits_first_boot()), (FirstBoot::Unmarked, false));
    /// # Ok::<(), keyway::Error>(())
    /// ```
    pub fn first_boot(&self) -> FirstBoot {
        FirstBoot::of(self.luks.header())
    }

    /// Removes a mark for a first boot whose volume key was replaced already, by a program that knows no marks; whether
    /// there was one.
    ///
    /// ```
    /// # use keyway::*;
    /// # let key = Key::passphrase("correct horse");
    /// # let device = Create::luks2().kdf(NewKdf::pbkdf2(1000)).in_memory(1 << 20, &key)?;
    /// assert!(!device.header()?.forget_first_boot()?);
    /// # Ok::<(), keyway::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`ErrorKind::ReadOnly`](crate::ErrorKind::ReadOnly); the device fails.
    pub fn forget_first_boot(&mut self) -> Result<bool> {
        self.check_writable()?;
        rekey::remove_stale(&mut self.luks, &mut OsRandom).at(self.place())
    }
}
