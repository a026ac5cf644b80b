//! The flags of dm-crypt's that a header stores.

use super::MappingFlag;
use crate::error::At;
use crate::{Header, Result};
use keyway_crypto::Secret;
use keyway_volume::change::edit::set_persistent_flags;
use keyway_volume::header::seal::Renewal;
use keyway_volume::{Luks, OsRandom};

impl Header {
    /// Stores the flags that the kernel is to map the volume with from now on, in place of those that are stored
    /// (LUKS2; feature `dm`).
    ///
    /// ```
    /// # use keyway::*;
    /// # let key = Key::passphrase("correct horse");
    /// # let device = Create::luks2().kdf(NewKdf::pbkdf2(1000)).in_memory(1 << 20, &key)?;
    /// device.header()?.set_mapping_flags(&[MappingFlag::AllowDiscards])?;
    /// assert_eq!(device.header()?.mapping_flags(), [MappingFlag::AllowDiscards]);
    /// # Ok::<(), keyway::Error>(())
    /// ```
    ///
    /// # Errors
    /// The header is LUKS1; [`ErrorKind::ReadOnly`](crate::ErrorKind::ReadOnly).
    pub fn set_mapping_flags(&mut self, flags: &[MappingFlag]) -> Result<()> {
        self.check_writable()?;
        let (luks, renewal) = self.edited();
        store(luks, flags, renewal).at(self.place())
    }

    /// The flags that are stored for the kernel's mappings, in cryptsetup's order. See
    /// [`Header::set_mapping_flags`] for an example.
    pub fn mapping_flags(&self) -> Vec<MappingFlag> {
        MappingFlag::stored_in(&self.luks)
    }
}

/// As [`Header::set_mapping_flags`], of a header that the caller has opened: the volume key renews its seal. See there
/// for an example.
///
/// # Errors
/// Those of [`Header::set_mapping_flags`].
#[cfg(feature = "parts")]
pub fn set_mapping_flags(luks: &mut Luks, flags: &[MappingFlag], volume_key: Option<&Secret>) -> Result<()> {
    Ok(store(luks, flags, volume_key)?)
}

fn store(luks: &mut Luks, flags: &[MappingFlag], volume_key: Option<&Secret>) -> keyway_volume::Result<()> {
    let names: Vec<_> = flags.iter().map(|flag| flag.kept_name()).collect();
    let renewal = volume_key.map(|volume_key| Renewal { volume_key });
    set_persistent_flags(luks, &names, renewal, &mut OsRandom)
}
