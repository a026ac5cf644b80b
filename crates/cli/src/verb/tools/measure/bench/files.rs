//! Results files: reading, comparing, and combining them.

use super::options;
use super::outputs::Reports;
use crate::args::{Args, Request, shared};
use crate::device::whole_file::{self, RESULTS};
use crate::output::failure::{Exit, Failure, Result};
use crate::output::stdio;
use keyway_measure::{Results, machine, report};
use std::path::{Path, PathBuf};

/// Reads results. A file that is not a results file is refused, naming the line at fault.
pub(super) fn read(path: &Path) -> Result<Results> {
    let shown = path.display();
    let text = whole_file::read_text(path, RESULTS).map_err(|error| {
        let message = match error.kind() {
            std::io::ErrorKind::PermissionDenied => format!("Cannot read {shown}: permission denied."),
            std::io::ErrorKind::InvalidData => format!("{shown}: not results of bench: it is not text."),
            _ => format!("Cannot read {shown}: {error}."),
        };
        Failure::new(Exit::of_file(&error, Exit::Device), message)
    })?;
    Results::parse(&text).map_err(|corrupt| {
        Failure::new(Exit::Parameters, format!("{shown}: not results of bench, or damaged: {corrupt}."))
    })
}

/// Checks that the run began on this machine with this program.
///
/// # Errors
/// What differs.
pub(super) fn begun_here(results: &Results, path: &Path) -> Result<()> {
    let refuse = |why: String| Err(Failure::new(Exit::Parameters, format!("{}: {why}", path.display())));
    let here = machine::look(Path::new("/"));
    let there = &results.machine;
    for (what, here, there) in [
        ("CPU", &here.cpu, &there.cpu),
        ("number of CPUs", &here.cpus.to_string(), &there.cpus.to_string()),
        ("kernel", &here.kernel, &there.kernel),
    ] {
        if here != there {
            return refuse(format!("the run began with another {what} ({there}); here it is {here}."));
        }
    }
    let version = env!("CARGO_PKG_VERSION");
    if results.versions.get("keyway").map(String::as_str) != Some(version) {
        return refuse(format!("the run began with another version of Keyway; this is {version}."));
    }
    Ok(())
}

/// Why a run is not resumed.
pub(super) fn other_options(begun_with: &str) -> String {
    format!("the run began with other options ({begun_with}); give none to resume it.")
}

/// How a run that was stopped is resumed: by the line for the file that it was saved in.
pub(super) fn way_on(saved: Option<&Path>, line: impl Fn(&Path) -> String) -> String {
    saved.map_or_else(|| "with --save it could be resumed.".to_owned(), line)
}

/// In percent: what two runs of one program may differ by.
const USUAL_THRESHOLD: u64 = 2;

/// `keyway bench diff OLD NEW`.
pub(super) struct Diff {
    old: PathBuf,
    new: PathBuf,
    /// Smaller changes are ignored.
    threshold: f64,
    json: bool,
}

impl Request for Diff {
    fn from_args(args: &Args) -> Result<Self> {
        let [_, old, new] = args.operands() else {
            let usage = "bench diff takes two results files, the older one first.";
            return Err(Failure::new(Exit::Parameters, usage));
        };
        let threshold = args.number(&options::THRESHOLD).unwrap_or(USUAL_THRESHOLD) as f64 / 100.0;
        Ok(Self { old: old.into(), new: new.into(), threshold, json: args.given(&shared::JSON) })
    }

    fn run(self) -> Result<()> {
        let diff = report::diff::Diff::between(&read(&self.old)?, &read(&self.new)?, self.threshold);
        stdio::print(&if self.json { diff.json() } else { diff.text() })?;
        if diff.is_regression() { Err(Failure::silent(Exit::Parameters)) } else { Ok(()) }
    }
}

/// `keyway bench merge FILE...`.
pub(super) struct Merge {
    files: Vec<PathBuf>,
    reports: Reports,
}

impl Request for Merge {
    fn from_args(args: &Args) -> Result<Self> {
        let files = args.operands().get(1..).unwrap_or_default();
        if files.is_empty() {
            let usage = "bench merge takes results files, one per machine.";
            return Err(Failure::new(Exit::Parameters, usage));
        }
        Ok(Self { files: files.iter().map(PathBuf::from).collect(), reports: Reports::from_args(args)? })
    }

    fn run(self) -> Result<()> {
        let all = self.files.iter().map(|file| read(file)).collect::<Result<Vec<_>>>()?;
        self.reports.open(report::machines)?.write(&all)
    }
}
