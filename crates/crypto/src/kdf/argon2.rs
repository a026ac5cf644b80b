//! Argon2i and Argon2id, version 0x13 (RFC 9106).

use super::{Argon2Cost, Argon2Variant, Stop};
use crate::Error;
use ::argon2::{Algorithm, Argon2, Block, Params, Version};
use alloc::format;
use alloc::vec::Vec;

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
    let _ = threads;
    if stop.is_stopped() {
        return Err(Error::Stopped);
    }
    let algorithm = match variant {
        Argon2Variant::Argon2i => Algorithm::Argon2i,
        Argon2Variant::Argon2id => Algorithm::Argon2id,
    };
    let params = Params::new(cost.memory_kib, cost.time, cost.lanes, Some(out.len()))
        .map_err(|error| Error::Cost(format!("Argon2: {error}")))?;
    let mut memory = Vec::new();
    memory.try_reserve_exact(params.block_count()).map_err(|_| Error::NoMemory { kib: cost.memory_kib })?;
    memory.resize(params.block_count(), Block::default());
    Argon2::new(algorithm, Version::V0x13, params)
        .hash_password_into_with_memory(password, salt, out, &mut memory)
        .map_err(|error| Error::Cost(format!("Argon2: {error}")))
}
