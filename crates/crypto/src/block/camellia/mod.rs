//! Camellia (RFC 3713; Aoki and others: "Specification of Camellia, a 128-bit Block Cipher", 2000).
//!
//! The vector code works on bytes of many blocks side by side and runs in constant time.
//! The portable code looks the S-boxes up in memory, **at places that depend on the data
//! and the key**; so does key set-up at every level.

#[cfg(target_arch = "aarch64")]
mod arm;
mod boxes;
#[cfg(any(all(target_arch = "x86_64", target_feature = "sse2"), target_arch = "aarch64"))]
mod bytes;
mod portable;
#[cfg(any(all(target_arch = "x86_64", target_feature = "sse2"), target_arch = "aarch64"))]
mod rounds;
mod schedule;
#[cfg(test)]
mod tests;
#[cfg(all(target_arch = "x86_64", target_feature = "sse2"))]
mod x86;

use super::bulk::{Bulk, Code};
use crate::Cpu;
use crate::chaining::xts;
use crate::simd::vector_code;
use schedule::Schedule;

/// An expanded Camellia key of 128, 192 or 256 bits.
pub(crate) type Camellia = Bulk<Schedule>;

impl Camellia {
    /// Expands a key of 16, 24 or 32 bytes for the best code that `cpu` can run.
    ///
    /// # Panics
    /// For any other length: callers check it against the cipher's key sizes.
    pub(crate) fn new(key: &[u8], cpu: Cpu) -> Self {
        Self { schedule: Schedule::expand(key), code: choose(cpu) }
    }
}

/// The widest code that `cpu` can run.
fn choose(cpu: Cpu) -> &'static Code<Schedule> {
    vector_code!(cpu).unwrap_or(&PORTABLE)
}

/// Two blocks side by side, over tables.
static PORTABLE: Code<Schedule> = Code {
    name: "portable",
    parallel: 2,
    encrypt: |schedule, blocks| portable::blocks(&schedule.encrypt, blocks),
    decrypt: |schedule, blocks| portable::blocks(&schedule.decrypt, blocks),
    masks: &xts::PORTABLE,
};
