//! How long a re-encryption takes here: the device is read in samples, the ciphers and the hash are
//! run on this CPU, and writing, which nobody tries on data, is taken as a share of reading.

use super::CHUNK;
use super::plan::{Amounts, Plan};
use crate::change::create::random_volume_key;
use crate::device::spread::spread;
use crate::{OsRandom, Result, Storage};
use keyway_crypto::{CipherSpec, Cpu, Hash, SectorCipher, SectorSize};
use keyway_format::interval::Interval;
use keyway_format::luks2::SegmentKind;
use keyway_format::luks2::reencryption::Backup;
use std::hint::black_box;
use std::time::{Duration, Instant};

/// What is known beside the plan.
#[derive(Debug, Clone, Copy)]
pub struct Setting {
    /// Length of the old volume key in bits.
    pub old_bits: u32,
    /// Length of the new volume key in bits.
    pub new_bits: u32,
    /// Bytes a second that are not to be exceeded.
    pub limit: Option<u64>,
}

/// Rates in bytes a second.
#[derive(Debug, Clone, PartialEq)]
pub struct Rates {
    /// Of the device, read by all cores.
    pub read: Interval,
    /// Of the device: not measured, but [`WRITE`] of `read`.
    pub write: Interval,
    /// Of the old cipher, on one core, with its name; `None` for plaintext.
    pub old: Option<(String, Interval)>,
    /// Of the new one.
    pub new: Option<(String, Interval)>,
    /// Of the hash that protects hot zones.
    pub hash: Option<(String, Interval)>,
    /// Cores that work side by side.
    pub cores: usize,
    /// Bytes that were read to measure.
    pub sampled: u64,
}

/// Measures for a few seconds, and reads only.
///
/// # Errors
/// The device cannot be read; a cipher that this build does not have.
pub fn measure(plan: &Plan, data: &dyn Storage, setting: &Setting) -> Result<Rates> {
    let what = plan.what();
    let (read, sampled) = reading(data)?;
    let hash = match what.resilience.checksum() {
        Some(checksum) => Some((checksum.hash.clone(), hashing(&checksum.hash, checksum.block as usize)?)),
        None => None,
    };
    Ok(Rates {
        read,
        write: writing(read),
        old: match plan.may_be() {
            [] => ciphering(&what.old, setting.old_bits, false)?,
            known => Some(one_of(known, setting.old_bits)?),
        },
        new: ciphering(&what.new, setting.new_bits, true)?,
        hash,
        cores: std::thread::available_parallelism().map_or(1, usize::from),
        sampled,
    })
}

/// The hot zones that such rates lead to, in bytes.
pub fn zone(plan: &Plan, rates: &Rates) -> u64 {
    let (first, most) = plan.zones();
    let wanted = rates.write.likely.min(rates.read.likely) * A_ZONES_TIME;
    (wanted as u64).clamp(first, most.max(first))
}

/// How many seconds it takes.
pub fn seconds(amounts: &Amounts, rates: &Rates, setting: &Setting) -> Interval {
    if amounts.left == 0 {
        return Interval::exact(0.0);
    }
    let per_core = |rate: &Option<(String, Interval)>| {
        let time = rate.as_ref().map(|(_, rate)| rate.under(amounts.left as f64));
        time.unwrap_or_default().times(1.0 / rates.cores.max(1) as f64)
    };
    let read = rates.read.under((amounts.written.min(amounts.read)) as f64);
    let write = rates.write.under((amounts.written + amounts.protection + amounts.headers) as f64);
    let flushes = FLUSH.times(amounts.zones as f64 * FLUSHES);
    let devices = read + write + flushes;
    let computed = per_core(&rates.old) + per_core(&rates.new) + per_core(&rates.hash);
    // Both overlap on several cores, never wholly.
    let total = Interval {
        low: devices.low.max(computed.low),
        likely: devices.likely.max(computed.likely) + devices.likely.min(computed.likely) / 2.0,
        high: devices.high + computed.high,
    };
    let limit = setting.limit.map_or(0.0, |rate| amounts.left as f64 / rate.max(1) as f64);
    Interval { low: total.low.max(limit), likely: total.likely.max(limit), high: total.high.max(limit) }
}

