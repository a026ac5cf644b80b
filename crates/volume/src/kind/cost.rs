//! What a header without keyslots may cost: the limits that LUKS keyslots obey.

use crate::keyslot::kdf_cost::is_harmless;
use crate::keyslot::unlock_time::UnlockTimes;
use crate::{Error, Result, UnlockOptions};
use keyway_crypto::Hash;
use keyway_format::luks2::Kdf;
use std::time::Duration;

/// Compares KDFs with the limits, and measures each kind once.
pub(super) struct Limits<'a> {
    options: &'a UnlockOptions,
    times: UnlockTimes,
}

impl<'a> Limits<'a> {
    pub(super) fn new(options: &'a UnlockOptions) -> Self {
        Self { options, times: UnlockTimes::rough(options.threads) }
    }

    /// `name` is what messages call it.
    ///
    /// # Errors
    /// [`Error::KdfTime`]; the hash cannot be used.
    pub(super) fn check_pbkdf2(
        &mut self,
        name: impl FnOnce() -> String,
        hash: Hash,
        iterations: u32,
        len: usize,
    ) -> Result<()> {
        let kdf = Kdf::Pbkdf2 { hash: String::new(), iterations, salt: Vec::new() };
        if is_harmless(&kdf, self.options.time_limit) {
            return Ok(());
        }
        let seconds = self.times.of_pbkdf2(hash, iterations, len)?.likely;
        self.check_time(name, seconds)
    }

    /// One lane.
    ///
    /// # Errors
    /// [`Error::KdfMemory`], [`Error::KdfTime`]; there is no memory to measure with.
    pub(super) fn check_argon2id(&mut self, passes: u32, memory_kib: u32) -> Result<()> {
        let name = || "Argon2id".to_owned();
        let (needs_kib, budget_kib) = (memory_kib.into(), self.options.memory_budget_kib);
        if needs_kib > budget_kib {
            return Err(Error::KdfMemory { kdf: name(), needs_kib, budget_kib });
        }
        let kdf = Kdf::Argon2id { time: passes, memory_kib, lanes: 1, salt: Vec::new() };
        if is_harmless(&kdf, self.options.time_limit) {
            return Ok(());
        }
        let seconds = self.times.of_kdf(&kdf, 32)?.likely;
        self.check_time(name, seconds)
    }

    fn check_time(&self, name: impl FnOnce() -> String, seconds: f64) -> Result<()> {
        let (time, limit) =
            (Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX), self.options.time_limit);
        if time <= limit {
            return Ok(());
        }
        Err(Error::KdfTime { kdf: name(), needs_seconds: time.as_secs(), limit_seconds: limit.as_secs() })
    }
}
