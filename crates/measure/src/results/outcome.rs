//! What came of a case: figures, or the reason why there are none.

use serde::{Deserialize, Serialize};

/// What came of a case.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "result", rename_all = "kebab-case")]
pub enum Outcome {
    /// Figures, of work whose output was right each time.
    Measured(Measured),
    /// The case cannot exist.
    Impossible {
        /// The rule that forbids it.
        reason: String,
    },
    /// The case exists and could not be measured here.
    NotMeasured {
        /// Why.
        reason: String,
        /// The right that is missing, when that is why: "CAP_SYS_ADMIN".
        missing_right: Option<String>,
    },
    /// It ran, and its output was not right. There are no figures of wrong work.
    Wrong(Wrong),
}

/// Figures.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Measured {
    /// What a sample counts.
    pub unit: Unit,
    /// The raw samples in the order in which they were taken.
    pub samples: Vec<f64>,
    /// How long a sample took, in seconds; the median of them.
    pub sample_seconds: f64,
    /// What says that the output was right: "portable code, before and after each sample".
    pub checked: String,
    /// The code that ran: "vaes-avx512", "xts-aes-aesni"; null where it is not known.
    pub code: Option<String>,
    /// How long single requests took, where there were such.
    pub latency: Option<Vec<Latency>>,
    /// Processor time of the whole machine, or of all that took part, for 10⁹ bytes.
    pub cpu_seconds_per_gb: Option<f64>,
    /// What a reader of this row must know: "the disk is the limit",
    /// "stopped before the interval was narrow enough".
    pub notes: Vec<String>,
}

/// A point of the curve of latencies.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Latency {
    /// The part of all requests, in percent: 50, 99, 99.9 …
    pub percent: f64,
    /// They took no longer than this.
    pub microseconds: f64,
}

/// What a sample counts. More is better, except of [`Unit::Seconds`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Unit {
    /// Bytes a second, of all threads together.
    #[default]
    BytesPerSecond,
    /// PBKDF2's iterations a second, of all passwords together.
    IterationsPerSecond,
    /// Argon2's passes over its memory a second.
    PassesPerSecond,
    /// The cost that takes a given time: iterations of PBKDF2, passes of Argon2.
    Cost,
    /// Requests a second.
    RequestsPerSecond,
    /// Seconds.
    Seconds,
}

/// Output that was not right.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Wrong {
    /// Where in the output the first wrong byte stands.
    pub at: u64,
    /// The byte that should stand there, and some that follow, in hexadecimal.
    pub expected: String,
    /// What stood there.
    pub found: String,
    /// What was being done: "sample 3", "chained IV", "split at 17 bytes".
    pub during: String,
    /// How to keep this code from being used: "blacklist caam_jr".
    pub remedy: Option<String>,
}

impl Outcome {
    /// It exists and cannot be measured here.
    pub(crate) fn not_measured(reason: impl Into<String>) -> Self {
        Self::NotMeasured { reason: reason.into(), missing_right: None }
    }

    /// It cannot exist.
    pub(crate) fn impossible(reason: impl ToString) -> Self {
        Self::Impossible { reason: reason.to_string() }
    }
}

/// Compares an output with what it must be.
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
    pub fn more_is_better(self) -> bool {
        self != Self::Seconds
    }
}
