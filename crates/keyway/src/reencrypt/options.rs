//! How a volume is re-encrypted.

use crate::{Error, NewKeyslot, Result, Unlock};
use keyway_crypto::Secret;
use keyway_volume::reencrypt::Options;

/// How to re-encrypt. See [`Reencryption`](crate::Reencryption) for an example.
#[derive(Debug, Clone, Default)]
pub struct Reencrypt {
    pub(crate) cipher: Option<(String, u32)>,
    pub(crate) sector_size: Option<u32>,
    pub(crate) keep_key: bool,
    pub(crate) new_key: Option<GivenKey>,
    pub(crate) keyslot: NewKeyslot,
    pub(crate) resilience: Resilience,
    pub(crate) hash: Option<String>,
    pub(crate) hot_zone: Option<u64>,
    pub(crate) data_len: Option<u64>,
    pub(crate) data_shift: u64,
    pub(crate) without_flush: bool,
    pub(crate) unused: Option<Unused>,
    pub(crate) unlock: Unlock,
}

/// What becomes of the blocks that the file system in a volume does not use, if they are not to be
/// re-encrypted. See [`Reencrypt::skip_unused`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Unused {
    /// They are filled with noise, and look like the others.
    Noise,
    /// They are discarded: what they held may stay readable on the medium, and anybody who sees the
    /// device may see which they are.
    Discard,
}

/// A new volume key that is not random.
#[derive(Clone)]
pub(crate) struct GivenKey(pub(crate) std::sync::Arc<Secret>);

impl std::fmt::Debug for GivenKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("…")
    }
}

/// What protects the part that is being written from a power failure. See [`Reencrypt`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Resilience {
    /// A hash of each sector as it was: costs next to nothing. It assumes that the device writes a
    /// sector whole or not at all, as disks do.
    #[default]
    Checksum,
    /// A copy of the sectors as they were: everything is written twice.
    Journal,
    /// Nothing: a power failure destroys the part that is being written.
    None,
}

impl Resilience {
    /// cryptsetup's word for it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Checksum => "checksum",
            Self::Journal => "journal",
            Self::None => "none",
        }
    }
}

impl Unused {
    pub(crate) fn in_volume(self) -> keyway_volume::reencrypt::Unused {
        match self {
            Self::Noise => keyway_volume::reencrypt::Unused::Noise,
            Self::Discard => keyway_volume::reencrypt::Unused::Discard,
        }
    }
}

impl Reencrypt {
    /// Refuses all but the hot zone's size and what is without a flush.
    pub(crate) fn check_conversion(&self) -> Result<()> {
        let says_more = self.cipher.is_some()
            || self.sector_size.is_some()
            || self.keep_key
            || self.new_key.is_some()
            || self.resilience != Resilience::default()
            || self.hash.is_some()
            || self.data_len.is_some()
            || self.data_shift > 0
            || self.unused.is_some();
        let why = "a conversion takes only the hot zone's size: Create describes the new volume";
        if says_more { Err(Error::refused(why)) } else { Ok(()) }
    }

    /// How what the header describes goes on.
    pub(super) fn options(&self, holds_header: bool) -> Options {
        Options { zone: self.hot_zone, data_len: self.data_len, holds_header, ..Options::default() }
    }

    /// The defaults: a new volume key of the same length, for the same cipher.
    pub fn new() -> Self {
        Self::default()
    }

    /// The cipher, as dm-crypt writes it, and the volume key's length in bits. See
    /// [`Reencryption`](crate::Reencryption) for an example.
    #[must_use]
    pub fn cipher(mut self, cipher: &str, key_bits: u32) -> Self {
        self.cipher = Some((cipher.to_owned(), key_bits));
        self
    }

    /// The encryption sector size in bytes.
    #[must_use]
    pub fn sector_size(mut self, bytes: u32) -> Self {
        self.sector_size = Some(bytes);
        self
    }

    /// Keeps the volume key: only the cipher or the sector size changes.
    #[must_use]
    pub fn keep_key(mut self) -> Self {
        self.keep_key = true;
        self
    }

    /// The new volume key, instead of a random one. Without keyslots, it is the only way in.
    #[must_use]
    pub fn volume_key(mut self, key: Secret) -> Self {
        self.new_key = Some(GivenKey(std::sync::Arc::new(key)));
        self
    }

    /// How the keyslots of the new volume key are made. By default each is made like the one that
    /// it replaces.
    #[must_use]
    pub fn keyslot(mut self, keyslot: NewKeyslot) -> Self {
        self.keyslot = keyslot;
        self
    }

    /// What protects the part that is being written; [`Resilience::Checksum`] by default.
    #[must_use]
    pub fn resilience(mut self, resilience: Resilience) -> Self {
        self.resilience = resilience;
        self
    }

    /// The hash of [`Resilience::Checksum`], SHA-256 by default.
    #[must_use]
    pub fn checksum_hash(mut self, name: &str) -> Self {
        self.hash = Some(name.to_owned());
        self
    }

    /// The size of the part that is being written at a time, in bytes. By default it is chosen by
    /// what the device takes. See [`Reencryption`](crate::Reencryption) for an example.
    #[must_use]
    pub fn hot_zone(mut self, bytes: u64) -> Self {
        self.hot_zone = Some(bytes);
        self
    }

    /// Only so many bytes of the device are data.
    #[must_use]
    pub fn data_len(mut self, bytes: u64) -> Self {
        self.data_len = Some(bytes);
        self
    }

    /// Moves the data of a volume back by so many bytes, to make room for a larger header. The device's
    /// last bytes are overwritten: what is stored in the volume must end before them.
    #[must_use]
    pub fn data_shift(mut self, bytes: u64) -> Self {
        self.data_shift = bytes;
        self
    }

    /// Also on a device that cannot be flushed, such as one of an NBD server that offers no flush: a
    /// power failure may destroy anything then.
    #[must_use]
    pub fn without_flush(mut self) -> Self {
        self.without_flush = true;
        self
    }

    /// Leaves out what the ext2, ext3 or ext4 file system in the volume does not use (LUKS2). What the
    /// unused blocks held is lost. The file system must not be in use, and must be whole: anything
    /// else is refused before anything begins. Each [`Device`](crate::Device) method that begins or
    /// resumes reads anew what is unused; without this option, resuming takes everything for used.
    ///
    /// ```
    /// # use keyway::*;
    /// # let key = Key::passphrase("correct horse");
    /// # let device = Create::luks2().kdf(NewKdf::pbkdf2(1000)).in_memory(1 << 20, &key)?;
    /// let how = Reencrypt::new().skip_unused(Unused::Noise);
    /// let header = device.header()?;
    /// let found = header.try_key(&key)?;
    /// let keys = vec![(found, Key::passphrase("correct horse"))];
    /// let refused = device.begin_reencryption(header, &how, keys).unwrap_err().to_string();
    /// assert!(refused.contains("does not hold just an ext2, ext3 or ext4 file system"), "{refused}");
    /// # Ok::<(), keyway::Error>(())
    /// ```
    #[must_use]
    pub fn skip_unused(mut self, unused: Unused) -> Self {
        self.unused = Some(unused);
        self
    }

    /// The terms on which the data device is claimed.
    #[must_use]
    pub fn unlock(mut self, options: Unlock) -> Self {
        self.unlock = options;
        self
    }
}
