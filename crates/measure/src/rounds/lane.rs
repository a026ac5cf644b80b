//! A case of a batch, with the samples that it has so far.

use super::bound::{self, Bound};
use super::length::FEWEST;
use super::{Prepare, Sample, Subject, Turn, Watcher, Wrong, vague};
use crate::Clock;
use crate::results::{Case, Measured, Outcome, Row, Settings};
use crate::stats::{self, SMALLEST, summarise};
use crate::suite::Listed;

/// A case with its samples.
pub(super) struct Lane<'a> {
    pub(super) case: &'a Case,
    settings: &'a Settings,
    pub(super) subject: Option<Subject>,
    samples: Vec<Sample>,
    outcome: Option<Outcome>,
    least: usize,
    /// How long the next sample is expected to take, in seconds.
    pub(super) expected: f64,
    /// Whether there is no time for another one.
    pub(super) late: bool,
    /// Whether its row has been emitted.
    closed: bool,
}

impl<'a> Lane<'a> {
    pub(super) fn prepare(
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
            return Err(bound::over(0, None));
        }
        let subject = prepare(self.case, self.settings, clock, left)?;
        let now = clock.now();
        self.expected = subject.sample_seconds.unwrap_or((now - before).as_secs_f64());
        bound.promise(now, self.expected, subject.least_seconds)?;
        self.least = subject.least_samples.unwrap_or(self.settings.least_samples) as usize;
        Ok(subject)
    }

    /// Whether the case needs more samples, given the fraction of the time spent.
    pub(super) fn wants_more(&self, round: usize, spent: f64) -> bool {
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
    pub(super) fn turn(&self, round: usize, spent: f64) -> Turn {
        let slow = self.subject.as_ref().is_some_and(|subject| subject.least_samples.is_some());
        match self.wants_more(round, spent) {
            false => Turn::Over,
            true if slow && self.samples.len() as f64 > spent * self.least as f64 => Turn::Later,
            true => Turn::Now,
        }
    }

    /// The fewest samples that it takes.
    pub(super) fn least(&self) -> usize {
        self.least
    }

    /// The progress of the case, given the fraction of the time spent.
    pub(super) fn progress(&self, spent: f64) -> f64 {
        let there = self.samples.len() as f64 / self.least as f64;
        if self.closed || self.outcome.is_some() { 1.0 } else { there.min(spent).min(1.0) }
    }

    fn is_precise(&self) -> bool {
        let precision = summarise(&self.values()).and_then(|summary| summary.precision());
        precision.is_some_and(|precision| precision <= self.settings.precision)
    }

    /// Takes so many samples one after the other; a case whose samples take seconds takes one.
    pub(super) fn samples_at_once(&mut self, count: usize, clock: &dyn Clock, bound: Bound) {
        let slow = self.subject.as_ref().is_some_and(|subject| subject.least_samples.is_some());
        for _ in 0..if slow { 1 } else { count } {
            if self.late || self.outcome.is_some() {
                break;
            }
            self.sample(clock, bound);
        }
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
    pub(super) fn close(&mut self, stopped: bool, watcher: &mut dyn Watcher) {
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
            let least = self.subject.as_ref().and_then(|subject| subject.least_seconds);
            return Some(Row::new(self.case.clone(), bound::over(self.samples.len(), least)));
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

/// The number of rounds after which intervals are checked again.
const ROUNDS_A_LOOK: usize = 10;
