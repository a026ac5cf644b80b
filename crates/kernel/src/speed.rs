//! The speed of a driver: synchronous requests through AF_ALG, one after the other, on one thread.
//!
//! dm-crypt and fscrypt make a request of 512 or 4096 bytes for each sector or page. Each request
//! here costs two system calls, which dm-crypt does not have: with the fastest code they account
//! for most of the time, so 4096 bytes are more meaningful than 512.

use crate::af_alg::{self, Direction};
use crate::random::Random;
use crate::{Algorithm, Missing, reference};
use keyway_crypto::{CipherSpec, SectorCipher, SectorSize};
use std::io;
use std::time::{Duration, Instant};

/// The throughput of one driver.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Speed {
    /// The length of a request in bytes.
    pub bytes: usize,
    /// Encryption, in bytes per second.
    pub encrypt: f64,
    /// Decryption, in bytes per second.
    pub decrypt: f64,
}

/// The kernel's speed for a specification as dm-crypt would see it, in bytes per second: requests
/// of 64 KiB, as in cryptsetup's benchmark.
pub fn speed(spec: &CipherSpec, key_bits: usize, direction: Direction) -> Result<f64, Missing> {
    let algorithm = Algorithm::of_spec(spec);
    let kernel = af_alg::Algorithm::find(&algorithm.to_string())?;
    let failed = |why: io::Error| Missing::new(format!("the kernel's {algorithm}: {why}"));
    let kernel = kernel.key(&Random::new().bytes(key_bits / 8)).map_err(failed)?;
    let iv = reference::iv(spec, 1);
    rate(CRYPTSETUP_REQUEST, |data| kernel.run(direction, &iv, data)).map_err(failed)
}

/// The speed of the driver `name`, with the largest key that it supports.
pub(crate) fn of_driver(name: &str, algorithm: &Algorithm, max_key: usize) -> Result<Vec<Speed>, Missing> {
    let spec = reference::spec(algorithm)
        .ok_or_else(|| Missing::new(format!("Keyway does not have {algorithm}")))?;
    let keys = spec.key_bits().into_iter().map(|bits| bits / 8);
    let key = keys.filter(|bytes| max_key == 0 || *bytes <= max_key).max().unwrap_or(max_key);
    let kernel = af_alg::Algorithm::find(name)?;
    let failed = |why: io::Error| Missing::new(why.to_string());
    let kernel = kernel.key(&Random::new().bytes(key)).map_err(failed)?;
    let iv = reference::iv(&spec, 1);
    let measure = |bytes: usize| {
        let encrypt = rate(bytes, |data| kernel.run(Direction::Encrypt, &iv, data)).map_err(failed)?;
        let decrypt = rate(bytes, |data| kernel.run(Direction::Decrypt, &iv, data)).map_err(failed)?;
        Ok(Speed { bytes, encrypt, decrypt })
    };
    [512, 4096].into_iter().map(measure).collect()
}

/// The speed of Keyway's own code on this CPU and one thread, for runs of 4096-byte sectors, with
/// the code's name.
pub fn of_keyway(spec: &CipherSpec, key_bits: usize) -> Option<(Speed, &'static str)> {
    let size = spec.sector_sizes().last().unwrap_or(SectorSize::S512);
    let cipher = reference::cipher(spec, &Random::new().bytes(key_bits / 8), size).ok()?;
    let of = |run: fn(&SectorCipher, u64, &mut [u8])| {
        let work = |data: &mut [u8]| {
            run(&cipher, 0, data);
            Ok(())
        };
        rate(RUN, work).ok()
    };
    let (encrypt, decrypt) = (of(SectorCipher::encrypt)?, of(SectorCipher::decrypt)?);
    Some((Speed { bytes: RUN, encrypt, decrypt }, cipher.code()))
}

/// Bytes per second: the median of time slices, so that other load on the machine affects only a
/// few.
fn rate(bytes: usize, mut work: impl FnMut(&mut [u8]) -> io::Result<()>) -> io::Result<f64> {
    let mut data = Random::new().bytes(bytes);
    for _ in 0..2 {
        work(&mut data)?;
    }
    let mut rates = Vec::with_capacity(SLICES);
    for _ in 0..SLICES {
        let start = Instant::now();
        let mut done = 0;
        while start.elapsed() < SLICE {
            work(&mut data)?;
            done += bytes;
        }
        rates.push(done as f64 / start.elapsed().as_secs_f64());
    }
    rates.sort_by(f64::total_cmp);
    Ok(rates[SLICES / 2])
}

const CRYPTSETUP_REQUEST: usize = 1 << 16;
const RUN: usize = 1 << 18;
const SLICES: usize = 7;
const SLICE: Duration = Duration::from_millis(10);
