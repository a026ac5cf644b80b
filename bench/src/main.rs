//! `./dev bench engine|peers|doors|formats|reencrypt|storage`: Keyway and other
//! people's code, measured in turns in one run.
//!
//! `engine` is every cipher, mode and KDF in memory; `peers` is also whole programs on whole
//! volumes; `doors` is opened volumes as other programs use them; `formats` is other programs'
//! volumes; `reencrypt` is another volume key in place; `storage` is ways to read the
//! image below them. Absolute figures belong to one machine and one hour; the ratio of two programs
//! measured in turns carries over. Nothing here decides whether a test passes.

mod doors;
mod engine;
mod foreign;
mod formats;
mod options;
mod peers;
mod reencrypt;
mod report;
mod rounds;
mod samples;
mod storage;

use options::Options;
use rounds::Case;
use std::env;
use std::process::ExitCode;

fn main() -> ExitCode {
    let mut args = env::args().skip(1);
    let sections: &[fn(&Options) -> Vec<Case>] = match args.next().as_deref() {
        Some("engine") => {
            engine::header();
            &engine::SECTIONS
        }
        Some("peers") => &peers::SECTIONS,
        Some("doors") => &doors::SECTIONS,
        Some("formats") => &formats::SECTIONS,
        Some("reencrypt") => &reencrypt::SECTIONS,
        Some("storage") => &storage::SECTIONS,
        _ => return usage("name a table"),
    };
    let options = match Options::parse(args) {
        Ok(options) => options,
        Err(message) => return usage(&message),
    };
    let mut table = report::Table::begin(options.csv.as_deref());
    for section in sections {
        for case in section(&options) {
            if options.wants(&case.title) {
                table.row(&case.measure());
            }
        }
    }
    if table.end() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn usage(message: &str) -> ExitCode {
    eprintln!("keyway-bench: {message}");
    eprintln!(
        "usage: keyway-bench engine|peers|doors|formats|reencrypt|storage [--only TEXT] [--csv FILE] [--rounds N] [--mib SIZE] [--beside PROGRAM]"
    );
    ExitCode::FAILURE
}