/// The share of its reading rate at which a device writes: less on most flash, as much on disks.
pub const WRITE: Interval = Interval { low: 0.25, likely: 0.6, high: 1.0 };

fn writing(read: Interval) -> Interval {
    Interval { low: read.low * WRITE.low, likely: read.likely * WRITE.likely, high: read.high * WRITE.high }
}

/// Reads samples spread over the device, each as a hot zone is read; the rate, and how many bytes were
/// read for it.
fn reading(data: &dyn Storage) -> Result<(Interval, u64)> {
    let io = |source| crate::Error::Io { what: "reading samples of the device".into(), source };
    let len = data.len();
    let sample = (len / SAMPLES).clamp(1, SAMPLE);
    let (started, mut times, mut sampled) = (Instant::now(), Vec::new(), 0);
    for number in 0..SAMPLES {
        let from = (len / SAMPLES * number) / 4096 * 4096;
        let range = from..len.min(from + sample);
        let chunks = range.clone().step_by(CHUNK as usize).map(|at| at..range.end.min(at + CHUNK));
        let start = Instant::now();
        spread(true, chunks, |chunk| {
            let mut buf = vec![0; (chunk.end - chunk.start) as usize];
            data.read_at(&mut buf, chunk.start)?;
            black_box(&buf);
            Ok(())
        })
        .map_err(io)?;
        let bytes = range.end - range.start;
        sampled += bytes;
        times.push(start.elapsed().as_secs_f64().max(1e-9) / bytes.max(1) as f64);
        if started.elapsed() > LONGEST && times.len() >= LEAST_SAMPLES {
            break;
        }
    }
    // Here a slow sample is no disturbance: parts of a device differ, and a seek is part of it.
    let mut rates: Vec<f64> = times.iter().map(|time| 1.0 / time).collect();
    rates.sort_by(f64::total_cmp);
    let mean = times.len() as f64 / times.iter().sum::<f64>();
    let (low, high) = (rates[rates.len() / 8], rates[rates.len() - 1 - rates.len() / 8]);
    Ok((Interval { low: low.min(mean) * 0.8, likely: mean, high: high.max(mean) * 1.1 }, sampled))
}

fn ciphering(side: &Backup, bits: u32, encrypts: bool) -> Result<Option<(String, Interval)>> {
    let SegmentKind::Crypt { encryption, sector_size, .. } = &side.segment.kind else { return Ok(None) };
    let rate = speed(encryption, SectorSize::new(*sector_size)?, bits, encrypts)?;
    Ok(Some((encryption.clone(), rate)))
}

/// Of a cipher that decrypts sectors of 512 bytes, and may be any of these: as fast as the first, which is the likeliest; in
/// the worst case as slow as the slowest.
fn one_of(ciphers: &[String], bits: u32) -> Result<(String, Interval)> {
    let rates = ciphers.iter().map(|cipher| speed(cipher, SectorSize::S512, bits, false));
    let rates = rates.collect::<Result<Vec<_>>>()?;
    let name = match ciphers {
        [only] => only.clone(),
        [first, ..] => format!("{first} (the likeliest of {})", ciphers.len()),
        [] => String::new(),
    };
    let widest = rates.iter().skip(1).fold(rates.first().copied().unwrap_or_default(), |all, rate| {
        Interval { low: all.low.min(rate.low), likely: all.likely, high: all.high.max(rate.high) }
    });
    Ok((name, widest))
}

fn speed(cipher: &str, sector: SectorSize, bits: u32, encrypts: bool) -> Result<Interval> {
    let spec = CipherSpec::parse(cipher)?;
    let key = random_volume_key(bits, &mut OsRandom)?;
    let cipher = SectorCipher::new(&spec, &key, sector, Cpu::detect())?;
    Ok(rate(&mut |buf| match encrypts {
        true => cipher.encrypt(0, buf),
        false => cipher.decrypt(0, buf),
    }))
}

