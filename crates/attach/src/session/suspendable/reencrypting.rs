//! A volume behind its suspendable device that is re-encrypted while it is in use.

use super::{Behind, SuspendableDevice};
use crate::session::error::{Error, Result};
use keyway_volume::Storage;
use keyway_volume::reencrypt::{Online, VolumeKeys};
use std::sync::{Arc, PoisonError};

impl SuspendableDevice {
    /// Goes on with the re-encryption that the volume's header describes by now, with these keys, in
    /// zones of at most `zone` bytes: each [`Online::step`] of what is returned does one. Requests
    /// pass meanwhile.
    ///
    /// # Errors
    /// [`Error::Suspended`], [`Error::ReadOnly`], [`Error::OnlyLuks2`]; [`Error::Resized`] where the
    /// volume does not have the size that its header gives it; [`Error::Volume`] for other keys, or a
    /// header that describes no re-encryption.
    pub fn reencrypt(&self, keys: VolumeKeys, zone: Option<u64>) -> Result<Arc<Online>> {
        // One at a time; requests are not kept waiting while keys are checked.
        let _one = self.beginning.lock().unwrap_or_else(PoisonError::into_inner);
        if self.is_read_only() {
            return Err(Error::ReadOnly);
        }
        let source = self.source().ok_or(Error::Suspended)?;
        match &*self.lock() {
            Behind::Suspended | Behind::Wiped => return Err(Error::Suspended),
            Behind::Moving(online) => {
                online.check_keys(&keys).map_err(|error| source.failed(error))?;
                return Ok(Arc::clone(online));
            }
            Behind::Settled(_) => {}
        }
        let online = Arc::new(source.reencrypt(keys, zone)?);
        let behind = self.lock_alone();
        if behind.storage().is_none() {
            return Err(Error::Suspended);
        }
        if online.len() != self.len() {
            return Err(Error::Resized);
        }
        self.put(behind, Behind::Moving(Arc::clone(&online)));
        Ok(online)
    }

    /// What the volume is encrypted with by now: cipher, sector size in bytes, key size in bits. Nothing
    /// and 0 where it is plaintext.
    pub fn encryption(&self) -> Option<(String, u64, u64)> {
        let source = self.source()?;
        let (cipher, sector_size) = source.encryption();
        let key_bits = if source.is_plaintext() { Some(0) } else { source.key_bits() };
        Some((cipher, sector_size, key_bits?))
    }

    /// The volume stays as it is now: its re-encryption is complete.
    pub fn settle(&self) {
        let behind = self.lock_alone();
        let Behind::Moving(online) = &*behind else { return };
        // Where its header cannot be read as one that is complete, the volume stays as it is, too.
        let Ok((settled, layout, luks)) = online.finished() else { return };
        let mut source = self.source.lock().unwrap_or_else(PoisonError::into_inner);
        *source = source.as_ref().map(|source| Arc::new(source.with_header(layout, luks)));
        drop(source);
        self.put(behind, Behind::Settled(settled));
    }
}
