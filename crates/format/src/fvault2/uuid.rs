//! UUIDs, as Core Storage records and prints them.

use core::fmt;

/// Its bytes, in the order in which they are printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Uuid(pub [u8; 16]);

impl Uuid {
    /// Of a text: 8-4-4-4-12 hexadecimal digits.
    pub fn parse(text: &str) -> Option<Self> {
        let is_dash = |at: usize| matches!(at, 8 | 13 | 18 | 23);
        let well_formed =
            |(at, byte): (usize, u8)| if is_dash(at) { byte == b'-' } else { byte.is_ascii_hexdigit() };
        if text.len() != 36 || !text.bytes().enumerate().all(well_formed) {
            return None;
        }
        let mut bytes = [0; 16];
        let digits = text.chars().filter_map(|digit| digit.to_digit(16));
        digits.enumerate().for_each(|(at, digit)| bytes[at / 2] = bytes[at / 2] << 4 | digit as u8);
        Some(Self(bytes))
    }
}

impl fmt::Display for Uuid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, byte) in self.0.iter().enumerate() {
            let dash = if matches!(at, 4 | 6 | 8 | 10) { "-" } else { "" };
            write!(f, "{dash}{byte:02x}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::Uuid;
    use alloc::string::ToString;

    #[test]
    fn texts_and_bytes() {
        let uuid = Uuid::parse("33A76CAA-1481-4BC5-8D04-1AC1707C19C0").unwrap();
        assert_eq!((uuid.0[0], uuid.0[15]), (0x33, 0xc0));
        assert_eq!(uuid.to_string(), "33a76caa-1481-4bc5-8d04-1ac1707c19c0");
        for wrong in [
            "",
            "33A76CAA-1481-4BC5-8D04-1AC1707C19C",
            "33A76CAA114814BC518D0411AC1707C19C0",
            "33A76CAA-1481-4BC5-8D04-1AC1707C19CG",
        ] {
            assert_eq!(Uuid::parse(wrong), None, "{wrong}");
        }
    }
}
