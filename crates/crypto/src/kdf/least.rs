//! The least cost of key derivation that is recommended: below it, a passphrase is cheap to guess.
//!
//! OWASP Password Storage Cheat Sheet, PBKDF2 and Argon2id (2 passes over 19 MiB).

use crate::Hash;

/// Iterations of PBKDF2; `None` for hashes that nothing is recommended for.
pub fn pbkdf2(hash: Hash) -> Option<u32> {
    match hash {
        Hash::Sha1 => Some(1_300_000),
        Hash::Sha256 => Some(600_000),
        Hash::Sha512 => Some(210_000),
        _ => None,
    }
}

/// Argon2: KiB of memory times passes.
pub const ARGON2: u64 = 19 * 1024 * 2;
