//! One kernel driver by its name: requests of up to 64 KiB under one IV, like those of `cryptsetup
//! benchmark`, one after another on one thread. The two system calls per request then cost little
//! in comparison.
//!
//! Keyway has no sectors of that length. Before the first sample the driver's output is compared
//! with Keyway's as in `keyway xray`; the output of each sample must then begin like Keyway's
//! sector and be identical to that of the previous sample.

use super::cipher::{FIRST, Worker, data, over_request};
use super::{missing, pattern};
use crate::Clock;
use crate::results::{DriverCase, Outcome, Settings};
use crate::rounds::Subject;
use keyway_crypto::SectorSize;
use keyway_kernel::{Algorithm, Checked, af_alg, check, reference};

pub(crate) fn prepare(case: &DriverCase, settings: &Settings, clock: &dyn Clock) -> Result<Subject, Outcome> {
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
    let mut key = vec![0; key_bytes];
    pattern(1, &mut key);
    let failed = |why: std::io::Error| Outcome::not_measured(format!("it does not accept such a key: {why}"));
    let cipher = af_alg::Algorithm::find(&case.driver).map_err(missing)?.key(&key).map_err(failed)?;
    let start = data(case.message as usize);
    let size = SectorSize::new(case.message.min(4096)).unwrap_or(SectorSize::S512);
    let ours = reference::cipher(&spec, &key, size).map_err(Outcome::impossible)?;
    let mut begins = start[..size.bytes().min(start.len())].to_vec();
    let direction = af_alg::Direction::from(case.direction);
    match direction {
        af_alg::Direction::Encrypt => ours.encrypt(FIRST, &mut begins),
        af_alg::Direction::Decrypt => ours.decrypt(FIRST, &mut begins),
    }
    let (iv, driver) = (reference::iv(&spec, FIRST), case.driver.clone());
    let pass = move |_, data: &mut [u8]| {
        let done = cipher.run(direction, &iv, data);
        done.map_err(|why| Outcome::not_measured(format!("{driver} fails: {why}")))
    };
    let worker = Worker {
        pass: Box::new(pass),
        code: case.driver.clone(),
        checked_by: format!("Keyway's code: {compared} outputs"),
        remedy: None,
        notes: Vec::new(),
    };
    over_request(worker, start, begins, settings, clock)
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
