//! CRC-32 (ITU-T V.42, ISO 3309, as in zlib), bit by bit: what it is asked for here is short, and some of it secret, which
//! a table would show to whoever shares the cache.

/// The checksum of `bytes`.
pub fn crc32(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(START, |register, byte| push(register, *byte))
}

/// The register before the first byte.
pub(crate) const START: u32 = !0;

/// The register after one more byte.
pub(crate) fn push(register: u32, byte: u8) -> u32 {
    let bit = |crc: u32, _| (crc >> 1) ^ ((crc & 1).wrapping_neg() & 0xedb8_8320);
    (0..8).fold(register ^ u32::from(byte), bit)
}

#[cfg(test)]
mod tests {
    /// The catalogue's check value (CRC-32/ISO-HDLC).
    #[test]
    fn check_value() {
        assert_eq!(super::crc32(b"123456789"), 0xcbf4_3926);
    }
}
