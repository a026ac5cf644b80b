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
mod lane;
mod length;

pub(crate) use bound::fits;
pub use bound::usual_seconds;
pub(crate) use length::fewest_passes;
pub use length::{passes, settings};

use crate::Clock;
use crate::results::{Case, Outcome, Results, Row, Settings, Unit, Wrong};
use crate::stats::{SMALLEST, summarise};
use crate::suite::Listed;
use bound::Bound;
use lane::Lane;
use std::cell::RefCell;

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
    /// How long the least work that a sample can be of takes in seconds; `None` if a sample lasts as long
    /// as it is told to.
    pub least_seconds: Option<f64>,
    /// Notes for readers.
    pub notes: Vec<String>,
}

/// Takes one sample.
pub(crate) type TakeSample = dyn FnMut(&dyn Clock) -> Result<Sample, Outcome>;

/// Prepares a case: keys, warm-up, and the number of passes per sample. The last argument is how
/// many seconds are left for that and for samples. Returns the outcome if there is nothing to
/// measure, or if that would take longer.
pub(crate) type Prepare<'a> = dyn Fn(&Case, &Settings, &dyn Clock, f64) -> Result<Subject, Outcome> + 'a;

/// An observer of a run.
pub trait Watcher {
    /// Called when a case has its row.
    fn row(&mut self, row: &Row);

    /// Called before a case is prepared, which may take seconds, with the fraction done.
    fn preparing(&mut self, _part: f64, _case: &Case) {}

    /// Called before each sample of a round, with the fraction done.
    fn sampling(&mut self, _part: f64, _case: &Case) {}

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
        for (prepared, it) in batch.iter().enumerate() {
            let known = done as f64 + PREPARED * prepared as f64;
            watcher.preparing(known / total as f64, &it.case);
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
/// What preparing is of a case's progress: with many cases, or large ones, it takes a while.
const PREPARED: f64 = 0.1;
/// Less than this many times the time of the fewest samples is short.
const HURRY: f64 = 8.0;

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

impl Batch<'_> {
    fn measure(mut self, watcher: &mut dyn Watcher) {
        let (clock, bound) = (self.clock, self.bound);
        let (start, limit) = (clock.now(), self.limit.max(1e-9));
        let spent = || (clock.now() - start).as_secs_f64() / limit;
        let kept = bound.kept(start, ready_in(&self.lanes).map(|lane| lane.expected));
        self.lanes
            .iter_mut()
            .filter(|lane| lane.subject.is_some())
            .skip(kept)
            .for_each(|lane| lane.late = true);
        // On a busy machine a sample takes many times as long as expected: where that could be all of the time, the first
        // cases have their figures before the last have anything.
        let hurried =
            ready_in(&self.lanes).map(|lane| lane.expected).sum::<f64>() * SMALLEST as f64 * HURRY > limit;
        let mut part = spent();
        for number in 1.. {
            let turn = |lane: &Lane<'_>| lane.turn(number, part);
            let at_once = if number == 1 && hurried { SMALLEST } else { 1 };
            let watching = RefCell::new(&mut *watcher);
            let mut begun = self.begun(number, part);
            let sample = |lane: &mut Lane<'_>| {
                watching.borrow_mut().sampling(begun.next(), lane.case);
                lane.samples_at_once(at_once, clock, bound);
            };
            let active = round(&mut self.lanes, turn, || watching.borrow().stopped(), sample);
            if active == 0 || watcher.stopped() {
                break;
            }
            for lane in self.lanes.iter_mut().filter(|lane| !lane.wants_more(number + 1, part)) {
                lane.close(false, watcher);
            }
            part = spent();
            watcher.progress(self.known(part), &self.lanes[0].case.in_words());
        }
        let stopped = watcher.stopped();
        self.lanes.iter_mut().for_each(|lane| lane.close(stopped, watcher));
    }

    /// The fraction of the run that is done, given the fraction of this batch's time.
    fn known(&self, part: f64) -> f64 {
        let known: f64 =
            self.lanes.iter().map(|lane| PREPARED + (1.0 - PREPARED) * lane.progress(part)).sum();
        (self.done as f64 + known) / self.total as f64
    }

    /// The same at the beginning of each sample of a round.
    fn begun(&self, number: usize, part: f64) -> Begun {
        let least = self.lanes.iter().map(Lane::least).max().unwrap_or(1).max(number);
        let each = (1.0 - PREPARED) / (least as f64 * self.total as f64);
        Begun { known: self.known(part), each }
    }
}

/// The fraction done, which grows with each sample of a round.
struct Begun {
    known: f64,
    each: f64,
}

impl Begun {
    fn next(&mut self) -> f64 {
        let now = self.known;
        self.known += self.each;
        now
    }
}

/// Those that are to be measured.
fn ready_in<'b, 'a>(lanes: &'b [Lane<'a>]) -> impl Iterator<Item = &'b Lane<'a>> {
    lanes.iter().filter(|lane| lane.subject.is_some())
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
