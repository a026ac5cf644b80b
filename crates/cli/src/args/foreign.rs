//! Options on a command line that belong to other commands than the one that it names.

use super::option::Opt;
use super::table::{Command, Commands};
use std::ffi::OsString;

/// The option among the arguments that belongs to other commands; if there are several, the first
/// by name, which cryptsetup reports.
pub(super) fn find(commands: &Commands, command: &Command, arguments: &[OsString]) -> Option<&'static Opt> {
    let mut found: Option<&'static Opt> = None;
    let mut arguments = arguments.iter().map(|argument| argument.to_string_lossy());
    while let Some(argument) = arguments.next().filter(|argument| argument != "--") {
        let options = spelled(commands, command, &argument);
        let is_own = |option: &Opt| command.all_options().any(|own| own.long == option.long);
        let others = options.iter().copied().filter(|option| !is_own(option));
        found = found.into_iter().chain(others).min_by_key(|option| option.long);
        let is_spelled_out = match argument.strip_prefix("--") {
            Some(long) => !long.contains('='),
            None => argument.chars().count() == 1 + options.len(),
        };
        if is_spelled_out && options.last().is_some_and(|last| last.takes_value()) {
            // Its value.
            arguments.next();
        }
    }
    found
}

/// The options that an argument spells: `--name`, `--name=value`, `-abc`, `-cvalue`.
fn spelled(commands: &Commands, command: &Command, argument: &str) -> Vec<&'static Opt> {
    let look_up = |fits: &dyn Fn(&Opt) -> bool| {
        command.all_options().find(|option| fits(option)).or_else(|| commands.any_option(fits))
    };
    if let Some(long) = argument.strip_prefix("--") {
        let name = long.split('=').next().unwrap_or(long);
        return look_up(&|option: &Opt| option.long == name).into_iter().collect();
    }
    let mut options = Vec::new();
    for letter in argument.strip_prefix('-').unwrap_or_default().chars() {
        let Some(option) = look_up(&|option: &Opt| option.short == Some(letter)) else { break };
        options.push(option);
        if option.takes_value() {
            break;
        }
    }
    options
}
