//! Cases of the tables, their contestants and goals. Contestants take turns in keyway-measure's
//! rounds.

use keyway_measure::rounds::{self, Turn};
use keyway_measure::stats;

/// Something to measure, by two or more contestants; the first one is Keyway.
pub(crate) struct Case {
    pub(crate) title: String,
    pub(crate) unit: Unit,
    pub(crate) rounds: usize,
    pub(crate) contestants: Vec<Contestant>,
    pub(crate) floor: Option<Floor>,
}

/// Takes one sample, in the case's unit.
pub(crate) type Sample = Box<dyn FnMut() -> f64>;

/// A name and a way to take samples, or why none can be taken.
pub(crate) struct Contestant {
    pub(crate) name: String,
    pub(crate) goal: Option<Goal>,
    pub(crate) sample: Result<Sample, String>,
}

/// What this CPU could do at most, measured in turns with the contestants: its clock is not steady.
pub(crate) struct Floor {
    /// In the case's unit.
    pub(crate) sample: Sample,
    /// How the value comes about, and what keeps Keyway from it.
    pub(crate) reason: String,
}

/// What a sample is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unit {
    /// 10^6 bytes a second.
    Megabytes,
    /// 10^6 PBKDF2 iterations a second.
    Iterations,
    /// Wall time, or a thread's processor time in the engine's table.
    Milliseconds,
    /// Peak resident memory, 2^20 bytes.
    Mebibytes,
    /// Thousands of requests a second.
    KiloIops,
    /// From a request to its answer.
    Microseconds,
    /// How many.
    Count,
}

/// What Keyway's median shall be: in relation to the peer that the
/// goal stands beside, or by itself.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Goal {
    RatioAtLeast(f64),
    RatioAtMost(f64),
    Below(f64),
}

/// All samples of a case, contestant by contestant.
pub(crate) struct Samples {
    pub(crate) case: Case,
    pub(crate) values: Vec<Vec<f64>>,
    /// As many as there are rounds, or none.
    pub(crate) floors: Vec<f64>,
}

impl Case {
    /// A case without contestants yet.
    pub(crate) fn new(title: impl Into<String>, unit: Unit, rounds: usize) -> Self {
        Self { title: title.into(), unit, rounds, contestants: Vec::new(), floor: None }
    }

    /// One more contestant. Keyway comes first.
    pub(crate) fn with(self, name: impl Into<String>, sample: impl FnMut() -> f64 + 'static) -> Self {
        self.entering(name, Ok(Box::new(sample)))
    }

    /// One more contestant, or the reason why it is not there.
    pub(crate) fn entering(mut self, name: impl Into<String>, sample: Result<Sample, String>) -> Self {
        self.contestants.push(Contestant { name: name.into(), goal: None, sample });
        self
    }

    /// What is wanted in relation to the contestant named last.
    pub(crate) fn wanting(mut self, goal: impl Into<Option<Goal>>) -> Self {
        if let Some(contestant) = self.contestants.last_mut() {
            contestant.goal = goal.into();
        }
        self
    }

    /// What the CPU could do.
    pub(crate) fn over(mut self, floor: impl Into<Option<Floor>>) -> Self {
        self.floor = floor.into();
        self
    }

    /// One round that nobody counts, then the rounds.
    pub(crate) fn measure(mut self) -> Samples {
        let mut values = vec![Vec::with_capacity(self.rounds + 1); self.contestants.len()];
        let mut floors = Vec::new();
        let contestants = self.contestants.iter_mut().zip(&mut values);
        let contestants = contestants.filter_map(|(it, values)| Some((it.sample.as_mut().ok()?, values)));
        let floor = self.floor.as_mut().map(|floor| (&mut floor.sample, &mut floors));
        let mut all: Vec<(&mut Sample, &mut Vec<f64>)> = contestants.chain(floor).collect();
        for _ in 0..=self.rounds {
            rounds::round(&mut all, |_| Turn::Now, || false, |(sample, values)| values.push(sample()));
        }
        all.into_iter().for_each(|(_, values)| _ = values.remove(0));
        Samples { case: self, values, floors }
    }
}

impl Samples {
    /// The median of one contestant's samples; `None` when it has none.
    pub(crate) fn median(&self, contestant: usize) -> Option<f64> {
        stats::median(&self.values[contestant])
    }

    /// Half the distance of the quartiles, as a part of the median.
    pub(crate) fn spread(&self, contestant: usize) -> Option<f64> {
        let values = &self.values[contestant];
        let quartile = |part| stats::quantile(values, part);
        Some((quartile(0.75)? - quartile(0.25)?) / 2.0 / stats::median(values)?)
    }

    /// The median of the floor's samples; `None` when the case has none.
    pub(crate) fn floor(&self) -> Option<f64> {
        stats::median(&self.floors)
    }

    /// Keyway over another contestant: the median of the rounds' ratios, so that a disturbance that
    /// lasts longer than a round changes nothing.
    pub(crate) fn ratio(&self, contestant: usize) -> Option<f64> {
        let pairs = self.values[0].iter().zip(&self.values[contestant]);
        stats::median(&pairs.map(|(ours, theirs)| ours / theirs).collect::<Vec<_>>())
    }

    /// Whether the goal beside this contestant was reached; `None` when somebody was not there.
    pub(crate) fn reached(&self, contestant: usize, goal: Goal) -> Option<bool> {
        Some(match goal {
            Goal::RatioAtLeast(wanted) => self.ratio(contestant)? >= wanted,
            Goal::RatioAtMost(wanted) => self.ratio(contestant)? <= wanted,
            Goal::Below(wanted) => self.median(0)? < wanted,
        })
    }
}
