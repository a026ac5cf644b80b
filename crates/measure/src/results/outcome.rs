//! The outcome of a case: figures, or the reason why there are none.

use serde::{Deserialize, Serialize};

/// The outcome of a case.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "result", rename_all = "kebab-case")]
pub enum Outcome {
    /// Figures from work whose output was right every time.
    Measured(Measured),
    /// The case cannot exist.
    Impossible {
        /// The rule that forbids it.
        reason: String,
    },
    /// The case exists, but could not be measured here.
    NotMeasured {
        /// The reason.
        reason: String,
        /// The missing permission, if that is the reason: "CAP_SYS_ADMIN".
        missing_right: Option<String>,
        /// What is known of it, if only `--time` left it without a figure. (Results of programs before this
        /// member lack it: their rows without time count as those that lost their figure.)
        #[serde(default, skip_serializing_if = "Option::is_none")]
        no_time: Option<NoTime>,
    },
    /// The case ran and its output was wrong. Wrong output has no figures.
    Wrong(Wrong),
}

/// A case that there was no time for.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NoTime {
    /// How long the least work that a sample can be of takes, in seconds; `None` if that was not seen.
    pub least_seconds: Option<f64>,
}

/// Figures.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Measured {
    /// The unit of a sample.
    pub unit: Unit,
    /// The raw samples in the order in which they were taken.
    pub samples: Vec<f64>,
    /// The median duration of a sample, in seconds.
    pub sample_seconds: f64,
    /// How the output was checked: "portable code, before and after each sample".
    pub checked: String,
    /// The code that ran: "vaes-avx512", "xts-aes-aesni"; null if unknown.
    pub code: Option<String>,
    /// The latencies of single requests, if there were any.
    pub latency: Option<Vec<Latency>>,
    /// Processor time of the whole machine, or of all processes involved, per 10⁹ bytes.
    pub cpu_seconds_per_gb: Option<f64>,
    /// Notes for readers of this row: "the disk is the limit", "stopped before the interval was
    /// narrow enough".
    pub notes: Vec<String>,
}

/// A point of the latency curve.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Latency {
    /// The percentage of all requests: 50, 99, 99.9 …
    pub percent: f64,
    /// The time within which that percentage of requests completed.
    pub microseconds: f64,
}

/// The unit of a sample. More is better, except for [`Unit::Seconds`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Unit {
    /// Bytes per second, over all threads.
    #[default]
    BytesPerSecond,
    /// PBKDF2 iterations per second, over all passwords.
    IterationsPerSecond,
    /// Argon2 passes over the memory per second.
    PassesPerSecond,
    /// The cost that takes a given time: PBKDF2 iterations or Argon2 passes.
    Cost,
    /// Requests per second.
    RequestsPerSecond,
    /// Seconds.
    Seconds,
}

/// Wrong output.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Wrong {
    /// The offset of the first wrong byte in the output.
    pub at: u64,
    /// The expected byte at that offset and some that follow, in hexadecimal.
    pub expected: String,
    /// The bytes found there, in hexadecimal.
    pub found: String,
    /// The work in progress: "sample 3", "chained IV", "split at 17 bytes".
    pub during: String,
    /// How to keep this code from being used: "blacklist caam_jr".
    pub remedy: Option<String>,
}

impl Measured {
    /// The microseconds within which that percentage of requests completed, if it was recorded.
    pub(crate) fn latency_at(&self, percent: f64) -> Option<f64> {
        let mut points = self.latency.iter().flatten();
        points.find(|point| point.percent == percent).map(|point| point.microseconds)
    }
}

impl Outcome {
    /// An existing case that cannot be measured here.
    pub(crate) fn not_measured(reason: impl Into<String>) -> Self {
        Self::NotMeasured { reason: reason.into(), missing_right: None, no_time: None }
    }

    /// A case that `--time` left without a figure; `least_seconds` as in [`NoTime`].
    pub(crate) fn no_time(reason: impl Into<String>, least_seconds: Option<f64>) -> Self {
        let no_time = Some(NoTime { least_seconds });
        Self::NotMeasured { reason: reason.into(), missing_right: None, no_time }
    }

    /// A case that cannot exist.
    pub(crate) fn impossible(reason: impl ToString) -> Self {
        Self::Impossible { reason: reason.to_string() }
    }
}

/// Compares an output with the expected one.
pub(crate) fn right(expected: &[u8], found: &[u8], during: &str) -> Result<(), Outcome> {
    let wrong = keyway_kernel::Wrong::first_difference(expected, found, during);
    wrong.map_or(Ok(()), |wrong| Err(Outcome::Wrong(wrong.into())))
}

impl From<keyway_kernel::Wrong> for Wrong {
    fn from(wrong: keyway_kernel::Wrong) -> Self {
        let keyway_kernel::Wrong { at, expected, found, during } = wrong;
        Self { at, expected, found, during, remedy: None }
    }
}

impl Unit {
    /// Whether more is better.
    pub(crate) fn more_is_better(self) -> bool {
        self != Self::Seconds
    }
}
