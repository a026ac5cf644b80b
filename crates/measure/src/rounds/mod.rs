//! Rounds: every case of a batch once, then every case again. A temporary disturbance of the
//! machine affects all cases, and a slow drift of the clock frequency does not look like a
//! difference between two ciphers.
//!
//! A case is measured until the 95 % interval of its median is narrow enough, or its share of the
//! time is used up. The interval is checked only every few rounds: checking after each sample and
//! stopping at the first good result would bias the result.
//!
//! `--time` is a bound: at its end a row has the samples that there are, or the reason why there
//! are too few.

mod bound;
mod length;

pub(crate) use bound::fits;
pub use bound::usual_seconds;
pub(crate) use length::fewest_passes;
pub use length::{passes, settings};

use crate::Clock;
use crate::results::{Case, Measured, Outcome, Results, Row, Settings, Unit, Wrong};
use crate::stats::{self, SMALLEST, summarise};
use crate::suite::Listed;
use bound::Bound;
use length::FEWEST;

/// One sample.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Sample {
    /// The value in the subject's unit.
    pub value: f64,
    /// The duration in seconds.
    pub seconds: f64,
}

/// Something that can be sampled.
pub struct Subject {
    /// Checks the output, takes a sample, checks again. Wrong output, or any reason that prevents
    /// the measurement, ends the case.
    pub sample: Box<TakeSample>,
    /// The unit of a sample.
    pub unit: Unit,
    /// How the output is checked.
    pub checked: String,
    /// The code that runs, if known.
    pub code: Option<String>,
    /// The fewest samples, if one takes so long that the usual number is impractical.
    pub least_samples: Option<u32>,
    /// How long a sample takes in seconds, if that is known; otherwise about as long as preparing.
    pub sample_seconds: Option<f64>,
    /// Notes for readers.
    pub notes: Vec<String>,
}

/// Takes one sample.
pub type TakeSample = dyn FnMut(&dyn Clock) -> Result<Sample, Outcome>;

/// Prepares a case: keys, warm-up, and the number of passes per sample. The last argument is how
/// many seconds are left for that and for samples. Returns the outcome if there is nothing to
/// measure, or if that would take longer.
pub type Prepare<'a> = dyn Fn(&Case, &Settings, &dyn Clock, f64) -> Result<Subject, Outcome> + 'a;

/// An observer of a run.
pub trait Watcher {
    /// Called when a case has its row.
    fn row(&mut self, row: &Row);

    /// Called before a case is prepared, which may take seconds.
    fn preparing(&mut self, _case: &Case) {}

    /// Called after each round with the fraction done and the current case.
    fn progress(&mut self, part: f64, case: &str);

    /// Whether to stop now.
    fn stopped(&self) -> bool;
}

/// Whether a case has its turn in a round.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Turn {
    /// It takes a sample now.
    Now,
    /// It takes a sample only if no other case does.
    Later,
    /// It has enough samples.
    Over,
}

/// Runs a round: one sample of each case whose turn it is, until the run is stopped. Returns the
/// number of samples.
pub fn round<T>(
    all: &mut [T],
    turn: impl Fn(&T) -> Turn,
    stopped: impl Fn() -> bool,
    mut sample: impl FnMut(&mut T),
) -> usize {
    let nobody_now = all.iter().all(|one| turn(one) != Turn::Now);
    let mut taken = 0;
    for one in all {
        match turn(one) {
            Turn::Over => continue,
            Turn::Later if !nobody_now => continue,
            _ if stopped() => break,
            _ => sample(one),
        }
        taken += 1;
    }
    taken
}

/// Measures everything in the list, batch by batch, in the list's order. Ends early if the watcher
/// stops it: cases that were not measured well enough then have no row.
pub fn run(
    listed: &[Listed],
    settings: &Settings,
    clock: &dyn Clock,
    prepare: &Prepare<'_>,
    watcher: &mut dyn Watcher,
) {
    let (start, total) = (clock.now(), listed.len());
    for (number, batch) in listed.chunks(BATCH).enumerate() {
        if watcher.stopped() {
            return;
        }
        let done = number * BATCH;
        // Time that earlier batches did not use goes to later ones.
        let left = settings.time_seconds.map(|all| all - (clock.now() - start).as_secs_f64());
        let share = left.map(|left| left.max(0.0) * batch.len() as f64 / (total - done) as f64);
        let limit = share.unwrap_or(CASE_SECONDS * batch.len() as f64);
        let mut bound = Bound::after(clock, share);
        let mut lanes = Vec::new();
        for it in batch {
            watcher.preparing(&it.case);
            lanes.push(Lane::prepare(it, settings, clock, &mut bound, prepare, watcher.stopped()));
        }
        Batch { lanes, clock, limit, bound, done, total }.measure(watcher);
    }
}

