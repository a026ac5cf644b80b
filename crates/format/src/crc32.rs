//! CRC-32 (ITU-T V.42, ISO 3309, as in zlib) and CRC-32C (Castagnoli), bit by bit: what they are asked for here is short,
//! and some of it secret, which a table would show to whoever shares the cache.

/// The checksum of `bytes`.
pub fn crc32(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(START, |register, byte| push(register, *byte))
}

/// The register of CRC-32C after `bytes`, where it was `start` before: without the inversions of [`crc32`], as Core
/// Storage records it.
pub fn crc32c_register(bytes: &[u8], start: u32) -> u32 {
    bytes.iter().fold(start, |register, byte| shift(register, *byte, 0x82f6_3b78))
}

/// The register before the first byte.
pub(crate) const START: u32 = !0;

/// The register after one more byte.
pub(crate) fn push(register: u32, byte: u8) -> u32 {
    shift(register, byte, 0xedb8_8320)
}

fn shift(register: u32, byte: u8, polynomial: u32) -> u32 {
    let bit = |crc: u32, _| (crc >> 1) ^ ((crc & 1).wrapping_neg() & polynomial);
    (0..8).fold(register ^ u32::from(byte), bit)
}

#[cfg(test)]
mod tests {
    /// The catalogue's check values (CRC-32/ISO-HDLC, CRC-32/ISCSI).
    #[test]
    fn check_value() {
        assert_eq!(super::crc32(b"123456789"), 0xcbf4_3926);
        assert_eq!(!super::crc32c_register(b"123456789", !0), 0xe306_9283);
    }
}
