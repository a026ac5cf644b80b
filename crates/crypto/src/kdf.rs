//! Passphrase to key: PBKDF2 and Argon2, each stoppable from another thread.

use crate::{Error, Hash};
use core::sync::atomic::{AtomicBool, Ordering};

/// A flag that ends running derivations within milliseconds.
#[derive(Debug, Default)]
pub struct Stop(AtomicBool);

impl Stop {
    /// Not stopped.
    pub const fn new() -> Self {
        Self(AtomicBool::new(false))
    }

    /// Ends every derivation that watches this flag.
    pub fn stop(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Whether [`Stop::stop`] was called.
    pub fn is_stopped(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// Which Argon2 (RFC 9106). LUKS2 uses the i and id variants, version 0x13.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum Argon2Variant {
    Argon2i,
    Argon2id,
}

/// Argon2's costs: passes, memory in KiB, lanes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub struct Argon2Cost {
    pub time: u32,
    pub memory_kib: u32,
    pub lanes: u32,
}

/// PBKDF2-HMAC (RFC 8018, 5.2) into `out`.
pub fn pbkdf2(
    hash: Hash,
    password: &[u8],
    salt: &[u8],
    iterations: u32,
    out: &mut [u8],
    stop: &Stop,
) -> Result<(), Error> {
    let _ = (hash, password, salt, iterations, out, stop);
    todo!()
}

/// Argon2 (RFC 9106, version 0x13, no secret, no associated data) into `out`.
/// Lanes run on up to `threads` threads of their own.
pub fn argon2(
    variant: Argon2Variant,
    cost: Argon2Cost,
    password: &[u8],
    salt: &[u8],
    out: &mut [u8],
    threads: usize,
    stop: &Stop,
) -> Result<(), Error> {
    let _ = (variant, cost, password, salt, out, threads, stop);
    todo!()
}
