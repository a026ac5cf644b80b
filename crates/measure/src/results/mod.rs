//! A run's results: what machine it was, what was asked, and a row for each
//! case. The document that `--json` writes, that `--resume`, `diff` and `merge`
//! read, and from which every other report is made.
//!
//! The schema's name is in the document. What this version does not know is refused, not
//! ignored: a figure whose condition was overlooked is a wrong figure.
//! `docs/bench.schema.json` is the same for other programs.

mod case;
mod file;
mod machine;
mod outcome;
mod text;

pub use case::{By, Case, CipherCase, Direction, DiskCase, DriverCase, KdfCase, Pattern};
pub use file::Growing;
pub use machine::{Frequency, Machine};
pub(crate) use outcome::right;
pub use outcome::{Latency, Measured, Outcome, Unit, Wrong};
pub use text::Corrupt;

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What stands in `schema`.
pub const SCHEMA: &str = "keyway-bench/1";

/// One run on one machine.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Results {
    /// [`SCHEMA`].
    pub schema: String,
    /// When the run began, in UTC: "2026-11-22T02:49:15Z".
    pub started: String,
    /// Versions of what was measured and of what measured: "keyway", "openssl", "fio" …
    pub versions: BTreeMap<String, String>,
    /// Where it ran.
    pub machine: Machine,
    /// What was asked for.
    pub settings: Settings,
    /// A row for each case, in the order in which cases were listed, not measured.
    pub rows: Vec<Row>,
    /// What a reader must know before believing a figure: a busy machine, a moving clock frequency.
    pub warnings: Vec<String>,
    /// Whether every case has its row. A run that was stopped is `false` and can be resumed.
    pub complete: bool,
}

/// What was asked for. `--resume` refuses a file that was made with others.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    /// The suite's name: "quick", "default", "article", "all", "disk",
    /// "xray"; "slice" when options chose the cases.
    pub suite: String,
    /// The options that choose cases, as given: "--cipher serpent*".
    pub filters: Vec<String>,
    /// Bound of the time that the whole run takes, in seconds; none was given when null.
    pub time_seconds: Option<f64>,
    /// Half the width of the median's 95 % interval at which a case is
    /// measured well enough, as a part of the median.
    pub precision: f64,
    /// Fewest samples of a case.
    pub least_samples: u32,
    /// Most samples of a case.
    pub most_samples: u32,
    /// How long a sample is meant to take, in seconds.
    pub sample_seconds: f64,
    /// What one look at the clock costs, in seconds. A sample takes two.
    pub clock_seconds: f64,
}

/// A case and what came of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Row {
    /// The case's name ([`Case::id`]): what resume, diff and merge go by.
    pub id: String,
    /// What was to be measured.
    pub case: Case,
    /// What came of it.
    pub outcome: Outcome,
}

impl Row {
    /// A row under its case's name.
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
