//! `./dev bench peers`: Keyway and other people's code, measured in turns in one run.
//!
//! Absolute figures belong to one machine and one hour; the ratio of two programs measured in turns carries over.
//! Nothing here decides whether a test passes.

mod end_to_end;
mod kdf;
mod memory;
mod report;
mod rounds;
mod sectors;
mod sys;
mod volumes;

use rounds::Case;
use std::env;
use std::process::ExitCode;

fn main() -> ExitCode {
    let options = match Options::parse(env::args().skip(1)) {
        Ok(options) => options,
        Err(message) => {
            eprintln!("keyway-bench: {message}\nusage: keyway-bench [--only TEXT] [--csv FILE] [--mib SIZE]");
            return ExitCode::FAILURE;
        }
    };
    let mut table = report::Table::begin(options.csv.as_deref());
    for section in SECTIONS {
        for case in section(&options) {
            if options.wants(&case) {
                table.row(&case.measure());
            }
        }
    }
    ExitCode::SUCCESS
}

/// What is measured, in the order of the table. A section's volumes are gone before the next one begins.
const SECTIONS: [fn(&Options) -> Vec<Case>; 4] =
    [sectors::cases, kdf::cases, end_to_end::cases, memory::cases];

/// The command line.
#[derive(Debug)]
pub(crate) struct Options {
    /// Only cases whose title contains this.
    only: Option<String>,
    /// Where every single sample goes.
    csv: Option<String>,
    /// Size of the volumes that are read and written from end to end, in MiB.
    pub(crate) mib: u64,
}

impl Options {
    fn parse(mut args: impl Iterator<Item = String>) -> Result<Self, String> {
        let mut options = Self { only: None, csv: None, mib: 2048 };
        while let Some(arg) = args.next() {
            let mut value = || args.next().ok_or(format!("{arg} needs a value"));
            match arg.as_str() {
                "--only" => options.only = Some(value()?),
                "--csv" => options.csv = Some(value()?),
                "--mib" => options.mib = value()?.parse().map_err(|e| format!("--mib: {e}"))?,
                other => return Err(format!("unknown option {other}")),
            }
        }
        Ok(options)
    }

    /// Whether a case of this title will run: asked before volumes are made for it.
    fn wants(&self, case: &Case) -> bool {
        self.wants_title(&case.title)
    }

    /// Whether a case of this title will run.
    pub(crate) fn wants_title(&self, title: &str) -> bool {
        self.only.as_ref().is_none_or(|only| title.contains(only.as_str()))
    }
}
