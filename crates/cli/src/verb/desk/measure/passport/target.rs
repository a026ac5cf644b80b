//! The machine that unlocks, and how fast it derives keys.

use super::options::{TARGET, wrong};
use crate::device::whole_file::{self, RESULTS};
use crate::say::failure::{Exit, Failure, Result};
use keyway_boot::loader::grub::Version;
use keyway_boot::unlock_time::{Board, Place, Rates, Work, Yardstick};
use keyway_crypto::Hash;
use keyway_format::luks2::Kdf;
use keyway_measure::results::{By, Case, Outcome, Results, Unit};
use keyway_measure::stats::Summary;
use keyway_volume::UnlockTimes;
use std::path::Path;

/// The machine that unlocks.
pub(super) struct Target {
    /// A description.
    pub(super) title: String,
    /// The version of GRUB, if the loader is GRUB.
    pub(super) grub: Option<Version>,
    /// Known rates; otherwise they are measured on this machine.
    rates: Option<Rates>,
    board: Option<&'static Board>,
}

impl Target {
    /// The target of that name; its CPU is that of the results file, if there is one.
    pub(super) fn named(name: &str, file: Option<&Path>) -> Result<Self> {
        let rates = file.map(from_file).transpose()?;
        let on = match file {
            Some(file) => format!("on the CPU of {}", file.display()),
            None => "on a CPU like this one".to_owned(),
        };
        if let Some(version) = name.strip_prefix("grub-") {
            let Some(version) = Version::parse(version) else {
                return Err(wrong(&TARGET, name, "there are grub-2.06, grub-2.12 and grub-2.14"));
            };
            return Ok(Self {
                title: format!("GRUB {version} in firmware, {on}"),
                grub: Some(version),
                rates,
                board: None,
            });
        }
        if name == "linux" {
            return Ok(Self { title: format!("Linux {on}"), grub: None, rates, board: None });
        }
        match Board::find(name) {
            Some(board) => Ok(Self { title: board.title.to_owned(), grub: None, rates, board: Some(board) }),
            None => Err(wrong(
                &TARGET,
                name,
                "there are grub-2.06, grub-2.12, grub-2.14, linux, pi3 and pi4; for another machine run \
                 \"keyway bench kdf --json >rates.json\" there and give --rate-file rates.json",
            )),
        }
    }

    /// Its rates for these derivations.
    pub(super) fn rates(&self, works: &[&Work], times: &mut UnlockTimes) -> Rates {
        let rates = match (&self.rates, self.board) {
            (Some(rates), _) => rates.clone(),
            (None, Some(board)) => board.rates(),
            (None, None) => here(works, times, self.grub.is_some()),
        };
        let Some(version) = self.grub else { return rates };
        let sha512 = rates.pbkdf2.iter().find(|(hash, _)| hash == "sha512").map_or(0.0, |(_, rate)| *rate);
        Yardstick { sha512, argon2_one_lane: rates.argon2 }.grub(version, Place::Firmware)
    }
}

/// This machine's rates for the hashes that occur; for GRUB, with one lane of Argon2. SHA-512 and
/// SHA-256 are always included.
fn here(works: &[&Work], times: &mut UnlockTimes, one_lane: bool) -> Rates {
    let mut rates = Rates { each_slot: 0.01, ..Rates::default() };
    let hashes = works.iter().filter_map(|work| match work {
        Work::Pbkdf2 { hash, .. } => Some(hash.as_str()),
        Work::Argon2 { .. } => None,
    });
    for name in hashes.chain(["sha512", "sha256"]) {
        let known = rates.pbkdf2.iter().any(|(known, _)| known == name);
        let Some(hash) = Hash::find(name).filter(|_| !known) else { continue };
        if let Ok(time) = times.of_pbkdf2(hash, SAMPLE, hash.output_len()) {
            rates.pbkdf2.push((name.to_owned(), f64::from(SAMPLE) / time.as_secs_f64().max(1e-9)));
        }
    }
    for work in works {
        let Work::Argon2 { time, memory_kib, lanes } = work else { continue };
        let lanes = if one_lane { 1 } else { *lanes as u32 };
        let kdf =
            Kdf::Argon2id { time: *time as u32, memory_kib: *memory_kib as u32, lanes, salt: Vec::new() };
        let took = times.of_kdf(&kdf, 64).ok().map(|took| took.as_secs_f64().max(1e-9));
        let rate = took.map(|took| *time as f64 * *memory_kib as f64 / took);
        // The slowest of several rates, so that the prediction is not too optimistic.
        rates.argon2 = match (rates.argon2, rate) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        };
    }
    rates
}

/// The rates in a results file.
fn from_file(path: &Path) -> Result<Rates> {
    let refused =
        |why: String| Failure::new(Exit::Parameters, format!("Rate file {}: {why}.", path.display()));
    let text = whole_file::read_text(path, RESULTS).map_err(|error| refused(error.to_string()))?;
    let results =
        Results::parse(&text).map_err(|error| refused(format!("line {}: {}", error.line, error.reason)))?;
    let mut rates = Rates { each_slot: 0.02, ..Rates::default() };
    let mut blocks_of: Vec<u32> = Vec::new();
    for row in &results.rows {
        let (Case::Kdf(case), Outcome::Measured(measured)) = (&row.case, &row.outcome) else { continue };
        let Some(summary) = Summary::of(measured).filter(|_| case.by == By::Keyway) else { continue };
        match (measured.unit, &case.hash, case.memory_kib) {
            (Unit::IterationsPerSecond, Some(hash), _) if case.lanes == 1 => {
                let Some(known) = Hash::find(hash) else { continue };
                let blocks = (case.key_bits / 8).div_ceil(known.output_len() as u32).max(1);
                let rate = summary.median * f64::from(blocks);
                // Several blocks are derived in parallel: the row with the fewest blocks tells what
                // one takes.
                match rates.pbkdf2.iter().position(|(name, _)| name == known.name()) {
                    Some(at) if blocks < blocks_of[at] => {
                        rates.pbkdf2[at].1 = rate;
                        blocks_of[at] = blocks;
                    }
                    Some(_) => {}
                    None => {
                        rates.pbkdf2.push((known.name().to_owned(), rate));
                        blocks_of.push(blocks);
                    }
                }
            }
            (Unit::PassesPerSecond, _, Some(memory_kib)) if case.kdf == ARGON2 => {
                let rate = summary.median * f64::from(memory_kib);
                rates.argon2 = Some(rates.argon2.map_or(rate, |known| known.min(rate)));
            }
            _ => {}
        }
    }
    match rates.pbkdf2.is_empty() && rates.argon2.is_none() {
        true => Err(refused(
            "it has no rates of key derivation; \"keyway bench kdf --json >FILE\" measures them".into(),
        )),
        false => Ok(rates),
    }
}

const SAMPLE: u32 = 100_000;
const ARGON2: &str = "argon2id";