/// The number of cases that take turns. With more, the samples of each come from more of the run,
/// so that other load lasting some seconds spoils a few samples of every case instead of all
/// samples of a few; with fewer, rows come sooner.
const BATCH: usize = 100;
/// The time that a case may take if no limit was given, in seconds.
const CASE_SECONDS: f64 = 0.5;
/// The number of rounds after which intervals are checked again.
const ROUNDS_A_LOOK: usize = 10;

/// Cases that take turns.
struct Batch<'a> {
    lanes: Vec<Lane<'a>>,
    clock: &'a dyn Clock,
    /// Its share of the time, in seconds.
    limit: f64,
    /// When it ends, whatever is not known by then.
    bound: Bound,
    /// The number of cases before it, and of all.
    done: usize,
    total: usize,
}

/// A case with its samples.
struct Lane<'a> {
    case: &'a Case,
    settings: &'a Settings,
    subject: Option<Subject>,
    samples: Vec<Sample>,
    outcome: Option<Outcome>,
    least: usize,
    /// How long the next sample is expected to take, in seconds.
    expected: f64,
    /// Whether there is no time for another one.
    late: bool,
    /// Whether its row has been emitted.
    closed: bool,
}

impl Batch<'_> {
    fn measure(mut self, watcher: &mut dyn Watcher) {
        let (clock, bound) = (self.clock, self.bound);
        let (start, limit) = (clock.now(), self.limit.max(1e-9));
        let spent = || (clock.now() - start).as_secs_f64() / limit;
        let ready = || self.lanes.iter().filter(|lane| lane.subject.is_some());
        let kept = bound.kept(start, ready().map(|lane| lane.expected));
        self.lanes
            .iter_mut()
            .filter(|lane| lane.subject.is_some())
            .skip(kept)
            .for_each(|lane| lane.late = true);
        let mut part = spent();
        for number in 1.. {
            let turn = |lane: &Lane<'_>| lane.turn(number, part);
            let active = round(&mut self.lanes, turn, || watcher.stopped(), |lane| lane.sample(clock, bound));
            if active == 0 || watcher.stopped() {
                break;
            }
            for lane in self.lanes.iter_mut().filter(|lane| !lane.wants_more(number + 1, part)) {
                lane.close(false, watcher);
            }
            part = spent();
            let known = self.lanes.iter().map(|lane| lane.progress(part)).sum::<f64>();
            watcher.progress((self.done as f64 + known) / self.total as f64, &self.lanes[0].case.id());
        }
        let stopped = watcher.stopped();
        self.lanes.iter_mut().for_each(|lane| lane.close(stopped, watcher));
    }
}

impl<'a> Lane<'a> {
    fn prepare(
        listed: &'a Listed,
        settings: &'a Settings,
        clock: &dyn Clock,
        bound: &mut Bound,
        prepare: &Prepare<'_>,
        stopped: bool,
    ) -> Self {
        let (case, least) = (&listed.case, settings.least_samples as usize);
        let mut lane = Self {
            case,
            settings,
            subject: None,
            samples: Vec::new(),
            outcome: listed.outcome.clone(),
            least,
            expected: 0.0,
            late: false,
            closed: false,
        };
        if lane.outcome.is_some() || stopped {
            return lane;
        }
        match lane.prepared(clock, bound, prepare) {
            Ok(subject) => lane.subject = Some(subject),
            Err(outcome) => lane.outcome = Some(outcome),
        }
        lane
    }

    fn prepared(
        &mut self,
        clock: &dyn Clock,
        bound: &mut Bound,
        prepare: &Prepare<'_>,
    ) -> Result<Subject, Outcome> {
        let before = clock.now();
        let left = bound.left(before);
        if left <= 0.0 {
            return Err(bound::over(0));
        }
        let subject = prepare(self.case, self.settings, clock, left)?;
        let now = clock.now();
        self.expected = subject.sample_seconds.unwrap_or((now - before).as_secs_f64());
        bound.promise(now, self.expected)?;
        self.least = subject.least_samples.unwrap_or(self.settings.least_samples) as usize;
        Ok(subject)
    }

    /// Whether the case needs more samples, given the fraction of the time spent.
    fn wants_more(&self, round: usize, spent: f64) -> bool {
        if self.closed || self.late || self.outcome.is_some() || self.subject.is_none() {
            return false;
        }
        let count = self.samples.len();
        let look = (round - 1).is_multiple_of(ROUNDS_A_LOOK) || count == self.least;
        let enough = spent > 1.0 || count >= self.settings.most_samples as usize;
        count < self.least || !(enough || look && self.is_precise())
    }

