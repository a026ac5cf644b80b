//! From old ciphertext to new.

use super::keys::VolumeKeys;
use crate::Result;
use keyway_crypto::{CipherSpec, Cpu, Secret, SectorCipher, SectorSize};
use keyway_format::luks2::reencryption::Backup;
use keyway_format::luks2::{Reencryption, SegmentKind};
use std::sync::{Mutex, PoisonError};

/// Both ciphers of a re-encryption, with their keys.
pub(super) struct Transform {
    old: Option<SectorCipher>,
    new: Option<SectorCipher>,
    /// The number of the first old sector; new ones count from 0.
    first: u64,
    /// Locked memory for plaintext, one piece for each thread that is at work.
    plain: Mutex<Vec<Secret>>,
}

impl Transform {
    pub(super) fn new(what: &Reencryption, keys: &VolumeKeys, cpu: Cpu) -> Result<Self> {
        let (old, new) = (cipher(&what.old, keys.old(), cpu)?, cipher(&what.new, keys.new_key(), cpu)?);
        Ok(Self { old, new, first: what.old.first_sector(), plain: Mutex::default() })
    }

    /// Turns old ciphertext into new, in place. `at` is the offset of its first byte in the
    /// plaintext.
    pub(super) fn apply(&self, at: u64, sectors: &mut [u8]) {
        match (&self.old, &self.new) {
            (Some(old), Some(new)) => self.replace(old, new, at, sectors),
            // One side of it is no secret.
            (Some(old), None) => old.decrypt(self.first + at / 512, sectors),
            (None, Some(new)) => new.encrypt(at / 512, sectors),
            (None, None) => {}
        }
    }

    /// From one cipher to the other, with the plaintext in locked memory that stays in the core's
    /// cache.
    fn replace(&self, old: &SectorCipher, new: &SectorCipher, mut at: u64, sectors: &mut [u8]) {
        let mut plain = self.take();
        for piece in sectors.chunks_mut(PIECE) {
            let plain = &mut plain.expose_mut()[..piece.len()];
            plain.copy_from_slice(piece);
            old.decrypt(self.first + at / 512, plain);
            new.encrypt(at / 512, plain);
            piece.copy_from_slice(plain);
            at += piece.len() as u64;
        }
        self.plain.lock().unwrap_or_else(PoisonError::into_inner).push(plain);
    }

    fn take(&self) -> Secret {
        let kept = self.plain.lock().unwrap_or_else(PoisonError::into_inner).pop();
        kept.unwrap_or_else(|| Secret::zeroed(PIECE))
    }
}

fn cipher(backup: &Backup, key: Option<&Secret>, cpu: Cpu) -> Result<Option<SectorCipher>> {
    match (&backup.segment.kind, key) {
        (SegmentKind::Crypt { encryption, sector_size, .. }, Some(key)) => {
            let spec = CipherSpec::parse(encryption)?;
            Ok(Some(SectorCipher::new(&spec, key, SectorSize::new(*sector_size)?, cpu)?))
        }
        _ => Ok(None),
    }
}

/// Half of the smallest first-level cache there is. A multiple of every sector size.
const PIECE: usize = 16 << 10;
