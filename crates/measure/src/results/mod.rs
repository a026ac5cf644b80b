//! A run's results: the machine, the settings, and a row for each case. This is the document that
//! `--json` writes, that `--resume`, `diff` and `merge` read, and from which every other report is
//! generated.
//!
//! The schema's name is in the document. Unknown members are refused, not ignored: a figure whose
//! conditions were overlooked is a wrong figure. `docs/bench.schema.json` describes the same schema
//! for other programs.

mod case;
mod file;
mod in_words;
mod machine;
mod outcome;
mod text;

pub use case::{By, Case, CipherCase, Direction, DiskCase, DriverCase, KdfCase, Pattern};
pub use file::Growing;
pub use machine::{Frequency, Machine};
pub(crate) use outcome::right;
pub use outcome::{Latency, Measured, NoTime, Outcome, Unit, Wrong};
pub use text::Corrupt;

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The value of `schema`.
pub const SCHEMA: &str = "keyway-bench/1";

/// The value of `version`, which every document of Keyway's begins with. The first results had the
/// schema alone.
pub const VERSION: u32 = 1;

fn first_version() -> u32 {
    VERSION
}

/// One run on one machine.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Results {
    /// [`VERSION`].
    #[serde(default = "first_version")]
    pub version: u32,
    /// [`SCHEMA`].
    pub schema: String,
    /// When the run began, in UTC: "2026-11-22T02:49:15Z".
    pub started: String,
    /// Versions of the programs measured and of the programs that measured: "keyway", "openssl",
    /// "fio" …
    pub versions: BTreeMap<String, String>,
    /// The machine it ran on.
    pub machine: Machine,
    /// The settings of the run.
    pub settings: Settings,
    /// A row for each case, in the order in which cases were listed, not that in which they were
    /// measured.
    pub rows: Vec<Row>,
    /// What a reader must know before trusting a figure: a busy machine, a varying clock frequency.
    pub warnings: Vec<String>,
    /// Whether every case has its row. A run that was stopped is `false` and can be resumed.
    pub complete: bool,
}

/// The settings of a run. `--resume` refuses a file that was made with different settings.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    /// The suite's name: "quick", "default", "article", "veracrypt", "all", "disk", "xray"; "slice" if options
    /// chose the cases.
    pub suite: String,
    /// The options that choose cases, as given: "--cipher serpent*".
    pub filters: Vec<String>,
    /// The time limit for the whole run, in seconds; null if none was given.
    pub time_seconds: Option<f64>,
    /// Half the width of the median's 95 % interval at which a case counts as measured well enough,
    /// as a fraction of the median.
    pub precision: f64,
    /// The fewest samples per case.
    pub least_samples: u32,
    /// The most samples per case.
    pub most_samples: u32,
    /// The intended duration of a sample, in seconds.
    pub sample_seconds: f64,
    /// The cost of one clock reading, in seconds. A sample takes two readings.
    pub clock_seconds: f64,
}

/// A case and its outcome.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Row {
    /// The case's name ([`Case::id`]): the key that resume, diff and merge use.
    pub id: String,
    /// The case to measure.
    pub case: Case,
    /// The outcome.
    pub outcome: Outcome,
}

impl Row {
    /// A row, named after its case.
    pub fn new(case: Case, outcome: Outcome) -> Self {
        Self { id: case.id(), case, outcome }
    }

    /// The figures, if there are any.
    pub fn measured(&self) -> Option<&Measured> {
        match &self.outcome {
            Outcome::Measured(measured) => Some(measured),
            _ => None,
        }
    }
}

impl Results {
    /// The row of that name.
    pub fn row(&self, id: &str) -> Option<&Row> {
        self.rows.iter().find(|row| row.id == id)
    }
}
