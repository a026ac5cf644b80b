//! The positions of the keyslot areas and the payload in a fresh LUKS1 header, as in cryptsetup:
//! every area starts on a multiple of 4096 bytes, the first at 4096, and the payload follows the
//! last.

use super::{HEADER_LEN, SLOTS};
use crate::{Error, Sectors, af};
use alloc::format;

/// Keyslot areas start on multiples of this.
const ALIGNMENT: Sectors = Sectors(8);

/// Sectors that the split key of one slot takes.
pub fn area_sectors(key_bytes: u32) -> Sectors {
    Sectors((u64::from(key_bytes) * u64::from(af::STRIPES)).div_ceil(Sectors::SIZE))
}

/// The areas of a fresh header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KeyslotLayout {
    /// First sector of each slot's area.
    pub offsets: [Sectors; SLOTS],
    /// The lowest possible payload: after the last area, on a multiple of 4096 bytes.
    pub end: Sectors,
}

/// Where the data of a fresh volume starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Payload {
    /// `offset` after the first multiple of `unit` after the keyslots (cryptsetup: 2048 and 0).
    Aligned {
        /// The alignment.
        unit: Sectors,
        /// Where the device's first aligned sector is.
        offset: Sectors,
    },
    /// At exactly this sector.
    At(Sectors),
    /// On another device, from its first sector: the header says 0.
    Detached,
}

impl KeyslotLayout {
    /// The layout for volume keys of `key_bytes` bytes.
    pub fn new(key_bytes: u32) -> Self {
        let step = area_sectors(key_bytes).0.next_multiple_of(ALIGNMENT.0);
        let first = (HEADER_LEN as u64).div_ceil(Sectors::SIZE).next_multiple_of(ALIGNMENT.0);
        Self {
            offsets: core::array::from_fn(|slot| Sectors(first + step * slot as u64)),
            end: Sectors(first + step * SLOTS as u64),
        }
    }

    /// The payload offset to write into the header.
    ///
    /// # Errors
    /// [`Error::Invalid`] when the payload would be among the keyslots, or its offset exceeds 32
    /// bits.
    pub fn payload(&self, payload: Payload) -> Result<Sectors, Error> {
        let offset = match payload {
            Payload::Detached => return Ok(Sectors(0)),
            Payload::At(sector) => sector,
            Payload::Aligned { unit, offset } => self
                .end
                .round_up(unit)
                .and_then(|aligned| aligned.0.checked_add(offset.0))
                .map(Sectors)
                .ok_or_else(|| Error::invalid("payload alignment", "is zero or too large"))?,
        };
        if offset < self.end && offset.0 != 0 {
            let why = format!("sector {} is among the keyslots, which end at {}", offset.0, self.end.0);
            return Err(Error::invalid("payload offset", why));
        }
        if u32::try_from(offset.0).is_err() {
            return Err(Error::invalid("payload offset", format!("sector {} exceeds 32 bits", offset.0)));
        }
        Ok(offset)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn aligned(unit: u64) -> Payload {
        Payload::Aligned { unit: Sectors(unit), offset: Sectors(0) }
    }

    /// Offsets and payloads as cryptsetup 2.6.1 writes them (luksDump of fresh volumes).
    #[test]
    fn layout_is_cryptsetup_s() {
        let of_64 = KeyslotLayout::new(64);
        assert_eq!(of_64.offsets.map(|s| s.0), [8, 512, 1016, 1520, 2024, 2528, 3032, 3536]);
        assert_eq!(of_64.payload(aligned(2048)), Ok(Sectors(4096)));
        assert_eq!(of_64.end, Sectors(4040), "QEMU puts the payload right here");
        let of_16 = KeyslotLayout::new(16);
        assert_eq!(of_16.offsets.map(|s| s.0), [8, 136, 264, 392, 520, 648, 776, 904]);
        assert_eq!(of_16.payload(aligned(2048)), Ok(Sectors(2048)));
        assert_eq!(of_16.payload(Payload::Detached), Ok(Sectors(0)));
    }

    #[test]
    fn payload_among_keyslots_is_refused() {
        let error = KeyslotLayout::new(64).payload(Payload::At(Sectors(4039))).unwrap_err();
        assert_eq!(
            error,
            Error::invalid("payload offset", "sector 4039 is among the keyslots, which end at 4040")
        );
        assert_eq!(KeyslotLayout::new(64).payload(Payload::At(Sectors(4040))), Ok(Sectors(4040)));
        assert!(KeyslotLayout::new(64).payload(Payload::At(Sectors(1 << 32))).is_err());
        assert!(KeyslotLayout::new(64).payload(aligned(0)).is_err());
    }
}
