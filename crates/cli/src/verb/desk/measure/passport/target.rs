//! The machine that unlocks, and how fast it derives keys.

use super::options::{TARGET, wrong};
use crate::device::whole_file::{self, RESULTS};
use crate::say::failure::{Exit, Failure, Result};
use keyway::{Device, Machine, Prediction};
use keyway_boot::loader::grub::Version;
use keyway_boot::unlock_time::Rates;
use keyway_crypto::Hash;
use keyway_measure::results::{By, Case, Outcome, Results, Unit};
use keyway_measure::stats::Summary;
use std::path::Path;

/// The machine that unlocks.
pub(super) struct Target {
    /// A description.
    pub(super) title: String,
    machine: Machine,
    /// The rates of its CPU under Linux, if it is another than this one.
    cpu: Option<Rates>,
}

impl Target {
    /// The target of that name; its CPU is that of the results file, if there is one.
    pub(super) fn named(name: &str, file: Option<&Path>) -> Result<Self> {
        let cpu = file.map(from_file).transpose()?;
        let on = match file {
            Some(file) => format!("on the CPU of {}", file.display()),
            None => "on a CPU like this one".to_owned(),
        };
        if let Some(version) = name.strip_prefix("grub-") {
            let Some(version) = Version::parse(version) else {
                return Err(wrong(&TARGET, name, "there are grub-2.06, grub-2.12 and grub-2.14"));
            };
            let title = format!("GRUB {version} in firmware, {on}");
            return Ok(Self { title, machine: Machine::grub(version.into()), cpu });
        }
        let machine = Machine::find(name).ok_or_else(|| {
            let others = "there are grub-2.06, grub-2.12, grub-2.14, linux, pi3 and pi4; for another machine run \
                          \"keyway bench kdf --json >rates.json\" there and give --rate-file rates.json";
            wrong(&TARGET, name, others)
        })?;
        let title = if machine == Machine::here() { format!("Linux {on}") } else { machine.to_string() };
        Ok(Self { title, machine, cpu })
    }

    /// What happens when the volume on `device` is opened there.
    pub(super) fn predict(&self, device: &Device) -> keyway::Result<Prediction> {
        match &self.cpu {
            Some(rates) => device.predict_on(&self.machine, rates),
            None => device.predict(&self.machine),
        }
    }
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

const ARGON2: &str = "argon2id";
