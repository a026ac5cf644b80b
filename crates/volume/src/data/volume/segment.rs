//! A segment of a volume, bound to its device and key.

use super::Keys;
use crate::header::layout::{MappedSegment, Mapping};
use crate::{Refusal, Result};
use keyway_crypto::{Cascade, Cpu, SectorCipher};
use std::sync::Arc;

/// Where its bytes are, in the plaintext and on the device, and how they are encrypted.
#[derive(Clone)]
pub(super) struct Segment {
    /// First plaintext byte.
    pub(super) start: u64,
    /// The plaintext byte after the last one.
    pub(super) end: u64,
    pub(super) storage_offset: u64,
    pub(super) sector_size: u64,
    pub(super) stored: Stored,
}

/// How its sectors are stored.
#[derive(Clone)]
pub(super) enum Stored {
    Linear,
    /// Nowhere: it reads as zeros.
    Zero,
    /// Nowhere: it reads as these bytes.
    Bytes(Arc<[u8]>),
    Crypt(Arc<Crypt>),
}

/// What its sectors are encrypted with.
pub(super) struct Crypt {
    cipher: Cipher,
    iv_tweak: u64,
}

enum Cipher {
    One(SectorCipher),
    Chain(Cascade),
}

impl Segment {
    pub(super) fn new(mapped: &MappedSegment, device_len: u64, keys: Keys<'_>, cpu: Cpu) -> Result<Self> {
        let stored = Stored::new(mapped, keys, cpu)?;
        let sector_size = mapped.mapping.unit();
        let length = match mapped.length {
            Some(length) => length,
            None => device_len.checked_sub(mapped.storage_offset).ok_or_else(|| {
                let offset = mapped.storage_offset;
                Refusal::NoRoom
                    .because(format!("the data starts at byte {offset}, but the device ends at {device_len}"))
            })?,
        };
        let end = mapped.plaintext_start.checked_add(length - length % sector_size);
        let fits = mapped.storage_offset.checked_add(length).is_some();
        let end =
            end.filter(|_| fits).ok_or_else(|| Refusal::Geometry.because("a segment ends beyond 2^64"))?;
        Ok(Self {
            start: mapped.plaintext_start,
            end,
            storage_offset: mapped.storage_offset,
            sector_size,
            stored,
        })
    }

    /// The place of a plaintext byte on the device.
    pub(super) fn place(&self, offset: u64) -> u64 {
        offset - self.start + self.storage_offset
    }
}

impl Stored {
    fn new(mapped: &MappedSegment, keys: Keys<'_>, cpu: Cpu) -> Result<Self> {
        let (cipher, iv_tweak) = match &mapped.mapping {
            Mapping::Linear => return Ok(Self::Linear),
            Mapping::Zero => return Ok(Self::Zero),
            Mapping::Bytes(bytes) => return Self::shown(bytes, mapped.length),
            Mapping::Chain { ciphers, mode, iv_tweak } => {
                (Cipher::Chain(Cascade::new(ciphers, *mode, keys.of(mapped)?, cpu)?), *iv_tweak)
            }
            Mapping::Crypt { spec, sector_size, iv_tweak, iv_large_sectors } => {
                let mut cipher = SectorCipher::new(spec, keys.of(mapped)?, *sector_size, cpu)?;
                if *iv_large_sectors {
                    cipher = cipher.with_large_iv_sectors();
                }
                (Cipher::One(cipher), *iv_tweak)
            }
        };
        Ok(Self::Crypt(Arc::new(Crypt { cipher, iv_tweak })))
    }

    /// # Errors
    /// The segment has another length than the bytes that it reads as.
    fn shown(bytes: &Arc<[u8]>, length: Option<u64>) -> Result<Self> {
        match length {
            Some(length) if length == bytes.len() as u64 => Ok(Self::Bytes(Arc::clone(bytes))),
            _ => Err(Refusal::Geometry.because("a segment's length is not that of its bytes")),
        }
    }
}

impl Crypt {
    /// `inside` is the first sector's offset in the segment.
    pub(super) fn decrypt(&self, inside: u64, sectors: &mut [u8]) {
        let first = self.iv_tweak.wrapping_add(inside / 512);
        match &self.cipher {
            Cipher::One(cipher) => cipher.decrypt(first, sectors),
            Cipher::Chain(ciphers) => ciphers.decrypt(first, sectors),
        }
    }

    pub(super) fn encrypt(&self, inside: u64, sectors: &mut [u8]) {
        let first = self.iv_tweak.wrapping_add(inside / 512);
        match &self.cipher {
            Cipher::One(cipher) => cipher.encrypt(first, sectors),
            Cipher::Chain(ciphers) => ciphers.encrypt(first, sectors),
        }
    }
}
