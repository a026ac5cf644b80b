//! loop-AES volumes.

use super::plain::whole_sectors;
use super::sealed::Described;
use crate::{Error, Result};
use keyway_format::Sectors;
use keyway_volume::kind;

/// A loop-AES volume of version 1, 2 or 3, as its key file has 1, 64 or 65 lines. Nothing on the device tells whether the
/// key file is the right one: another gives noise, and what is written with it is lost. A passphrase is taken for what
/// such a file holds.
///
/// ```
/// # use keyway::*;
/// # use std::sync::Arc;
/// let device = Device::from_storage(Arc::new(storage::Memory::zeroed(1 << 20)));
/// let keys: String = (0..65).map(|line| format!("a key of loop-AES, {line:02}\n")).collect();
/// let loop_aes = LoopAes::new().cipher("aes").key_bits(128)?.hash("sha256").offset(1 << 19)?.skip(0);
/// let volume = device.unlock_as(&loop_aes, &Key::passphrase(&keys), &Unlock::new())?;
/// volume.write_at(b"hidden", 0)?;
/// assert_eq!((volume.len(), volume.version()), (1 << 19, None));
/// # Ok::<(), keyway::Error>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LoopAes(kind::loopaes::LoopAes);

impl LoopAes {
    /// AES-256, all of the device. See [`LoopAes`] for an example.
    pub fn new() -> Self {
        Self::default()
    }

    /// The block cipher: "aes", "serpent", "twofish". See [`LoopAes`] for an example.
    #[must_use]
    pub fn cipher(mut self, name: &str) -> Self {
        self.0.cipher = name.to_owned();
        self
    }

    /// The length of one key. See [`LoopAes`] for an example.
    ///
    /// # Errors
    /// It is no multiple of 8.
    pub fn key_bits(mut self, bits: u32) -> Result<Self> {
        if !bits.is_multiple_of(8) {
            return Err(Error::odd_key_size());
        }
        self.0.key_len = bits as usize / 8;
        Ok(self)
    }

    /// The hash of a line; without this, SHA-256, SHA-384 or SHA-512, by the key's length. See [`LoopAes`] for an example.
    #[must_use]
    pub fn hash(mut self, name: &str) -> Self {
        self.0.hash = Some(name.to_owned());
        self
    }

    /// Where the data starts on the device, in bytes. See [`LoopAes`] for an example.
    ///
    /// # Errors
    /// It is no multiple of 512.
    pub fn offset(mut self, bytes: u64) -> Result<Self> {
        self.0.offset = whole_sectors(bytes)?;
        Ok(self)
    }

    /// The IV of the first sector; without this, its number on the device. See [`LoopAes`] for an example.
    #[must_use]
    pub fn skip(mut self, sectors: u64) -> Self {
        self.0.skip = Some(Sectors(sectors));
        self
    }

    /// May be opened for writing where the device's start holds something else that is known. See
    /// [`Plain::overwrite`](crate::Plain::overwrite).
    #[must_use]
    pub fn overwrite(mut self) -> Self {
        self.0.overwrite = true;
        self
    }
}

impl super::Kind for LoopAes {}

impl Described for LoopAes {
    fn described(&self) -> &dyn kind::Kind {
        &self.0
    }
}
