//! The line for a command line that is wrong: what, and what was probably meant.

use super::CRYPTSETUP;
use crate::args::help;
use crate::args::option::Opt;
use crate::args::suggest::did_you_mean;
use crate::args::table::{Command, Commands, Group, Operand};
use crate::output::failure::{Exit, Failure, Result};
use clap::error::{ContextKind, ContextValue, ErrorKind};
use std::ffi::OsString;

/// Refuses operands that are missing, or too many.
pub(super) fn check_operands(program: &str, command: &Command, operands: &[OsString]) -> Result<()> {
    let required = command.operands.iter().filter(|o| o.required).count();
    if operands.len() >= required {
        return check_extra_operands(program, command, operands);
    }
    let missing = match program {
        CRYPTSETUP => format!("requires {} as arguments", help::operands_of_cryptsetup(command)),
        _ => {
            let (missing, synopsis) =
                (command.operands[operands.len()].name, help::synopsis(program, command));
            format!("{missing} is missing; usage: {synopsis}")
        }
    };
    Err(usage(program, format!("{}: {missing}", command.name)))
}

/// Refuses operands that nothing would be done with. cryptsetup ignores them.
fn check_extra_operands(program: &str, command: &Command, operands: &[OsString]) -> Result<()> {
    // isLuks refuses them itself, with cryptsetup's own exit code for it.
    let takes_any = command.name == "isLuks" || command.operands.last().is_some_and(Operand::repeats);
    let extra = operands.get(command.operands.len()).filter(|_| program != CRYPTSETUP && !takes_any);
    let Some(extra) = extra else { return Ok(()) };
    let (extra, synopsis) = (extra.to_string_lossy(), help::synopsis(program, command));
    Err(usage(program, format!("{}: unexpected operand \"{extra}\"; usage: {synopsis}", command.name)))
}

/// clap's error as one line in this program's style.
pub(super) fn explain(
    commands: &Commands,
    program: &str,
    command: &Command,
    typed: &[OsString],
    error: &clap::Error,
) -> Failure {
    let argument = match error.get(ContextKind::InvalidArg) {
        Some(ContextValue::String(s)) => s.clone(),
        _ => String::new(),
    };
    let name = argument.split([' ', '=']).next().unwrap_or_default();
    match error.kind() {
        ErrorKind::UnknownArgument => unknown_option(commands, program, name),
        ErrorKind::InvalidValue | ErrorKind::TooFewValues | ErrorKind::WrongNumberOfValues => {
            about_option(program, name, ": missing argument", " needs a value")
        }
        ErrorKind::TooManyValues => {
            let with_value = format!("{name}=");
            let mut typed = typed.iter().filter_map(|argument| argument.to_str());
            let given = typed.find(|argument| argument.starts_with(&with_value)).unwrap_or(name);
            let shown = if program == CRYPTSETUP { given } else { name };
            about_option(program, shown, ": option does not take an argument", " takes no value")
        }
        _ => usage(program, format!("{}: cannot parse the command line near \"{argument}\"", command.name)),
    }
}

/// What is wrong with an option as such: in cryptsetup's words (popt's, without the program's name),
/// or in this program's.
fn about_option(program: &str, option: &str, theirs: &str, ours: &str) -> Failure {
    match program {
        CRYPTSETUP => Failure::new(Exit::Parameters, format!("{option}{theirs}")),
        _ => usage(program, format!("{option}{ours}")),
    }
}

/// An option that belongs to other commands.
pub(super) fn not_allowed(commands: &Commands, program: &str, command: &Command, option: &Opt) -> Failure {
    let takes = |other: &&Command| other.all_options().any(|o| o.long == option.long);
    // cryptsetup's first: who types its option means one of them.
    let (theirs, ours): (Vec<&Command>, Vec<&Command>) = commands
        .all
        .iter()
        .copied()
        .filter(takes)
        .partition(|other| matches!(other.group, Group::Cryptsetup(_)));
    let takers: Vec<&str> = theirs.into_iter().chain(ours).map(|other| other.name).collect();
    let meant = MEANT.iter().find(|(name, long, _)| *name == command.name && *long == option.long);
    let hint = match (meant, &takers[..]) {
        (Some((.., hint)), _) => (*hint).to_owned(),
        (None, [one]) => format!("{one} takes it."),
        // A list of half the program helps nobody.
        (None, many) if many.len() > MOST_TAKERS => {
            let (first, others) = many.split_at(LISTED_TAKERS);
            format!("{} and {} others take it.", first.join(", "), others.len())
        }
        (None, few) => format!("{} take it.", few.join(", ")),
    };
    let (option, command) = (option.long, command.name);
    usage(program, format!("Option --{option} is not allowed with {command} action; {hint}"))
}

/// Command, option of others, and what is probably meant.
static MEANT: &[(&str, &str, &str)] = &[
    (
        "luksKillSlot",
        "key-slot",
        "it takes the number as its second argument: \"luksKillSlot DEVICE NUMBER\".",
    ),
    ("luksRemoveKey", "key-slot", "\"luksKillSlot DEVICE NUMBER\" removes a keyslot by its number."),
];

/// Commands that are listed as those that take an option …
const MOST_TAKERS: usize = 8;
/// … and how many of them are where there are more.
const LISTED_TAKERS: usize = 4;

/// An option that no command has.
pub(super) fn unknown_option(commands: &Commands, program: &str, argument: &str) -> Failure {
    let name = argument.split('=').next().unwrap_or(argument);
    let options = commands.options().map(|o| o.long);
    let near = || did_you_mean(&name[2..], options, |near| format!("--{near}"));
    let hint = name.starts_with("--").then(near).flatten();
    let hint = hint.unwrap_or_else(|| "\"--help\" after a command lists its options.".to_owned());
    match program {
        CRYPTSETUP => Failure::new(Exit::Parameters, format!("{name}: unknown option; {hint}")),
        _ => usage(program, format!("unknown option {name}; {hint}")),
    }
}

/// What is wrong, after the program's name.
pub(super) fn usage(program: &str, message: String) -> Failure {
    Failure::new(Exit::Parameters, format!("{program}: {message}"))
}