    /// Whether it is the case's turn. A case whose samples take seconds would leave no time for the
    /// others: its few samples are spread over the run.
    fn turn(&self, round: usize, spent: f64) -> Turn {
        let slow = self.subject.as_ref().is_some_and(|subject| subject.least_samples.is_some());
        match self.wants_more(round, spent) {
            false => Turn::Over,
            true if slow && self.samples.len() as f64 > spent * self.least as f64 => Turn::Later,
            true => Turn::Now,
        }
    }

    /// The progress of the case, given the fraction of the time spent.
    fn progress(&self, spent: f64) -> f64 {
        let there = self.samples.len() as f64 / self.least as f64;
        if self.closed || self.outcome.is_some() { 1.0 } else { there.min(spent).min(1.0) }
    }

    fn is_precise(&self) -> bool {
        let precision = summarise(&self.values()).and_then(|summary| summary.precision());
        precision.is_some_and(|precision| precision <= self.settings.precision)
    }

    /// Takes a sample, unless it would end too late: then the case has those that it has.
    fn sample(&mut self, clock: &dyn Clock, bound: Bound) {
        let Some(subject) = &mut self.subject else { return };
        let before = clock.now();
        if !bound.allows(before, self.expected) {
            self.late = true;
            return;
        }
        let sample = (subject.sample)(clock);
        self.expected = clock.now().saturating_sub(before).as_secs_f64();
        match sample {
            Ok(sample) => self.samples.push(sample),
            Err(Outcome::Wrong(wrong)) => {
                let during = format!("sample {}: {}", self.samples.len() + 1, wrong.during);
                self.outcome = Some(Outcome::Wrong(Wrong { during, ..wrong }));
            }
            Err(outcome) => self.outcome = Some(outcome),
        }
    }

    fn values(&self) -> Vec<f64> {
        self.samples.iter().map(|sample| sample.value).collect()
    }

    /// Passes the row to the watcher and frees the subject's memory.
    fn close(&mut self, stopped: bool, watcher: &mut dyn Watcher) {
        if self.closed {
            return;
        }
        self.closed = true;
        if let Some(row) = self.row(stopped) {
            watcher.row(&row);
        }
        self.subject = None;
    }

    /// The row; `None` if the run was stopped before there were enough samples.
    fn row(&self, stopped: bool) -> Option<Row> {
        if let Some(outcome) = &self.outcome {
            return Some(Row::new(self.case.clone(), outcome.clone()));
        }
        if self.samples.is_empty() && !self.late
            || stopped && self.samples.len() < self.least.min(FEWEST as usize)
        {
            return None;
        }
        if self.late && self.samples.len() < SMALLEST {
            return Some(Row::new(self.case.clone(), bound::over(self.samples.len())));
        }
        let subject = self.subject.as_ref()?;
        let vague = (!self.is_precise()).then(|| vague(self.settings));
        let seconds: Vec<f64> = self.samples.iter().map(|sample| sample.seconds).collect();
        let measured = Measured {
            unit: subject.unit,
            samples: self.values(),
            sample_seconds: stats::median(&seconds).unwrap_or(0.0),
            checked: subject.checked.clone(),
            code: subject.code.clone(),
            notes: subject.notes.iter().cloned().chain(vague).collect(),
            ..Measured::default()
        };
        Some(Row::new(self.case.clone(), Outcome::Measured(measured)))
    }
}

/// The note for a row whose interval is too wide.
pub(crate) fn vague(settings: &Settings) -> String {
    let percent = 100.0 * settings.precision;
    format!("the median is not known to ±{percent:.0} %: the machine was too noisy, or the time too short")
}

/// The warning if the machine was too noisy for conclusions.
pub fn noise(results: &Results) -> Option<String> {
    let wanted = results.settings.precision;
    let summaries = results.rows.iter().filter_map(|row| summarise(&row.measured()?.samples));
    let precisions: Vec<Option<f64>> = summaries.map(|summary| summary.precision()).collect();
    let vague = precisions.iter().filter(|found| found.is_none_or(|found| found > wanted)).count();
    let (all, percent) = (precisions.len(), 100.0 * wanted);
    (vague * MOST_VAGUE > all).then(|| {
        format!(
            "{vague} of {all} medians are not known to ±{percent:.0} %: the machine was too noisy, or the time \
             too short. Rows that share a place are not distinguished."
        )
    })
}

/// One row in this many may be imprecise.
const MOST_VAGUE: usize = 20;

#[cfg(test)]
pub(crate) mod tests;