fn hashing(name: &str, block: usize) -> Result<Interval> {
    let hash = Hash::parse(name)?;
    let mut sums = vec![0; (CHUNK as usize).div_ceil(block) * hash.output_len()];
    Ok(rate(&mut |buf| {
        hash.digest_pieces(buf, block, &mut sums);
        black_box(&sums);
    }))
}

/// Bytes a second that one core does.
fn rate(work: &mut dyn FnMut(&mut [u8])) -> Interval {
    let mut buf = vec![0x5a; CHUNK as usize];
    let started = Instant::now();
    let mut samples = Vec::new();
    while samples.len() < 3 || (started.elapsed() < COMPUTING && samples.len() < 200) {
        let start = Instant::now();
        work(&mut buf);
        samples.push(start.elapsed().as_secs_f64().max(1e-9) / buf.len() as f64);
    }
    let time = Interval::of_times(samples).unwrap_or(Interval::exact(1.0));
    // With all cores at work, each is slower.
    time.widened(1.0, 1.5).under(1.0)
}

/// Samples of the device.
const SAMPLES: u64 = 24;
const LEAST_SAMPLES: usize = 4;
/// Bytes of each.
const SAMPLE: u64 = 8 << 20;
/// Sampling ends after this.
const LONGEST: Duration = Duration::from_secs(4);
const COMPUTING: Duration = Duration::from_millis(100);
/// The seconds of a zone's work for which zones grow, about.
const A_ZONES_TIME: f64 = 0.35;
/// Waiting until something is on stable storage, in seconds: a good SSD, any SSD, a disk.
const FLUSH: Interval = Interval { low: 0.0002, likely: 0.003, high: 0.03 };
/// A zone waits for its protection, for two copies of the header twice, and for its data.
const FLUSHES: f64 = 6.0;

#[cfg(test)]
mod tests {
    use super::*;

    fn rates() -> Rates {
        let rate = |mib: f64| Interval::exact(mib * f64::from(1 << 20));
        Rates {
            read: rate(1000.0),
            write: rate(500.0),
            old: Some(("a".into(), rate(2000.0))),
            new: Some(("b".into(), rate(2000.0))),
            hash: None,
            cores: 2,
            sampled: 0,
        }
    }

    const SETTING: Setting = Setting { old_bits: 512, new_bits: 512, limit: None };

    #[test]
    fn seconds_are_those_of_the_devices_and_half_of_what_is_computed() {
        let left = 1000 << 20;
        let amounts = Amounts { left, read: left, written: left, protection: 0, headers: 0, zones: 0 };
        let time = seconds(&amounts, &rates(), &SETTING);
        // 1 s to read, 2 s to write, 0.5 s to compute on two cores.
        assert!((time.likely - 3.25).abs() < 1e-9 && (time.low - 3.0).abs() < 1e-9, "{time:?}");
        assert!((time.high - 3.5).abs() < 1e-9, "{time:?}");
        let limited = Setting { limit: Some(100 << 20), ..SETTING };
        assert_eq!(seconds(&amounts, &rates(), &limited), Interval::exact(10.0));
        let nothing = Amounts { left: 0, ..amounts };
        assert_eq!(seconds(&nothing, &rates(), &SETTING), Interval::exact(0.0));
        let zones = Amounts { zones: 100, ..amounts };
        assert!(seconds(&zones, &rates(), &SETTING).likely > time.likely + 1.0);
    }

    #[test]
    fn a_sample_reads_and_writes_nothing() {
        let storage = crate::device::storage::Memory::from(vec![7; 3 << 20]);
        let (rate, sampled) = reading(&storage).unwrap();
        assert!(rate.low > 0.0 && rate.low <= rate.likely && rate.likely <= rate.high, "{rate:?}");
        assert_eq!(sampled, 3 << 20);
        assert!(storage.to_vec() == vec![7; 3 << 20]);
        let none = crate::device::storage::Memory::zeroed(0);
        assert_eq!(reading(&none).unwrap().1, 0);
    }
}
