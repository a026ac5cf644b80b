//! Turns: a round of a workload is one sample on each path, in a different order each time. All
//! paths access the same bytes of the same disk, so neither the place on the disk nor other
//! activity of the machine favours one of them.
//!
//! Disks are slow, and how slow is known only after a while. A workload is measured if the fewest
//! rounds that give an interval fit into the remaining time with room for others; otherwise its row
//! says that they did not fit. Further rounds make the interval narrower as long as later workloads
//! keep the time for theirs.

use super::check::Check;
use super::lane::{Group, Lane, USUAL_SAMPLES};
use super::model;
use super::path::{Engine, Path};
use super::subject::Turns;
use super::workload::{Bound, SIZES_MIB, Workload};
use crate::results::{Outcome, Row, Settings};
use crate::rounds::Watcher;
use crate::stats::SMALLEST;
use std::collections::HashSet;

impl Turns<'_> {
    /// Measures all workloads. `rows` are the existing rows: those of ciphers in memory, and those
    /// of an earlier, stopped run, which are not measured again. Every new row goes to the watcher
    /// and is appended to `rows`.
    pub fn run(
        &self,
        workloads: &[Workload],
        settings: &Settings,
        mut rows: Vec<Row>,
        watcher: &mut dyn Watcher,
    ) -> Vec<Row> {
        let known: HashSet<String> = rows.iter().map(|row| row.id.clone()).collect();
        let is_new = |path: &Path, workload: &Workload| !known.contains(&path.case(workload).id());
        let any_new = |workload: &&Workload| self.paths.iter().any(|path| is_new(path, workload));
        let workloads: Vec<Workload> = workloads.iter().filter(any_new).copied().collect();
        if workloads.is_empty() {
            return rows;
        }
        let mut speeds = Speeds(vec![[Speed::expected(self.fill_speed); 2]; self.paths.len()]);
        let first_look = |path| if watcher.stopped() { Err(stopped()) } else { self.first_look(path) };
        let checks: Vec<Result<Check, Outcome>> = self.paths.iter().map(first_look).collect();
        for (done, workload) in workloads.iter().enumerate() {
            if watcher.stopped() {
                break;
            }
            // Workloads that do not fit on the storage take no time from the others.
            let has_room = |it: &&Workload| it.total().is_none_or(|total| total <= self.region);
            let total: f64 = workloads[done..].iter().filter(has_room).map(weight).sum();
            let left = self.deadline.saturating_sub(self.clock.now()).as_secs_f64();
            let is_first = workload.total() == Some(SIZES_MIB[0] << 20);
            let plan = Plan { left, share: left * weight(workload) / total.max(1.0), is_first };
            let group = Group { turns: self, workload: *workload, settings };
            let new = checks.iter().enumerate().filter(|(number, _)| is_new(&self.paths[*number], workload));
            let lanes = new.map(|(number, check)| Lane::new(group, number, check)).collect();
            let first = rows.len();
            rows.extend(Lanes { group, lanes }.measure(plan, &mut speeds, watcher));
            for i in first..rows.len() {
                let model = model::beside(&rows, self.cpus, &rows[i]);
                if let (Some(model), Outcome::Measured(measured)) = (model, &mut rows[i].outcome) {
                    measured.notes.push(model.to_string());
                }
                watcher.row(&rows[i]);
            }
        }
        rows
    }

    /// The fraction of the time that has passed.
    fn part(&self) -> f64 {
        let over = self.clock.now().saturating_sub(self.began).as_secs_f64();
        (over / self.deadline.saturating_sub(self.began).as_secs_f64().max(1e-9)).min(0.999)
    }

    /// Before the first sample: writes known bytes through the path and checks the storage below.
    fn first_look(&self, path: &Path) -> Result<Check, Outcome> {
        let access = path.access.as_ref().map_err(Clone::clone)?;
        let check = Check::new(path.encryption.as_ref())?;
        if self.keeps_data {
            check.witness(access, self.region)?;
        }
        Ok(check)
    }
}

