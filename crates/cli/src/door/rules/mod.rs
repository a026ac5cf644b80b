//! What cryptsetup refuses before it begins: values out of range, and options that exclude each
//! other. Messages and their order are cryptsetup's (src/cryptsetup.c, `verify_*` and
//! `basic_options_cb`); `--test-args` ends after these checks.

mod combinations;
mod values;

use super::table::Group;
use super::values::Args;
use crate::output::failure::{Exit, Failure, Result};

/// Refuses a command line that breaks a rule of its command.
pub(super) fn check(args: &Args) -> Result<()> {
    let broken = match args.command().group {
        Group::Cryptsetup(_) => values::broken(args).or_else(|| combinations::broken(args)),
        _ => combinations::broken_of_own(args),
    };
    broken.map_or(Ok(()), |message| Err(refused(args, &message)))
}

/// With the program's name in front, as cryptsetup reports a wrong command line.
fn refused(args: &Args, message: &str) -> Failure {
    Failure::new(Exit::Parameters, format!("{}: {message}", args.program()))
}
