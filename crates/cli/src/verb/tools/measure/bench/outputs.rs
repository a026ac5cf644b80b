//! Reports, to files or standard output. Files are created before anything is measured, so that a
//! name that cannot be written does not cost an hour.

use super::options;
use crate::args::{Args, Opt, shared};
use crate::device::place;
use crate::make::output_file;
use crate::make::replacing::Replacing;
use crate::output::failure::{Exit, Failure, Result};
use crate::output::stdio;
use keyway::storage::Planted;
use keyway_measure::Results;
use keyway_measure::report;
use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};

/// Makes a report of one or several runs.
pub(super) type Report = fn(&[Results]) -> String;

/// Which reports are wanted, and where they go.
pub(super) struct Reports {
    files: Vec<(PathBuf, Report)>,
    /// The report for standard output in place of a table.
    shown: Option<Report>,
    replacing: Replacing,
}

impl Reports {
    /// `--json` and the options that name a file.
    pub(super) fn from_args(args: &Args) -> Result<Self> {
        let asked: [(&'static Opt, Report); 4] = [
            (&options::JSON_LINES, report::json_lines),
            (&options::CSV, report::csv),
            (&options::HTML, report::html),
            (&options::MARKDOWN, |all| all.iter().map(report::markdown).collect()),
        ];
        let mut shown = args.given(&shared::JSON).then_some(json as Report);
        let mut files = Vec::new();
        for (option, report) in asked {
            let Some(path) = args.path(option) else { continue };
            if path != Path::new("-") {
                files.push((path.to_owned(), report));
            } else if shown.replace(report).is_some() {
                let why = "Only one report can go to standard output: give the others a file.";
                return Err(Failure::new(Exit::Parameters, why));
            }
        }
        Ok(Self { files, shown, replacing: Replacing::from_args(args, &[], options::OUTPUTS) })
    }

    /// Creates the files. Standard output gets `table` if no other report was asked for.
    pub(super) fn open(self, table: Report) -> Result<Outputs> {
        let replacing = self.replacing;
        let made = |(path, report): (PathBuf, Report)| {
            let file = create(&path, replacing.force, &replacing)?;
            Ok((path, file, report))
        };
        let files = self.files.into_iter().map(made).collect::<Result<_>>()?;
        Ok(Outputs { files, shown: self.shown.unwrap_or(table) })
    }
}

/// Reports whose files have been created.
pub(super) struct Outputs {
    files: Vec<(PathBuf, File, Report)>,
    /// The report for standard output.
    shown: Report,
}

impl Outputs {
    /// Writes all of them.
    pub(super) fn write(self, all: &[Results]) -> Result<()> {
        for (path, mut file, report) in self.files {
            file.write_all(report(all).as_bytes()).map_err(|error| cannot_write(&path, &error))?;
        }
        stdio::print(&(self.shown)(all))
    }
}

/// One run is written as it is saved, several as an object that has them.
fn json(all: &[Results]) -> String {
    match all {
        [one] => one.to_json(),
        several => {
            let runs = several.iter().map(Results::to_json).collect::<Vec<_>>().join(",");
            format!("{{\"version\":1,\"runs\":[{runs}]}}\n")
        }
    }
}

/// Creates a file for a report or for results, which do not replace what they are read from.
pub(super) fn create(path: &Path, replace: bool, replacing: &Replacing) -> Result<File> {
    output_file::text_file(path, (replace, 0o666), &replacing.inputs, |error| cannot_write(path, &error))
}

/// The failure for a file that cannot be written.
pub(super) fn cannot_write(path: &Path, error: &std::io::Error) -> Failure {
    let path = path.display();
    match error.kind() {
        _ if error.get_ref().is_some_and(|it| it.is::<Planted>()) => {
            Failure::new(Exit::Permission, format!("Cannot write {path}: {error}."))
        }
        std::io::ErrorKind::AlreadyExists => Failure::new(Exit::Parameters, place::is_there(path)),
        std::io::ErrorKind::PermissionDenied => {
            Failure::new(Exit::Permission, format!("Cannot write {path}: permission denied."))
        }
        _ => Failure::new(Exit::Parameters, format!("Cannot write {path}: {error}.")),
    }
}