/// The minimum seconds for one sample of everything, given fio's start-up time.
pub fn least_seconds(paths: &[Path], workloads: &[Workload], region: u64, fio_start: f64) -> f64 {
    let fits = |workload: &&Workload| workload.total().is_none_or(|total| total <= region.min(LARGEST_SURE));
    let paths = || paths.iter().filter(|path| path.access.is_ok());
    let one = |workload: &Workload| {
        let start = |path: &Path| {
            if matches!(path.engine, Engine::Fio(_)) { fio_start * starts(workload) } else { 0.0 }
        };
        let runs = match workload.bound {
            Bound::Bytes(_) => 0.0,
            Bound::Time => SAMPLE_SECONDS.0,
            Bound::Sustained => SUSTAINED_SECONDS.0,
        };
        paths().map(|path| start(path) + runs).sum::<f64>()
    };
    workloads.iter().filter(fits).map(one).sum()
}

/// Larger sizes may not fit into a short run anyway.
const LARGEST_SURE: u64 = 200 << 20;

/// How many times fio is started per sample.
fn starts(workload: &Workload) -> f64 {
    if workload.bound == Bound::Sustained { USUAL_SAMPLES as f64 } else { 1.0 }
}

/// How much of the time a workload gets.
fn weight(workload: &Workload) -> f64 {
    if workload.bound == Bound::Sustained { 3.0 } else { 1.0 }
}

fn stopped() -> Outcome {
    Outcome::not_measured("the run was stopped")
}

/// The time available to a workload, in seconds.
#[derive(Clone, Copy)]
struct Plan {
    left: f64,
    share: f64,
    /// Whether it is of the first size, without which a run says nothing.
    is_first: bool,
}

impl Plan {
    /// When a workload with this many rounds has used enough time to end.
    fn end(&self, rounds: usize) -> f64 {
        match rounds {
            // What was begun is to have an interval.
            0..SMALLEST => self.left,
            SMALLEST..USUAL_SAMPLES => self.share.max(self.left * FURTHER),
            _ => self.share,
        }
    }

    /// The most that the fewest rounds may take: what exceeds the share is taken from later ones.
    fn most(&self) -> f64 {
        if self.is_first { self.left } else { self.share.max(self.left * FIRST) }
    }
}

/// The largest part of the remaining time for the fewest rounds of one workload.
const FIRST: f64 = 1.0 / 3.0;
/// The largest part of it for the usual number of rounds.
const FURTHER: f64 = 1.0 / 8.0;

/// The speeds of the paths, of reads and of writes.
struct Speeds(Vec<[Speed; 2]>);

#[derive(Clone, Copy)]
struct Speed {
    bytes_per_second: f64,
    /// Whether a sample was that fast; otherwise it is what filling the storage was.
    seen: bool,
}

impl Speed {
    fn expected(bytes_per_second: f64) -> Self {
        Self { bytes_per_second, seen: false }
    }
}

impl Speeds {
    /// The seconds that a sample of `bytes` takes.
    fn seconds(&self, path: usize, workload: &Workload, bytes: u64) -> f64 {
        bytes as f64 / self.of(path, workload).bytes_per_second
    }

    /// The same if this path was seen to be that fast.
    fn known(&self, path: usize, workload: &Workload, bytes: u64) -> Option<f64> {
        self.of(path, workload).seen.then(|| self.seconds(path, workload, bytes))
    }

    fn of(&self, path: usize, workload: &Workload) -> Speed {
        self.0[path][usize::from(workload.writes())]
    }

    fn seen(&mut self, path: usize, workload: &Workload, bytes_per_second: f64) {
        if workload.is_sequential() {
            self.0[path][usize::from(workload.writes())] =
                Speed { bytes_per_second: bytes_per_second.max(1.0), seen: true };
        }
    }
}

/// One workload on all paths.
struct Lanes<'a> {
    group: Group<'a>,
    lanes: Vec<Lane<'a>>,
}

