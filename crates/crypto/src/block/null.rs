//! cipher_null: data as it is (Linux, crypto/crypto_null.c). cryptsetup writes this name when it
//! encrypts a plain volume in place.

use crate::engine::{Engine, Run};

/// Leaves sectors unchanged.
pub(crate) struct Null;

impl Engine for Null {
    fn encrypt(&self, _: &Run, _: &mut [u8]) {}

    fn decrypt(&self, _: &Run, _: &mut [u8]) {}

    fn code(&self) -> &'static str {
        "nothing"
    }
}
