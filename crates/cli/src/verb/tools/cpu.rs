//! The CPU that derives keys: this machine's, or the one of a rate file.

use crate::args::{Args, Kind, Opt, shared};
use crate::device::whole_file::{self, RESULTS};
use crate::output::failure::{Exit, Failure, Result};
use keyway::kdf_cost::UnlockTimes;
use keyway::parts::UnlockOptions;
use keyway::{Device, Machine, Prediction};
use keyway_boot::unlock_time::{Rates, Work};
use keyway_crypto::Hash;
use keyway_format::interval::Interval;
use keyway_measure::machine;
use keyway_measure::results::{By, Case, KdfCase, Measured, Outcome, Results, Unit};
use std::path::Path;

pub(crate) static RATE_FILE: Opt = Opt {
    long: "rate-file",
    short: None,
    value: "FILE",
    kind: Kind::Path,
    help: "Output of keyway bench kdf --json there.",
    man: "The target's CPU is then the one where it was measured. Any output of \"keyway bench --json\" with rows of \
          Keyway's own key derivation serves; for GRUB, the row of PBKDF2 with SHA-512.",
};

/// The limit of a sample, where a header is judged and nothing is opened.
pub(crate) static SAMPLE_BUDGET: Opt = Opt {
    long: shared::MEMORY_BUDGET.long,
    short: None,
    value: "SIZE",
    kind: Kind::Size,
    help: "Memory limit for the sample (256M).",
    man: "A keyslot is timed with the memory that it demands, up to this much: a hostile header may demand \
          all of it. Beyond that, the time is extrapolated. The default is 256 MiB.",
};

/// A CPU and what is known of its speed.
pub(crate) struct Cpu {
    /// Its name for itself, and where its rates come from.
    pub(crate) name: String,
    pub(crate) source: String,
    /// The memory of its machine in KiB, if that is known.
    pub(crate) memory_kib: Option<u64>,
    /// How many threads it runs at once.
    pub(crate) threads: usize,
    /// Its rates under Linux, if it is not this one.
    rates: Option<Rates>,
    /// The most memory in KiB that a sample of Argon2 takes here.
    most_kib: u32,
}

impl Cpu {
    /// The one of the rate file, else this machine's.
    pub(crate) fn from_args(args: &Args) -> Result<Self> {
        match args.path(&RATE_FILE) {
            Some(file) => Self::of_file(file),
            None => Ok(Self::here(SampleKib::from_args(args).0)),
        }
    }

    fn here(most_kib: u32) -> Self {
        let found = machine::look(Path::new("/"));
        let memory_kib = Some(found.memory_mib << 10).filter(|kib| *kib > 0);
        let (source, threads) = ("measured here, now".to_owned(), UnlockOptions::default().threads);
        Self { name: found.cpu, source, memory_kib, threads, rates: None, most_kib }
    }

    /// Whether it is this one.
    pub(crate) fn is_here(&self) -> bool {
        self.rates.is_none()
    }

    /// How fast that machine with this CPU computes these, and what other programs took of the time in which that was
    /// measured.
    pub(crate) fn rates(&self, machine: &Machine, works: &[Work]) -> (Rates, f64) {
        machine.rates(works, self.rates.as_ref(), self.most_kib)
    }

    /// What happens when the volume on `device` is opened by this program on this CPU.
    pub(crate) fn predict(&self, machine: &Machine, device: &Device) -> keyway::Result<Prediction> {
        match &self.rates {
            Some(rates) => device.predict_on(machine, rates),
            None => device.predict_within(machine, self.most_kib),
        }
    }

    fn of_file(path: &Path) -> Result<Self> {
        let refused =
            |why: String| Failure::new(Exit::Parameters, format!("Rate file {}: {why}.", path.display()));
        let text = whole_file::read_text(path, RESULTS).map_err(|error| refused(error.to_string()))?;
        let results = Results::parse(&text)
            .map_err(|error| refused(format!("line {}: {}", error.line, error.reason)))?;
        let rates = rates(&results).ok_or_else(|| {
            refused(
                "it has no rates of key derivation; \"keyway bench kdf --json >FILE\" measures them".into(),
            )
        })?;
        let memory_kib = Some(results.machine.memory_mib << 10).filter(|kib| *kib > 0);
        let source = format!("from {}, measured {}", path.display(), results.started);
        let most_kib = UnlockTimes::UNASKED_KIB;
        let threads = results.machine.cpus.max(1) as usize;
        Ok(Self { name: results.machine.cpu, source, memory_kib, threads, rates: Some(rates), most_kib })
    }
}

/// The most memory in KiB that a sample of Argon2 may take for a header that anybody can have written.
pub(crate) struct SampleKib(pub(crate) u32);

impl SampleKib {
    /// What --memory-budget allows, or what every look at a header may take.
    pub(crate) fn from_args(args: &Args) -> Self {
        let asked = args.number(&SAMPLE_BUDGET).map(|bytes| bytes / 1024);
        Self(asked.map_or(UnlockTimes::UNASKED_KIB, |kib| kib.try_into().unwrap_or(u32::MAX)))
    }
}

/// The rates in the results of a run; `None` if it has none.
fn rates(results: &Results) -> Option<Rates> {
    let mut rates = Rates { each_slot: Interval::exact(0.02), ..Rates::default() };
    let mut blocks_of: Vec<u32> = Vec::new();
    for row in &results.rows {
        let (Case::Kdf(case), Outcome::Measured(measured)) = (&row.case, &row.outcome) else { continue };
        let Some(rate) = rate(measured).filter(|_| case.by == By::Keyway) else { continue };
        match (measured.unit, &case.hash, case.memory_kib) {
            (Unit::IterationsPerSecond, Some(hash), _) if case.lanes == 1 => {
                let Some(known) = Hash::find(hash) else { continue };
                let blocks = blocks(case, known);
                if blocks > 1 {
                    rates.side_by_side.push((known.name().to_owned(), blocks.into(), rate));
                }
                let rate = rate.times(f64::from(blocks));
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
            (Unit::IterationsPerSecond, None, _) if case.kdf == BITLOCKER => rates.stretching = Some(rate),
            (Unit::PassesPerSecond, _, Some(memory_kib)) if case.kdf == ARGON2 => {
                let rate = rate.times(memory_kib.into());
                rates.argon2.add(memory_kib.into(), rate);
            }
            _ => {}
        }
    }
    let is_empty = rates.pbkdf2.is_empty() && rates.argon2.is_empty() && rates.stretching.is_none();
    (!is_empty).then_some(rates)
}

fn blocks(case: &KdfCase, hash: Hash) -> u32 {
    (case.key_bits / 8).div_ceil(hash.output_len() as u32).max(1)
}

/// The best of a row's samples, with their range.
fn rate(measured: &Measured) -> Option<Interval> {
    let times = measured.samples.iter().map(|rate| 1.0 / rate);
    Some(Interval::of_times(times)?.widened(LIKE, 1.0 / LIKE).under(1.0))
}

const ARGON2: &str = "argon2id";
const BITLOCKER: &str = "bitlocker";
/// How far the same machine may be off on another day.
const LIKE: f64 = 0.95;
