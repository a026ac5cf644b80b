//! The options of a run apart from its cases: how long it may take, and what is saved.

use super::options;
use super::outputs::{self, Reports, cannot_write};
use crate::args::{Args, shared};
use crate::make::replacing::Replacing;
use crate::output::failure::Result;
use crate::output::manner::Manner;
use keyway_measure::Results;
use keyway_measure::results::Growing;
use std::path::{Path, PathBuf};

/// The options of every run, in memory or over storage.
pub(super) struct RunOptions {
    /// `--save`, or `--resume`.
    pub(super) file: Option<ResultsFile>,
    pub(super) reports: Reports,
    /// The approximate length in seconds.
    pub(super) time: Option<f64>,
    /// The machine's name.
    pub(super) name: Option<String>,
    pub(super) manner: Manner,
}

impl RunOptions {
    pub(super) fn from_args(args: &Args) -> Result<Self> {
        let (resume, save) = (args.path(&options::RESUME), args.path(&options::SAVE));
        let file = resume.or(save).map(|path| ResultsFile {
            path: path.to_owned(),
            goes_on: resume.is_some(),
            replace: resume.is_some() || args.given(&shared::FORCE),
            replacing: Replacing::from_args(args, &[], options::OUTPUTS),
        });
        let time = args.number(&options::TIME).filter(|seconds| *seconds > 0);
        Ok(Self {
            file,
            reports: Reports::from_args(args)?,
            time: time.map(|seconds| seconds as f64),
            name: args.text(&options::NAME).map(str::to_owned),
            manner: args.manner(),
        })
    }

    /// The results file of the run that is resumed.
    pub(super) fn resumed(&self) -> Option<&Path> {
        self.file.as_ref().filter(|file| file.goes_on).map(|file| file.path.as_path())
    }
}

/// The file that results are written to as they arrive.
pub(super) struct ResultsFile {
    pub(super) path: PathBuf,
    /// It holds the results of a run that was stopped.
    goes_on: bool,
    replace: bool,
    replacing: Replacing,
}

impl ResultsFile {
    /// Writes the results so far.
    pub(super) fn create(&self, results: &Results) -> Result<Growing> {
        let file = outputs::create(&self.path, self.replace, &self.replacing)?;
        let file = Growing::over(file, results);
        file.map_err(|error| cannot_write(&self.path, &error))
    }
}
