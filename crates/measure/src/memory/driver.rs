//! One kernel driver by its name: requests of up to 64 KiB under one IV, like those of `cryptsetup
//! benchmark`, one after another on one thread. The two system calls per request then cost little
//! in comparison.
//!
//! Keyway has no sectors of that length. Before the first sample the driver's output is compared
//! with Keyway's as in `keyway xray`; the output of each sample must then begin like Keyway's
//! sector and be identical to that of the previous sample.

use super::{missing, pattern};
use crate::Clock;
use crate::results::{DriverCase, Outcome, Settings, Unit, right};
use crate::rounds::{Sample, Subject, passes};
use keyway_crypto::{CipherSpec, SectorSize};
use keyway_kernel::{Algorithm, Checked, af_alg, check, reference};

struct Driver {
    case: DriverCase,
    cipher: af_alg::Cipher,
    iv: Vec<u8>,
    /// The data that every sample starts from.
    start: Vec<u8>,
    /// The expected start of the result of one pass.
    begins: Vec<u8>,
    /// The expected result of all passes of a sample; known after the first sample.
    all: Option<Vec<u8>>,
    passes: u32,
}

pub(super) fn prepare(case: &DriverCase, settings: &Settings, clock: &dyn Clock) -> Result<Subject, Outcome> {
    let algorithm = Algorithm::parse(&case.algorithm);
    let key_bytes = case.key_bits as usize / 8;
    let compared = match check(&case.driver, &algorithm, (key_bytes, key_bytes)) {
        Checked::Right(compared) => compared,
        Checked::Wrong(wrong) => return Err(Outcome::Wrong((*wrong).into())),
        Checked::NotChecked(why) => return Err(missing(why)),
        Checked::Failed(why) => return Err(Outcome::not_measured(why)),
    };
    let spec = reference::spec(&algorithm)
        .ok_or_else(|| Outcome::not_measured(format!("Keyway has no {algorithm} to compare it with")))?;
    let mut driver = Driver::new(case, &spec)?;
    let before = clock.now();
    driver.check("before the first sample")?;
    driver.passes = passes(clock.now().saturating_sub(before), settings.sample_seconds);
    let bytes = driver.begins.len();
    Ok(Subject {
        sample: Box::new(move |clock| driver.sample(clock)),
        unit: Unit::BytesPerSecond,
        checked: format!(
            "Keyway's code: {compared} outputs before the first sample, {bytes} bytes before and after each"
        ),
        code: Some(case.driver.clone()),
        least_samples: None,
        notes: Vec::new(),
    })
}

/// The longest request whose output can be compared: if no block depends on later blocks, as long
/// as cryptsetup's.
pub(crate) fn longest_request(algorithm: &Algorithm) -> u32 {
    let mode = match &algorithm.of[..] {
        [inner, _] if algorithm.name == "essiv" => &inner.name,
        _ => &algorithm.name,
    };
    if NARROW.contains(&&mode[..]) { 65_536 } else { 4096 }
}

/// Modes in which the beginning of a long request equals the result of a short one.
const NARROW: [&str; 8] = ["xts", "cbc", "ctr", "ecb", "pcbc", "cfb", "ofb", "lrw"];

impl Driver {
    fn new(case: &DriverCase, spec: &CipherSpec) -> Result<Self, Outcome> {
        let mut key = vec![0; case.key_bits as usize / 8];
        pattern(1, &mut key);
        let failed =
            |why: std::io::Error| Outcome::not_measured(format!("it does not accept such a key: {why}"));
        let cipher = af_alg::Algorithm::find(&case.driver).map_err(missing)?.key(&key).map_err(failed)?;
        let mut start = vec![0; case.message as usize];
        pattern(2, &mut start);
        let ours = |size| reference::cipher(spec, &key, size);
        let size = SectorSize::new(case.message.min(4096)).unwrap_or(SectorSize::S512);
        let ours = ours(size).map_err(Outcome::impossible)?;
        let mut begins = start[..size.bytes().min(start.len())].to_vec();
        match case.direction.into() {
            af_alg::Direction::Encrypt => ours.encrypt(SECTOR, &mut begins),
            af_alg::Direction::Decrypt => ours.decrypt(SECTOR, &mut begins),
        }
        let iv = reference::iv(spec, SECTOR);
        Ok(Self { case: case.clone(), cipher, iv, start, begins, all: None, passes: 1 })
    }

    fn pass(&self, data: &mut [u8]) -> Result<(), Outcome> {
        let done = self.cipher.run(self.case.direction.into(), &self.iv, data);
        done.map_err(|why| Outcome::not_measured(format!("{} fails: {why}", self.case.driver)))
    }

    fn check(&self, during: &str) -> Result<(), Outcome> {
        let mut data = self.start.clone();
        self.pass(&mut data)?;
        right(&self.begins, &data[..self.begins.len()], during)
    }

    fn sample(&mut self, clock: &dyn Clock) -> Result<Sample, Outcome> {
        self.check("before timing")?;
        let mut data = self.start.clone();
        let before = clock.now();
        for _ in 0..self.passes {
            self.pass(&mut data)?;
        }
        let seconds = clock.now().saturating_sub(before).as_secs_f64().max(1e-9);
        let bytes = data.len() as f64 * f64::from(self.passes);
        right(self.all.get_or_insert_with(|| data.clone()), &data, "the timed work")?;
        self.check("after timing")?;
        Ok(Sample { value: bytes / seconds, seconds })
    }
}

/// The sector whose IV all requests use.
const SECTOR: u64 = (1 << 32) + 8;
