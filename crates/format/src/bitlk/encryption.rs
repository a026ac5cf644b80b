//! Methods of encryption by their numbers (libyal, "Encryption methods"; XTS: cryptsetup), in dm-crypt's words.

use crate::Error;
use alloc::format;
use keyway_crypto::Secret;

/// How data are encrypted: AES in a chaining mode.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Encryption {
    /// The number.
    pub method: u16,
    /// The mode.
    pub chaining: Chaining,
    /// Bits of each AES key.
    pub bits: usize,
}

/// Modes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Chaining {
    CbcElephant,
    Cbc,
    Xts,
}

impl Encryption {
    /// # Errors
    /// The number is none of a method that encrypts data.
    pub fn of(method: u16) -> Result<Self, Error> {
        let (chaining, bits) = match method {
            0x8000 => (Chaining::CbcElephant, 128),
            0x8001 => (Chaining::CbcElephant, 256),
            0x8002 => (Chaining::Cbc, 128),
            0x8003 => (Chaining::Cbc, 256),
            0x8004 => (Chaining::Xts, 128),
            0x8005 => (Chaining::Xts, 256),
            _ => return Err(Error::invalid("encryption method", format!("{method:#06x} is not known"))),
        };
        Ok(Self { method, chaining, bits })
    }

    /// "aes".
    pub const fn cipher(self) -> &'static str {
        "aes"
    }

    /// dm-crypt's name for mode and IV.
    pub const fn mode(self) -> &'static str {
        match self.chaining {
            Chaining::CbcElephant => "cbc-elephant",
            Chaining::Cbc => "cbc-eboiv",
            Chaining::Xts => "xts-plain64",
        }
    }

    /// The volume key's bits: two AES keys but for CBC alone.
    pub const fn key_bits(self) -> usize {
        match self.chaining {
            Chaining::Cbc => self.bits,
            Chaining::CbcElephant | Chaining::Xts => 2 * self.bits,
        }
    }

    /// The volume key from what was wrapped. For the diffuser that is always 64 bytes, of whose halves shorter keys are
    /// the starts.
    ///
    /// # Errors
    /// [`Error::Invalid`]: it has another length.
    pub fn volume_key(self, wrapped: &Secret) -> Result<Secret, Error> {
        let (bytes, len) = (wrapped.expose(), self.key_bits() / 8);
        if bytes.len() == len {
            return Ok(Secret::copy_from(bytes));
        }
        if self.chaining == Chaining::CbcElephant && bytes.len() == 64 {
            let mut key = Secret::zeroed(len);
            let halves = key.expose_mut().chunks_exact_mut(len / 2).zip(bytes.chunks_exact(32));
            halves.for_each(|(key, half)| key.copy_from_slice(&half[..len / 2]));
            return Ok(key);
        }
        Err(Error::invalid(
            "volume key",
            format!("{} bytes, {}-{} takes {len}", bytes.len(), self.cipher(), self.mode()),
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;
    use alloc::vec::Vec;

    #[test]
    fn keys_of_each_method() {
        let wrapped: Vec<u8> = (0..64).collect();
        let key = |method, len: usize| {
            let key = Encryption::of(method).unwrap().volume_key(&Secret::copy_from(&wrapped[..len]));
            key.map(|key| key.expose().to_vec()).map_err(|error| error.to_string())
        };
        for (method, len) in [(0x8001, 64), (0x8002, 16), (0x8003, 32), (0x8004, 32), (0x8005, 64)] {
            assert_eq!(key(method, len).unwrap(), wrapped[..len]);
        }
        assert_eq!(key(0x8000, 64).unwrap(), [&wrapped[..16], &wrapped[32..48]].concat());
        assert_eq!(key(0x8004, 16).unwrap_err(), "volume key: 16 bytes, aes-xts-plain64 takes 32");
        let unknown = Encryption::of(0x8006).unwrap_err();
        assert_eq!(unknown.to_string(), "encryption method: 0x8006 is not known");
    }
}
