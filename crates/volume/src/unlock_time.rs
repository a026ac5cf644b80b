//! Estimates how long keyslots take to unlock on this machine: a short measurement for each kind of
//! KDF, multiplied by the cost.

use crate::Result;
use crate::facts::{Derivation, Keyslot};
use keyway_crypto::kdf::{self, Argon2Cost, Argon2Variant};
use keyway_crypto::{Hash, Secret, Stop};
use keyway_format::luks2::Kdf;
use std::time::{Duration, Instant};

/// Measures each kind once, and remembers the result.
#[derive(Debug)]
pub struct UnlockTimes {
    threads: usize,
    pbkdf2: Vec<(Hash, usize, f64)>,
    argon2: Vec<(Argon2Variant, u32, Argon2Rate)>,
}

impl UnlockTimes {
    /// Nothing is measured yet; Argon2's lanes will run on up to `threads` threads.
    pub fn new(threads: usize) -> Self {
        Self { threads, pbkdf2: Vec::new(), argon2: Vec::new() }
    }

    /// About how long a keyslot takes to open, with the digest that verifies its key; `None` where
    /// that cannot be measured.
    pub fn of_keyslot(&mut self, keyslot: &Keyslot) -> Option<Duration> {
        let mut time = |of: &Derivation| self.of_kdf(&of.kdf, of.len).ok();
        let derivation = time(keyslot.derivation.as_ref().ok()?)?;
        let digest = keyslot.digest.as_ref().and_then(time).unwrap_or_default();
        Some(derivation.saturating_add(digest))
    }

    /// About how long `kdf` takes to derive `key_len` bytes.
    ///
    /// # Errors
    /// The hash is unknown, or there is no memory for the sample.
    pub fn of_kdf(&mut self, kdf: &Kdf, key_len: usize) -> Result<Duration> {
        match kdf {
            Kdf::Pbkdf2 { hash, iterations, .. } => self.of_pbkdf2(Hash::parse(hash)?, *iterations, key_len),
            Kdf::Argon2i { time, memory_kib, lanes, .. } => {
                self.of_argon2(Argon2Variant::Argon2i, *time, *memory_kib, *lanes)
            }
            Kdf::Argon2id { time, memory_kib, lanes, .. } => {
                self.of_argon2(Argon2Variant::Argon2id, *time, *memory_kib, *lanes)
            }
        }
    }

    /// About how long PBKDF2 takes to derive `key_len` bytes.
    ///
    /// # Errors
    /// The hash cannot be used.
    pub fn of_pbkdf2(&mut self, hash: Hash, iterations: u32, key_len: usize) -> Result<Duration> {
        let blocks = key_len.div_ceil(hash.output_len());
        // Blocks are computed one after the other: the time for a few gives the time for all.
        if blocks > MOST_BLOCKS {
            let few = self.of_pbkdf2(hash, iterations, MOST_BLOCKS * hash.output_len())?;
            return Ok(seconds(few.as_secs_f64() * blocks as f64 / MOST_BLOCKS as f64));
        }
        let known = self.pbkdf2.iter().find(|(h, b, _)| (*h, *b) == (hash, blocks));
        let rate = match known {
            Some((.., rate)) => *rate,
            None => {
                let rate = pbkdf2_rate(hash, key_len)?;
                self.pbkdf2.push((hash, blocks, rate));
                rate
            }
        };
        Ok(seconds(f64::from(iterations) / rate))
    }

    fn of_argon2(
        &mut self,
        variant: Argon2Variant,
        time: u32,
        memory_kib: u32,
        lanes: u32,
    ) -> Result<Duration> {
        let lanes = lanes.clamp(1, MOST_LANES);
        let known = self.argon2.iter().find(|(v, l, _)| (*v, *l) == (variant, lanes));
        let rate = match known {
            Some((.., rate)) => *rate,
            None => {
                let rate = Argon2Rate::measure(variant, memory_kib, lanes, self.threads)?;
                self.argon2.push((variant, lanes, rate));
                rate
            }
        };
        Ok(seconds((rate.set_up + rate.pass * f64::from(time)) * f64::from(memory_kib)))
    }
}

/// Seconds per KiB of Argon2's memory: for allocating it, and for each pass over it.
#[derive(Debug, Clone, Copy)]
struct Argon2Rate {
    set_up: f64,
    pass: f64,
}

