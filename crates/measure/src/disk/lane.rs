//! One path's samples of one workload, and the row built from them.

use super::check::{Check, failed};
use super::cpu::{self, Whose};
use super::engine::{Job, Run};
use super::fio::Extent;
use super::latency::Latencies;
use super::path::{Access, Engine, Path};
use super::turns::Turns;
use super::workload::{Bound, Workload};
use crate::results::{By, Measured, Outcome, Row, Settings, Unit};
use crate::stats::{self, summarise};
use std::io;

/// A path with its samples.
pub(super) struct Lane<'a> {
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
    pub(super) fn new(
        number: usize,
        path: &'a Path,
        ready: Result<(&'a Access, &'a Check), Outcome>,
    ) -> Self {
        Self {
            number,
            path,
            ready,
            samples: Vec::new(),
            seconds: Vec::new(),
            cpu: Some(0.0),
            bytes: 0,
            latencies: Latencies::new(),
        }
    }

    /// The seconds of start-up and exit around each of its runs.
    pub(super) fn start(&self, turns: &Turns<'_>) -> f64 {
        let by_fio = turns.fio.is_some() && matches!(self.path.engine, Engine::Fio(_));
        if by_fio { turns.fio_start } else { 0.0 }
    }

    pub(super) fn is_precise(&self, settings: &Settings) -> bool {
        let precision = || summarise(&self.samples).and_then(|summary| summary.precision());
        self.samples.len() >= LEAST_SAMPLES && precision().is_some_and(|found| found <= settings.precision)
    }

    /// Takes a sample and checks the data; returns bytes per second.
    pub(super) fn sample(
        &mut self,
        turns: &Turns<'_>,
        workload: &Workload,
        access: &Access,
        check: &Check,
        (round, length): (usize, f64),
    ) -> Result<f64, Outcome> {
        if workload.reads() && turns.scratch.buffered_because().is_some() {
            turns.scratch.drop_caches().map_err(failed)?;
        }
        let before = Used::now(access.cpu);
        let run = self.work(turns, workload, access, round as u64 + 1, length).map_err(failed)?;
        let used = before.since(access.cpu, run.cpu);
        if turns.keeps_data {
            check.look(&*access.view, &*access.below, turns.region, round as u64 + 1)?;
        }
        self.cpu = self.cpu.zip(used).map(|(all, used)| all + used);
        self.bytes += run.bytes;
        self.seconds.push(run.seconds);
        self.latencies.add(&run.latencies);
        let speed = run.bytes as f64 / run.seconds.max(1e-9);
        match workload.is_sequential() {
            true if run.parts.len() > 1 => self.samples.extend(&run.parts),
            true => self.samples.push(speed),
            false => self.samples.push(run.requests as f64 / run.seconds.max(1e-9)),
        }
        Ok(speed)
    }

    fn work(
        &self,
        turns: &Turns<'_>,
        workload: &Workload,
        access: &Access,
        seed: u64,
        seconds: f64,
    ) -> io::Result<Run> {
        let (node, fio) = match (&self.path.engine, turns.fio) {
            (Engine::Fio(node), Some(fio)) => (node, fio),
            _ => {
                let storage = &*access.view;
                let job = Job {
                    storage,
                    workload: *workload,
                    region: turns.region,
                    seconds,
                    seed,
                    stop: turns.stop,
                };
                return job.run(turns.clock);
            }
        };
        if workload.bound != Bound::Sustained {
            return fio.run(node, *workload, Extent { region: turns.region, seconds, seed }, turns.stop);
        }
        // Runs without a pause in between: fio reports whole runs only.
        let mut all = Run::default();
        for part in 0..LEAST_SAMPLES as u64 {
            let extent =
                Extent { region: turns.region, seconds: seconds / LEAST_SAMPLES as f64, seed: seed + part };
            all.add(fio.run(node, *workload, extent, turns.stop)?);
        }
        Ok(all)
    }

    /// The row; `None` if the run was stopped before the first sample.
    pub(super) fn row(
        self,
        turns: &Turns<'_>,
        workload: &Workload,
        settings: &Settings,
        stopped: bool,
    ) -> Option<Row> {
        let case = self.path.case(workload);
        let (access, check) = match &self.ready {
            Ok(ready) => *ready,
            Err(_) if stopped && self.path.access.is_ok() => return None,
            Err(outcome) => return Some(Row::new(case, outcome.clone())),
        };
        if self.samples.is_empty() {
            return None;
        }
        let gigabytes = self.bytes as f64 / 1e9;
        let notes = self.notes(turns, workload, access, settings);
        let measured = Measured {
            unit: if workload.is_sequential() { Unit::BytesPerSecond } else { Unit::RequestsPerSecond },
            sample_seconds: stats::median(&self.seconds).unwrap_or(0.0),
            samples: self.samples,
            checked: if turns.keeps_data {
                check.words()
            } else {
                "nothing: this device stores no data".into()
            },
            code: (self.path.by == By::Keyway).then(|| check.code()).flatten(),
            latency: self.latencies.points(),
            cpu_seconds_per_gb: self.cpu.map(|cpu| cpu / gigabytes),
            notes,
        };
        Some(Row::new(case, Outcome::Measured(measured)))
    }

    fn notes(
        &self,
        turns: &Turns<'_>,
        workload: &Workload,
        access: &Access,
        settings: &Settings,
    ) -> Vec<String> {
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
        } else if self.samples.len() < LEAST_SAMPLES {
            notes.push(format!("{} samples: fewer than six give no interval", self.samples.len()));
        } else if !self.is_precise(settings) {
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

/// Fewer samples give no 95 % interval.
pub(super) const LEAST_SAMPLES: usize = 6;
