//! Cipher specifications as dm-crypt and LUKS write them: "aes-xts-plain64", "aes-cbc-essiv:sha256", "aes-ecb".

use crate::Error;
use core::fmt;

/// A cipher, mode and IV that can exist together. Impossible combinations do not parse.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CipherSpec {}

impl CipherSpec {
    /// Parses "cipher[-mode[-iv[:hash]]]"; "aes" alone means aes-cbc-plain, as in cryptsetup.
    pub fn parse(text: &str) -> Result<Self, Error> {
        Err(Error::Unknown { what: "cipher", name: text.into() })
    }

    /// Refuses a volume key of `bits` bits that the cipher and mode cannot take (XTS counts both halves).
    pub fn check_key_bits(&self, bits: usize) -> Result<(), Error> {
        let _ = bits;
        todo!()
    }
}

impl fmt::Display for CipherSpec {
    fn fmt(&self, _: &mut fmt::Formatter<'_>) -> fmt::Result {
        todo!()
    }
}