impl Lanes<'_> {
    fn measure(mut self, plan: Plan, speeds: &mut Speeds, watcher: &mut dyn Watcher) -> Vec<Row> {
        let Group { turns, workload, settings } = self.group;
        let start = turns.clock.now();
        let elapsed = || (turns.clock.now() - start).as_secs_f64();
        let length = self.length(plan);
        if let Err(outcome) = self.fits(plan, length, speeds) {
            for lane in self.lanes.iter_mut().filter(|lane| lane.ready.is_ok()) {
                let least = || workload.total().and_then(|bytes| speeds.known(lane.number, &workload, bytes));
                lane.ready = Err(match outcome.clone() {
                    Outcome::NotMeasured { reason, no_time: Some(_), .. } => {
                        Outcome::no_time(reason, least())
                    }
                    other => other,
                });
            }
        }
        let most = if workload.bound == Bound::Sustained { 1 } else { settings.most_samples as usize };
        for round in 0..most {
            let active = self.round(round, length, speeds, watcher);
            watcher.progress(turns.part(), &words(&workload));
            let next = elapsed() / (round + 1) as f64;
            if active == 0 || watcher.stopped() || elapsed() + next > plan.end(round + 1) {
                break;
            }
        }
        let stopped = watcher.stopped();
        self.lanes.into_iter().filter_map(|lane| lane.row(stopped)).collect()
    }

    fn ready(&self) -> impl Iterator<Item = &Lane<'_>> {
        self.lanes.iter().filter(|lane| lane.ready.is_ok())
    }

    /// The seconds of a round in which nothing is measured because fio starts or exits.
    fn starting(&self) -> f64 {
        self.ready().map(Lane::start).sum::<f64>() * starts(&self.group.workload)
    }

    /// The seconds of a sample that is not ended by a byte count.
    fn length(&self, plan: Plan) -> f64 {
        let ready = self.ready().count().max(1) as f64;
        let seconds = |rounds: f64| (plan.share / rounds - self.starting()) / ready;
        match self.group.workload.bound {
            Bound::Sustained => seconds(1.0).clamp(SUSTAINED_SECONDS.0, SUSTAINED_SECONDS.1),
            _ => seconds(USUAL_SAMPLES as f64).clamp(SAMPLE_SECONDS.0, SAMPLE_SECONDS.1),
        }
    }

    fn fits(&self, plan: Plan, length: f64, speeds: &Speeds) -> Result<(), Outcome> {
        let Group { turns, workload, .. } = &self.group;
        if workload.total().is_some_and(|total| total > turns.region) {
            return Err(Outcome::not_measured(&turns.region_because));
        }
        let left = plan.left;
        if left <= 0.0 {
            return Err(Outcome::no_time("--time was over", None));
        }
        let sample = |lane: &Lane<'_>| match workload.bound {
            Bound::Bytes(total) => speeds.seconds(lane.number, workload, total),
            Bound::Time | Bound::Sustained => length,
        };
        let rounds = if workload.bound == Bound::Sustained { 1 } else { SMALLEST };
        let all = (self.ready().map(sample).sum::<f64>() + self.starting()) * rounds as f64;
        if all <= plan.most() {
            return Ok(());
        }
        let (what, rounds) = (words(workload), if rounds == 1 { "a round" } else { "three rounds" });
        let reason = format!("{rounds} of {what} would take about {all:.1} s, but --time leaves {left:.1} s");
        Err(Outcome::no_time(reason, None))
    }

    /// Takes one sample on each path that needs one; returns how many.
    fn round(&mut self, round: usize, length: f64, speeds: &mut Speeds, watcher: &dyn Watcher) -> usize {
        let count = self.lanes.len();
        let mut active = 0;
        for i in (0..count).map(|i| (i + round) % count) {
            let lane = &mut self.lanes[i];
            if watcher.stopped() || lane.is_precise() {
                continue;
            }
            let Ok(ready) = lane.ready else { continue };
            active += 1;
            match lane.sample(ready, round as u64 + 1, length) {
                Ok(bytes_per_second) => speeds.seen(lane.number, &self.group.workload, bytes_per_second),
                Err(outcome) => lane.ready = Err(outcome),
            }
        }
        active
    }
}

/// "a sequential write of 50 MiB", "random reads of 4 KiB, 32 at once".
pub(super) fn words(workload: &Workload) -> String {
    let pattern = workload.pattern.to_string().replace('-', " ");
    match workload.bound {
        Bound::Bytes(bytes) => format!("{pattern} of {} MiB", bytes >> 20),
        Bound::Sustained => format!("sustained {pattern}"),
        Bound::Time => format!("{pattern} of {} KiB at depth {}", workload.block >> 10, workload.depth),
    }
}

/// The seconds of a sample that is ended by time: shorter samples would measure the start-up of
/// threads and fio.
const SAMPLE_SECONDS: (f64, f64) = (0.05, 2.0);
/// Seconds of a sustained run; a run of only a few seconds is sustained in name only, for lack of
/// time.
const SUSTAINED_SECONDS: (f64, f64) = (0.2, 120.0);
