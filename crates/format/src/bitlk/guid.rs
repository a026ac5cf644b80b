//! Identifiers as Windows writes them: the first three groups little endian.

use super::field;
use core::fmt;

/// A GUID, as on disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Guid(pub [u8; 16]);

impl Guid {
    pub(super) fn at(bytes: &[u8], at: usize) -> Self {
        Self(field(bytes, at))
    }

    /// Of 16 random bytes: version 4.
    pub fn of_random(mut bytes: [u8; 16]) -> Self {
        bytes[7] = bytes[7] & 0x0f | 0x40;
        bytes[8] = bytes[8] & 0x3f | 0x80;
        Self(bytes)
    }
}

impl fmt::Display for Guid {
    /// "4967d63b-2e29-4ad8-8399-f6a339e3d001".
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const ORDER: [usize; 16] = [3, 2, 1, 0, 5, 4, 7, 6, 8, 9, 10, 11, 12, 13, 14, 15];
        for (place, byte) in ORDER.iter().enumerate() {
            if matches!(place, 4 | 6 | 8 | 10) {
                f.write_str("-")?;
            }
            write!(f, "{:02x}", self.0[*byte])?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;

    #[test]
    fn version_and_variant_of_random_ones() {
        let zeros = Guid::of_random([0; 16]).to_string();
        assert_eq!(zeros, "00000000-0000-4000-8000-000000000000");
        assert_eq!(Guid::of_random([0xff; 16]).to_string(), "ffffffff-ffff-4fff-bfff-ffffffffffff");
    }
}
