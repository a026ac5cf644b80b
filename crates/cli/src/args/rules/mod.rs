//! What is refused of a line before anything begins. Messages and their order are cryptsetup's (src/cryptsetup.c,
//! `verify_*` and `basic_options_cb`) where it has them; `--test-args` ends after these checks.

mod values;

use super::rule::Rule;
use super::shared;
use super::values::Args;
use crate::output::failure::{Exit, Failure, Result};

/// Refuses a command line that breaks a rule of its command or of its options.
pub(super) fn check(args: &Args) -> Result<()> {
    let value = if args.is_action() { values::broken(args) } else { None };
    match value.or_else(|| broken(args)) {
        Some(message) => Err(refused(args, &message)),
        None => Ok(()),
    }
}

/// The message of the first rule that is broken.
fn broken(args: &Args) -> Option<String> {
    let general = shared::RULES.into_iter().flatten();
    let with = shared::RULES_WITH.into_iter().filter(|(option, _)| args.takes(option));
    let mut rules = general.chain(args.command().rules).chain(with.flat_map(|(_, rules)| rules));
    rules.find_map(|rule: &Rule| rule.broken_by(args))
}

/// With the program's name in front, as cryptsetup reports a wrong command line.
fn refused(args: &Args, message: &str) -> Failure {
    Failure::new(Exit::Parameters, format!("{}: {message}", args.program())).of_command_line(args.program())
}
