//! CRC-32 (ISO 3309, as in zlib), bit by bit: what it is asked for here is short.

/// The checksum of `bytes`.
pub fn crc32(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(!0, |sum, byte| {
        (0..8).fold(sum ^ u32::from(*byte), |sum, _| (sum >> 1) ^ (0xedb8_8320 * (sum & 1)))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The usual check value.
    #[test]
    fn of_nine_digits() {
        assert_eq!(crc32(b"123456789"), 0xcbf4_3926);
    }
}
