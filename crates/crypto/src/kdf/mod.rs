//! Passphrase to key: PBKDF2, Argon2 and BitLocker's stretching, each stoppable from another thread. Key to key: HKDF.

mod argon2;
mod hkdf;
mod hmac;
pub mod least;
mod pbkdf2;
mod pieces;
pub mod speed;
mod stretch;

pub use argon2::{Argon2Block, argon2_in};
#[cfg(feature = "alloc")]
pub use argon2::{argon2, argon2_on, argon2_quarters};
pub use hkdf::{hkdf, hmac};
#[cfg(feature = "std")]
pub use pbkdf2::{Derivation, pbkdf2_side_by_side};
pub use pbkdf2::{pbkdf2, pbkdf2_behind, pbkdf2_on};
pub use stretch::{STRETCH_ROUNDS, stretch};

use core::sync::atomic::{AtomicBool, Ordering};

/// A flag that stops running derivations within milliseconds.
#[derive(Debug, Default)]
pub struct Stop(AtomicBool);

impl Stop {
    /// Not stopped.
    pub const fn new() -> Self {
        Self(AtomicBool::new(false))
    }

    /// Stops every derivation that watches this flag.
    pub fn stop(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Whether [`Stop::stop`] was called.
    pub fn is_stopped(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// The Argon2 variant (RFC 9106). LUKS2 uses the i and id variants, version 0x13.
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
