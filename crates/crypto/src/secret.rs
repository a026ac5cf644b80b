//! Key material: locked in memory, kept out of core dumps, wiped on drop, compared in constant time.

use alloc::vec;
use alloc::vec::Vec;
use subtle::ConstantTimeEq;
use zeroize::Zeroize;

/// Bytes that must not leak: no `Clone`, no `Debug`, no growth (growth would leave copies behind).
pub struct Secret {
    bytes: Vec<u8>,
}

impl Secret {
    /// `len` zero bytes, to be filled through [`Secret::expose_mut`].
    pub fn zeroed(len: usize) -> Self {
        Self { bytes: vec![0; len] }
    }

    /// Takes a copy of `bytes`; wiping the original is the caller's duty.
    pub fn copy_from(bytes: &[u8]) -> Self {
        let mut secret = Self::zeroed(bytes.len());
        secret.bytes.copy_from_slice(bytes);
        secret
    }

    /// Length in bytes.
    pub fn len(&self) -> usize {
        self.bytes.len()
    }

    /// Whether there are no bytes at all (an empty passphrase).
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// The bytes. The name makes every use easy to find in review.
    pub fn expose(&self) -> &[u8] {
        &self.bytes
    }

    /// The bytes, to be written to.
    pub fn expose_mut(&mut self) -> &mut [u8] {
        &mut self.bytes
    }

    /// Equality in time that depends on the lengths only.
    pub fn ct_eq(&self, other: &[u8]) -> bool {
        self.bytes.len() == other.len() && self.bytes.ct_eq(other).into()
    }
}

impl Drop for Secret {
    fn drop(&mut self) {
        self.bytes.zeroize();
    }
}