impl Argon2Rate {
    /// Measures one pass over enough memory, then more passes over the same amount.
    fn measure(variant: Argon2Variant, memory_kib: u32, lanes: u32, threads: usize) -> Result<Self> {
        let (least, most) = (8 * lanes, memory_kib.clamp(8 * lanes, MOST_SAMPLE_KIB.max(8 * lanes)));
        let mut sample = SAMPLE_KIB.clamp(least, most);
        let mut key = Secret::zeroed(64);
        let mut run = |time, memory_kib| -> Result<f64> {
            let cost = Argon2Cost { time, memory_kib, lanes };
            let start = Instant::now();
            kdf::argon2(variant, cost, b"passphrase", &[0; 32], key.expose_mut(), threads, &Stop::new())?;
            Ok(start.elapsed().as_secs_f64())
        };
        let mut one = run(1, sample)?;
        while one < ENOUGH.as_secs_f64() / 2.0 && sample < most {
            sample = (sample * 4).min(most);
            one = run(1, sample)?;
        }
        let more = (ENOUGH.as_secs_f64() / one.max(1e-6)).ceil().clamp(8.0, 4096.0);
        let all = run(1 + more as u32, sample)?;
        // If memory was slow only during the first run, the difference is meaningless: a keyslot
        // that takes forever must not be estimated as fast.
        let pass = ((all - one) / more).max(all / (1.0 + more) / 4.0);
        let kib = f64::from(sample);
        Ok(Self { set_up: (one - pass).max(0.0) / kib, pass: pass / kib })
    }
}

/// Number of blocks of a derived key that are measured.
const MOST_BLOCKS: usize = 8;

/// Iterations per second.
fn pbkdf2_rate(hash: Hash, key_len: usize) -> Result<f64> {
    let mut key = Secret::zeroed(key_len);
    let mut iterations = 1 << 10;
    loop {
        let start = Instant::now();
        kdf::pbkdf2(hash, b"passphrase", b"salt", iterations, key.expose_mut(), &Stop::new())?;
        let took = start.elapsed();
        if took >= ENOUGH {
            return Ok(f64::from(iterations) / took.as_secs_f64());
        }
        iterations *= 4;
    }
}

fn seconds(seconds: f64) -> Duration {
    Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX)
}

/// A sample of this length gives the rate well enough, and four times as much is still not a
/// noticeable wait.
const ENOUGH: Duration = Duration::from_millis(30);
/// Memory of the first Argon2 sample.
const SAMPLE_KIB: u32 = 8 << 10;
/// Memory of the largest Argon2 sample.
const MOST_SAMPLE_KIB: u32 = 256 << 10;
/// More lanes than this are not faster on any machine.
const MOST_LANES: u32 = 256;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_grow_with_the_cost_and_each_kind_is_measured_once() {
        let mut times = UnlockTimes::new(2);
        let pbkdf2 = |iterations| Kdf::Pbkdf2 { hash: "sha256".into(), iterations, salt: vec![0; 32] };
        let one = times.of_kdf(&pbkdf2(1_000_000), 64).unwrap();
        let ten = times.of_kdf(&pbkdf2(10_000_000), 64).unwrap();
        let ratio = ten.as_secs_f64() / one.as_secs_f64();
        assert!((9.99..10.01).contains(&ratio), "{ratio}");
        assert_eq!(times.pbkdf2.len(), 1);

        // Long keys are extrapolated from eight blocks.
        let eight = times.of_kdf(&pbkdf2(1_000_000), 8 * 32).unwrap();
        let million = times.of_kdf(&pbkdf2(1_000_000), 8_000_000 * 32).unwrap();
        let ratio = million.as_secs_f64() / eight.as_secs_f64();
        assert!((999_999.0..1_000_001.0).contains(&ratio), "{ratio}");
        assert_eq!(times.pbkdf2.len(), 2);

        let argon2 = |time| Kdf::Argon2id { time, memory_kib: 65536, lanes: 2, salt: vec![0; 32] };
        let four = times.of_kdf(&argon2(4), 64).unwrap();
        let eight = times.of_kdf(&argon2(8), 64).unwrap();
        let ratio = eight.as_secs_f64() / four.as_secs_f64();
        assert!((1.0..2.01).contains(&ratio), "{ratio}");
        assert_eq!(times.argon2.len(), 1);
        assert!(times.of_kdf(&Kdf::Pbkdf2 { hash: "no".into(), iterations: 1, salt: vec![] }, 64).is_err());
    }
}
