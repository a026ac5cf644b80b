//! A part of what a KDF derives: the one place that runs it, to open headers and to make them.

use crate::Result;
use crate::kind::cost::Limits;
use keyway_crypto::kdf::{Argon2Cost, Argon2Variant, argon2, pbkdf2_behind};
use keyway_crypto::{Secret, Stop};
use keyway_format::tcrypt::{Argon2, DERIVED_LEN, Kdf, Stretch};

/// The bytes from digest `first` on; Argon2id has only one.
pub(super) fn derive(
    stretch: Stretch,
    first: u32,
    password: &Secret,
    salt: &[u8],
    out: &mut [u8],
    stop: &Stop,
) -> Result<()> {
    match stretch {
        Stretch::Pbkdf2 { hash, iterations } => {
            pbkdf2_behind(first, hash, password.expose(), salt, iterations, out, stop)?;
        }
        Stretch::Argon2id(Argon2 { passes, memory_kib }) => {
            let cost = Argon2Cost { time: passes, memory_kib, lanes: 1 };
            argon2(Argon2Variant::Argon2id, cost, password.expose(), salt, out, 1, stop)?;
        }
    }
    Ok(())
}

/// Compares it with the limits: a PIM can ask for years.
///
/// # Errors
/// Those of [`Limits`].
pub(super) fn check_cost(kdf: &Kdf, stretch: Stretch, limits: &mut Limits<'_>) -> Result<()> {
    match stretch {
        Stretch::Pbkdf2 { hash, iterations } => {
            let name = || format!("PBKDF2 with {}", kdf.name);
            limits.check_pbkdf2(name, hash, iterations, DERIVED_LEN)
        }
        Stretch::Argon2id(Argon2 { passes, memory_kib }) => limits.check_argon2id(passes, memory_kib),
    }
}
