//! BitLocker volumes.

use super::sealed::Described;
use keyway_volume::kind;

/// A BitLocker volume, of Windows Vista to 11 or BitLocker To Go. A passphrase, a recovery password or a start-up key
/// (a key file) opens it; where its protection is suspended, nothing is needed
/// ([`Admitted::try_without_key`](crate::Admitted::try_without_key)). A partly encrypted one is only read
/// ([`Unlock::read_only`](crate::Unlock::read_only)).
///
/// ```no_run
/// # use keyway::*;
/// let password = Key::passphrase("042647-302313-590458-071500-554323-116567-412181-516978");
/// let volume = Device::open("/dev/sdb1")?.unlock_as(&Bitlk::new(), &password, &Unlock::new())?;
/// let mut boot_sector = [0; 512];
/// volume.read_at(&mut boot_sector, 0)?;
/// # Ok::<(), keyway::Error>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Bitlk(kind::bitlk::Bitlk);

impl Bitlk {
    /// All that is known of it is on the device. See [`Bitlk`] for an example.
    pub fn new() -> Self {
        Self::default()
    }

    /// Opens a volume of Windows Vista, too, for reading ([`Unlock::read_only`](crate::Unlock::read_only)). Nothing vouches for
    /// its metadata, nor for its first 8 KiB: whoever can write to the disk can pass off a newer volume as one of these, and
    /// choose those bytes.
    ///
    /// ```no_run
    /// # use keyway::*;
    /// let (key, options) = (Key::passphrase("correct horse"), Unlock::new().read_only());
    /// let old = Device::open("/dev/sdb1")?.unlock_as(&Bitlk::new().allow_vista(), &key, &options)?;
    /// # Ok::<(), keyway::Error>(())
    /// ```
    pub fn allow_vista(mut self) -> Self {
        self.0.allows_vista = true;
        self
    }
}

impl super::Kind for Bitlk {}

impl Described for Bitlk {
    fn described(&self) -> &dyn kind::Kind {
        &self.0
    }
}
