//! What the name cryptsetup changes: scripts that were written for cryptsetup read its messages, which then
//! begin with cryptsetup's words, and its help, which is one for all actions.

use crate::args::option::Opt;
use crate::args::table::Commands;
use crate::args::{help, shared};
use crate::output::failure::{Exit, Failure};
use clap::ArgMatches;
use clap::parser::ValueSource;
use std::ffi::OsStr;
use std::path::Path;

/// The name.
pub(in crate::args) const CRYPTSETUP: &str = "cryptsetup";

/// "cryptsetup" if called by that name, else "keyway".
pub(crate) fn program_name(argv0: &OsStr) -> &'static str {
    match Path::new(argv0).file_name() {
        Some(name) if name == CRYPTSETUP => CRYPTSETUP,
        _ => "keyway",
    }
}

/// How it is used stands before what is wrong, which scripts read as the last line.
pub(super) fn refused(commands: &Commands, failure: Failure) -> Failure {
    failure.after(&help::cryptsetup::usage(commands))
}

/// No action is named.
pub(super) fn no_action() -> Failure {
    Failure::new(Exit::Parameters, "cryptsetup: Argument <action> missing.")
}

/// The text that is asked for instead of the action. There is no `--help-all`.
pub(super) fn asked_for(commands: &Commands, asks: impl Fn(&Opt) -> bool) -> Option<String> {
    match () {
        () if asks(&shared::HELP) => Some(help::cryptsetup::help(commands)),
        () if asks(&shared::USAGE) => Some(help::cryptsetup::usage(commands)),
        () => asks(&shared::VERSION).then(|| help::version(CRYPTSETUP)),
    }
}

/// An option that was typed and is none of cryptsetup's.
pub(super) fn not_its_own(matches: &ArgMatches) -> Option<&'static Opt> {
    // A flag has a value that nobody typed.
    let is_typed = |option: &&Opt| {
        matches.try_contains_id(option.long).unwrap_or(false)
            && matches.value_source(option.long) == Some(ValueSource::CommandLine)
    };
    shared::NOT_CRYPTSETUPS.iter().copied().find(is_typed)
}
