//! Results files: read, compared, put side by side.

use super::options;
use super::outputs::Outputs;
use crate::device::whole_file::{self, RESULTS};
use crate::door::Args;
use crate::say::failure::{Exit, Failure, Result};
use crate::say::output;
use keyway_measure::Results;
use keyway_measure::report;
use keyway_measure::report::diff::Diff;
use std::path::Path;

/// Reads results. What is no results file is refused with the line.
pub(super) fn read(path: &Path) -> Result<Results> {
    let shown = path.display();
    let text = whole_file::read_text(path, RESULTS).map_err(|error| match error.kind() {
        std::io::ErrorKind::PermissionDenied => {
            Failure::new(Exit::Permission, format!("Cannot read {shown}: permission denied."))
        }
        std::io::ErrorKind::InvalidData => {
            Failure::new(Exit::Device, format!("{shown}: no results of bench: it is no text."))
        }
        _ => Failure::new(Exit::Device, format!("Cannot read {shown}: {error}.")),
    })?;
    Results::parse(&text).map_err(|corrupt| {
        Failure::new(Exit::Device, format!("{shown}: no results of bench, or damaged: {corrupt}."))
    })
}

/// `keyway bench diff OLD NEW`.
pub(super) fn diff(args: &Args) -> Result<()> {
    let [_, old, new] = args.operands() else {
        let usage = "bench diff takes two results files, the older one first.";
        return Err(Failure::new(Exit::Parameters, usage));
    };
    let (old, new) = (read(Path::new(old))?, read(Path::new(new))?);
    let threshold = args.number(&options::THRESHOLD).unwrap_or(0) as f64 / 100.0;
    let diff = Diff::between(&old, &new, threshold);
    output::print(&diff.text())?;
    if diff.is_regression() { Err(Failure::silent(Exit::Parameters)) } else { Ok(()) }
}

/// `keyway bench merge FILE...`.
pub(super) fn merge(args: &Args) -> Result<()> {
    let files = args.operands().get(1..).unwrap_or_default();
    if files.is_empty() {
        let usage = "bench merge takes results files, one a machine.";
        return Err(Failure::new(Exit::Parameters, usage));
    }
    let all = files.iter().map(|file| read(Path::new(file))).collect::<Result<Vec<_>>>()?;
    Outputs::open(args, report::machines)?.write(&all)
}
