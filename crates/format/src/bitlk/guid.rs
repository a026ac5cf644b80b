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
