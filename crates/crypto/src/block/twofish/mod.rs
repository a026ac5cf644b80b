//! Twofish (Schneier, Kelsey, Whiting, Wagner, Hall, Ferguson:
//! "Twofish: A 128-Bit Block Cipher", 1998).
//!
//! The vector code takes its key-dependent S-boxes from registers and runs in constant
//! time. The portable code looks them up in memory, **at places that depend on the data
//! and the key**; so does key set-up at every level.

mod boxes;
mod rounds;
mod schedule;
#[cfg(test)]
mod tests;
#[cfg(all(target_arch = "x86_64", target_feature = "sse2"))]
mod x86;

use super::bulk::{Bulk, Code};
use crate::Cpu;
use crate::chaining::xts;
use schedule::Schedule;

/// An expanded Twofish key of 128, 192 or 256 bits.
pub(crate) type Twofish = Bulk<Schedule>;

impl Twofish {
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
    #[cfg(all(target_arch = "x86_64", target_feature = "sse2"))]
    let vector = x86::choose(cpu);
    #[cfg(not(all(target_arch = "x86_64", target_feature = "sse2")))]
    let vector = {
        let _ = cpu;
        None
    };
    vector.unwrap_or(&PORTABLE)
}

/// Two blocks side by side, over tables.
static PORTABLE: Code<Schedule> = Code {
    name: "portable",
    parallel: 2,
    encrypt: rounds::blocks::<true>,
    decrypt: rounds::blocks::<false>,
    masks: &xts::PORTABLE,
};
