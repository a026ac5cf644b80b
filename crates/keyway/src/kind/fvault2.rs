//! FileVault 2 volumes.

use super::sealed::Described;
use keyway_volume::kind;

/// A FileVault 2 volume of macOS (Core Storage), as `diskutil` encrypts external disks. Its passphrase opens it, given as
/// such or in a key file.
///
/// ```no_run
/// # use keyway::*;
/// let volume = Device::open("/dev/sdb2")?.unlock_as(&Fvault2::new(), &Key::passphrase("secret"), &Unlock::new())?;
/// let mut header = [0; 512];
/// volume.read_at(&mut header, 1024)?;
/// assert_eq!(&header[..2], b"H+");
/// # Ok::<(), keyway::Error>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Fvault2(kind::fvault2::Fvault2);

impl Fvault2 {
    /// All that is known of it is on the device. See [`Fvault2`] for an example.
    pub fn new() -> Self {
        Self::default()
    }
}

impl super::Kind for Fvault2 {}

impl Described for Fvault2 {
    fn described(&self) -> &dyn kind::Kind {
        &self.0
    }
}
