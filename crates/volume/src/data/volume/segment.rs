//! A segment of a volume, bound to its device and key.

use super::Keys;
use crate::header::layout::{MappedSegment, Mapping};
use crate::{Refusal, Result};
use keyway_crypto::{Cpu, SectorCipher};
use keyway_format::Sectors;
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
    /// `None` when linear.
    pub(super) crypt: Option<Arc<Crypt>>,
}

/// What its sectors are encrypted with.
pub(super) struct Crypt {
    cipher: SectorCipher,
    iv_tweak: u64,
}

impl Segment {
    pub(super) fn new(mapped: &MappedSegment, device_len: u64, keys: Keys<'_>, cpu: Cpu) -> Result<Self> {
        let (crypt, sector_size) = match &mapped.mapping {
            Mapping::Linear => (None, LINEAR_SECTOR),
            Mapping::Crypt { spec, sector_size, iv_tweak, iv_large_sectors } => {
                let mut cipher = SectorCipher::new(spec, keys.of(mapped)?, *sector_size, cpu)?;
                if *iv_large_sectors {
                    cipher = cipher.with_large_iv_sectors();
                }
                (Some(Arc::new(Crypt { cipher, iv_tweak: *iv_tweak })), sector_size.bytes() as u64)
            }
        };
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
            crypt,
        })
    }

    /// The place of a plaintext byte on the device.
    pub(super) fn place(&self, offset: u64) -> u64 {
        offset - self.start + self.storage_offset
    }
}

impl Crypt {
    /// `inside` is the first sector's offset in the segment.
    pub(super) fn decrypt(&self, inside: u64, sectors: &mut [u8]) {
        self.cipher.decrypt(self.iv_tweak.wrapping_add(inside / 512), sectors);
    }

    pub(super) fn encrypt(&self, inside: u64, sectors: &mut [u8]) {
        self.cipher.encrypt(self.iv_tweak.wrapping_add(inside / 512), sectors);
    }
}

/// The unit to which the kernel rounds a linear mapping.
const LINEAR_SECTOR: u64 = Sectors::SIZE;
