//! One path's samples of one workload, and the row built from them.

use super::check::{Check, failed};
use super::cpu::{self, Whose};
use super::engine::{Job, Run};
use super::latency::Latencies;
use super::path::{Access, Engine, Path};
use super::subject::Turns;
use super::workload::{Bound, Workload};
use crate::results::{By, Measured, Outcome, Row, Settings, Unit};
use crate::stats::{self, SMALLEST, summarise};
use std::io;

/// What all paths have in common while a workload is measured.
#[derive(Clone, Copy)]
pub(super) struct Group<'a> {
    pub(super) turns: &'a Turns<'a>,
    pub(super) workload: Workload,
    pub(super) settings: &'a Settings,
}

/// A path with its samples.
pub(super) struct Lane<'a> {
    group: Group<'a>,
    /// The index of the path.
    pub(super) number: usize,
    path: &'a Path,
    /// The access and check to measure with, or the reason not to measure.
    pub(super) ready: Result<(&'a Access, &'a Check), Outcome>,
    samples: Vec<f64>,
    seconds: Vec<f64>,
    cpu: Option<f64>,
    bytes: u64,
    latencies: Latencies,
}

impl<'a> Lane<'a> {
    pub(super) fn new(group: Group<'a>, number: usize, check: &'a Result<Check, Outcome>) -> Self {
        let path = &group.turns.paths[number];
        let ready = match (&path.access, check) {
            (Err(outcome), _) | (_, Err(outcome)) => Err(outcome.clone()),
            (Ok(access), Ok(check)) => Ok((access, check)),
        };
        let (samples, seconds, latencies) = (Vec::new(), Vec::new(), Latencies::default());
        Self { group, number, path, ready, samples, seconds, cpu: Some(0.0), bytes: 0, latencies }
    }

    /// The seconds of start-up and exit around each of its runs.
    pub(super) fn start(&self) -> f64 {
        let by_fio = self.group.turns.fio.is_some() && matches!(self.path.engine, Engine::Fio(_));
        if by_fio { self.group.turns.fio_start } else { 0.0 }
    }

    pub(super) fn is_precise(&self) -> bool {
        let precision = || summarise(&self.samples).and_then(|summary| summary.precision());
        let wanted = self.group.settings.precision;
        self.samples.len() >= USUAL_SAMPLES && precision().is_some_and(|found| found <= wanted)
    }

    /// Takes a sample and checks the data; returns bytes per second.
    pub(super) fn sample(
        &mut self,
        (access, check): (&Access, &Check),
        round: u64,
        seconds: f64,
    ) -> Result<f64, Outcome> {
        let Group { turns, workload, .. } = self.group;
        if workload.reads() && turns.scratch.buffered_because().is_some() {
            turns.scratch.drop_caches().map_err(failed)?;
        }
        let before = Used::now(access.cpu);
        let run = self.work(access, round, seconds).map_err(failed)?;
        let used = before.since(access.cpu, run.cpu);
        if turns.keeps_data {
            check.look(access, turns.region, round)?;
        }
        self.cpu = self.cpu.zip(used).map(|(all, used)| all + used);
        self.bytes += run.bytes;
        self.seconds.push(run.seconds);
        self.latencies.add(&run.latencies);
        let per_second = |count: u64| count as f64 / run.seconds.max(1e-9);
        match workload.is_sequential() {
            true if run.parts.len() > 1 => self.samples.extend(&run.parts),
            true => self.samples.push(per_second(run.bytes)),
            false => self.samples.push(per_second(run.requests)),
        }
        Ok(per_second(run.bytes))
    }

    fn work(&self, access: &Access, seed: u64, seconds: f64) -> io::Result<Run> {
        let Group { turns, workload, .. } = self.group;
        let job = Job { workload, region: turns.region, seconds, seed, stop: turns.stop };
        let (Engine::Fio(node), Some(fio)) = (&self.path.engine, turns.fio) else {
            return job.run(&*access.view, turns.clock);
        };
        if workload.bound != Bound::Sustained {
            return fio.run(node, &job);
        }
        // Runs without a pause in between: fio reports whole runs only.
        let mut all = Run::default();
        for part in 0..USUAL_SAMPLES as u64 {
            let part = Job { seconds: seconds / USUAL_SAMPLES as f64, seed: seed + part, ..job };
            all.add(fio.run(node, &part)?);
        }
        Ok(all)
    }

    /// The row; `None` if the run was stopped before the first sample.
    pub(super) fn row(self, stopped: bool) -> Option<Row> {
        let Group { turns, workload, .. } = self.group;
        let case = self.path.case(&workload);
        let (access, check) = match &self.ready {
            Ok(ready) => *ready,
            Err(_) if stopped && self.path.access.is_ok() => return None,
            Err(outcome) => return Some(Row::new(case, outcome.clone())),
        };
        if self.samples.is_empty() {
            return None;
        }
        let unchecked = || "nothing: this device stores no data".to_owned();
        let measured = Measured {
            unit: if workload.is_sequential() { Unit::BytesPerSecond } else { Unit::RequestsPerSecond },
            sample_seconds: stats::median(&self.seconds).unwrap_or(0.0),
            checked: if turns.keeps_data { check.words() } else { unchecked() },
            code: check.code().filter(|_| self.path.by == By::Keyway),
            latency: self.latencies.points(),
            cpu_seconds_per_gb: self.cpu.map(|cpu| cpu / (self.bytes as f64 / 1e9)),
            notes: self.notes(access),
            samples: self.samples,
        };
        Some(Row::new(case, Outcome::Measured(measured)))
    }

    fn notes(&self, access: &Access) -> Vec<String> {
        let Group { turns, workload, settings } = self.group;
        let mut notes = access.notes.clone();
        if workload.writes() {
            notes.push(match self.path.engine {
                Engine::BuiltIn => "the time includes the final flush".into(),
                Engine::Fio(_) => "fio's time ends before the final flush".into(),
            });
        }
        if let Some(why) = turns.scratch.buffered_because() {
            notes.push(format!("through the page cache, dropped before every read: {why}"));
        }
        if access.cpu == Whose::Machine {
            notes.push("processor time is the whole machine's: the kernel's threads do the work".into());
        }
        if workload.bound == Bound::Sustained {
            notes.push("one run; samples are its parts, one after the other".into());
        } else if self.samples.len() < SMALLEST {
            let count = self.samples.len();
            notes.push(format!("{count} of the {SMALLEST} samples that an interval needs"));
        } else if !self.is_precise() {
            notes.push(crate::rounds::vague(settings));
        }
        notes
    }
}

/// Processor time at one moment.
struct Used {
    own: Option<f64>,
    counted: Option<f64>,
}

impl Used {
    fn now(whose: Whose) -> Self {
        Self { own: cpu::seconds(Whose::Own), counted: cpu::seconds(whose) }
    }

    /// The processor time used since then. Excludes fio's start-up and exit: `told` is the time
    /// that fio and this process used.
    fn since(&self, whose: Whose, told: Option<f64>) -> Option<f64> {
        let now = Self::now(whose);
        let (own, counted) = (now.own? - self.own?, now.counted? - self.counted?);
        Some(told.map_or(counted, |told| (counted - own).max(0.0) + told))
    }
}

/// As many samples give an interval whatever their distribution. There are fewer only if time is
/// short.
pub(super) const USUAL_SAMPLES: usize = stats::ORDERED;
