//! Rounds: every contestant once, then every contestant again. What disturbs the machine disturbs all of them.

/// Something to measure, by two or more contestants; the first one is Keyway.
pub(crate) struct Case {
    pub(crate) title: String,
    pub(crate) unit: Unit,
    pub(crate) rounds: usize,
    pub(crate) contestants: Vec<Contestant>,
}

/// A name and a way to take one sample, in the case's unit.
pub(crate) struct Contestant {
    pub(crate) name: String,
    pub(crate) goal: Option<Goal>,
    pub(crate) sample: Box<dyn FnMut() -> f64>,
}

/// What a sample is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unit {
    /// 10^6 bytes a second.
    Megabytes,
    /// 10^6 PBKDF2 iterations a second.
    Iterations,
    /// Wall time.
    Milliseconds,
    /// Peak resident memory, 2^20 bytes.
    Mebibytes,
}

/// What Keyway's median shall be: in relation to the peer that the goal stands beside, or by itself.
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
}

impl Case {
    /// A case without contestants yet.
    pub(crate) fn new(title: impl Into<String>, unit: Unit, rounds: usize) -> Self {
        Self { title: title.into(), unit, rounds, contestants: Vec::new() }
    }

    /// One more contestant. Keyway comes first.
    pub(crate) fn with(mut self, name: impl Into<String>, sample: impl FnMut() -> f64 + 'static) -> Self {
        self.contestants.push(Contestant { name: name.into(), goal: None, sample: Box::new(sample) });
        self
    }

    /// What is wanted in relation to the contestant named last.
    pub(crate) fn wanting(mut self, goal: impl Into<Option<Goal>>) -> Self {
        if let Some(contestant) = self.contestants.last_mut() {
            contestant.goal = goal.into();
        }
        self
    }

    /// One round that nobody counts, then the rounds.
    pub(crate) fn measure(mut self) -> Samples {
        let mut values = vec![Vec::with_capacity(self.rounds); self.contestants.len()];
        for round in 0..=self.rounds {
            for (contestant, values) in self.contestants.iter_mut().zip(&mut values) {
                let value = (contestant.sample)();
                if round > 0 {
                    values.push(value);
                }
            }
        }
        Samples { case: self, values }
    }
}

impl Samples {
    /// The median of one contestant's samples.
    pub(crate) fn median(&self, contestant: usize) -> f64 {
        median(self.values[contestant].clone())
    }

    /// Keyway over another contestant: the median of the rounds' ratios, so that a disturbance that lasts longer than a
    /// round changes nothing.
    pub(crate) fn ratio(&self, contestant: usize) -> f64 {
        median(
            self.values[0].iter().zip(&self.values[contestant]).map(|(ours, theirs)| ours / theirs).collect(),
        )
    }

    /// Whether the goal beside this contestant was reached.
    pub(crate) fn reached(&self, contestant: usize, goal: Goal) -> bool {
        match goal {
            Goal::RatioAtLeast(wanted) => self.ratio(contestant) >= wanted,
            Goal::RatioAtMost(wanted) => self.ratio(contestant) <= wanted,
            Goal::Below(wanted) => self.median(0) < wanted,
        }
    }
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    if values.len() % 2 == 1 { values[middle] } else { (values[middle - 1] + values[middle]) / 2.0 }
}
