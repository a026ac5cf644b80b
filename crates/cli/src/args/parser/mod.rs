//! From an argument vector to [`Args`], by popt's conventions: options may come before, between and
//! after the command and its operands, `--name=value` and `--name value` are equivalent, letters
//! can be bundled, `--` ends the options.
//!
//! `tables` makes clap's parser of a command's table, `refusals` the line for a wrong command line, and
//! `as_cryptsetup` is what the name cryptsetup changes.

mod as_cryptsetup;
mod refusals;
mod tables;

pub(super) use as_cryptsetup::CRYPTSETUP;
pub(crate) use as_cryptsetup::program_name;
pub(super) use tables::clap_command;

use super::help::{self, Extent};
use super::option::Opt;
use super::release::Release;
use super::suggest::{did_you_mean, quoted};
use super::table::{Alias, Command, Commands, Verb};
use super::values::Args;
use super::{foreign, habits, rules, shared};
use crate::output::failure::{Exit, Failure, Result};
use refusals::{check_operands, explain, not_allowed, unknown_option, usage};
use std::ffi::{OsStr, OsString};

/// What the command line asks for.
pub(crate) enum Invocation {
    /// To run a command.
    Run(Box<Args>),
    /// To print a text, such as help.
    Print(String),
}

/// Parses an argument vector; the first entry is the program's name.
pub(crate) fn parse(
    commands: &'static Commands,
    mut argv: impl Iterator<Item = OsString>,
) -> Result<Invocation> {
    let typed = argv.next().unwrap_or_default();
    let program = program_name(&typed);
    Release::check()?;
    let parsed = parse_arguments(commands, program, &typed, argv.collect());
    parsed.map_err(|failure| match program {
        CRYPTSETUP => as_cryptsetup::refused(commands, failure),
        _ => failure,
    })
}

fn parse_arguments(
    commands: &'static Commands,
    program: &'static str,
    typed: &OsStr,
    argv: Vec<OsString>,
) -> Result<Invocation> {
    // -h is --hash, as in cryptsetup. On its own it can only be a request for help.
    if argv.is_empty() || argv == ["-h"] || argv == ["help"] {
        return match (argv.is_empty(), program) {
            (true, CRYPTSETUP) => Err(as_cryptsetup::no_action()),
            (true, _) => {
                Err(Failure::new(Exit::Parameters, help::screen(commands, program, typed).trim_end()))
            }
            (false, _) => Ok(Invocation::Print(overview(commands, program))),
        };
    }
    if let [help, name, rest @ ..] = &argv[..]
        && help == "help"
    {
        if name == help::EXIT_CODES {
            return Ok(Invocation::Print(help::exit_codes()));
        }
        let (command, _) = look_up(commands, program, &name.to_string_lossy())?;
        return Ok(Invocation::Print(page(program, command, rest.first(), Extent::Usual)));
    }
    let Some(position) = find_command(commands, program, &argv)? else {
        return without_command(commands, program, &argv);
    };
    let name = argv[position].to_string_lossy().into_owned();
    let (command, alias) = look_up(commands, program, &name)?;
    let rest: Vec<OsString> = argv[..position].iter().chain(&argv[position + 1..]).cloned().collect();
    run_command(commands, program, command, alias, rest)
}

/// `--help` without a command; cryptsetup's with one, too.
fn overview(commands: &Commands, program: &str) -> String {
    match program {
        CRYPTSETUP => help::cryptsetup::help(commands),
        _ => help::overview(commands),
    }
}

/// The index of the first argument that is neither an option nor an option's value.
fn find_command(commands: &Commands, program: &str, argv: &[OsString]) -> Result<Option<usize>> {
    let mut index = 0;
    while let Some(argument) = argv.get(index) {
        let bytes = argument.as_encoded_bytes();
        if bytes == b"--" {
            return Ok((index + 1 < argv.len()).then_some(index + 1));
        }
        if !bytes.starts_with(b"-") || bytes == b"-" {
            return Ok(Some(index));
        }
        index += if takes_next(commands, program, &argument.to_string_lossy())? { 2 } else { 1 };
    }
    Ok(None)
}

/// Whether the value of an option argument (`--name`, `-abc`) is in the next argument.
fn takes_next(commands: &Commands, program: &str, argument: &str) -> Result<bool> {
    if let Some(long) = argument.strip_prefix("--") {
        let name = long.split('=').next().unwrap_or(long);
        let option = commands
            .any_option(|o| o.long == name)
            .ok_or_else(|| unknown_option(commands, program, argument))?;
        return Ok(option.takes_value() && !long.contains('='));
    }
    let letters: Vec<char> = argument.chars().skip(1).collect();
    for (i, letter) in letters.iter().enumerate() {
        let option = commands
            .any_option(|o| o.short == Some(*letter))
            .ok_or_else(|| unknown_option(commands, program, &format!("-{letter}")))?;
        if option.takes_value() {
            return Ok(i + 1 == letters.len());
        }
    }
    Ok(false)
}

/// Handles a command line that has options but no command.
fn without_command(commands: &Commands, program: &'static str, argv: &[OsString]) -> Result<Invocation> {
    let asks = |option: &Opt| {
        let letter = option.short.map(|c| format!("-{c}"));
        argv.iter().any(|a| {
            a.to_str()
                .is_some_and(|a| a.strip_prefix("--") == Some(option.long) || Some(a) == letter.as_deref())
        })
    };
    if asks(&shared::VERSION) {
        Ok(Invocation::Print(help::version(program)))
    } else if asks(&shared::USAGE) && program == CRYPTSETUP {
        Ok(Invocation::Print(help::cryptsetup::usage(commands)))
    } else if asks(&shared::HELP) || asks(&shared::USAGE) || asks(&shared::HELP_ALL) && program != CRYPTSETUP
    {
        Ok(Invocation::Print(overview(commands, program)))
    } else {
        match program {
            CRYPTSETUP => Err(as_cryptsetup::no_action()),
            _ => Err(usage(program, "a command is missing; \"--help\" lists them".to_owned())),
        }
    }
}

/// The command of that name, and the alias that it was found by.
pub(super) fn look_up(
    commands: &Commands,
    program: &str,
    name: &str,
) -> Result<(&'static Command, Option<&'static Alias>)> {
    if let Some(command) = commands.all.iter().find(|c| c.answers_to(name)) {
        return Ok((command, command.aliases.iter().find(|a| a.name == name)));
    }
    if commands.left_out.contains(&name) {
        return Err(usage(program, format!("{name} is not in this program, a small build for ramdisks")));
    }
    let names =
        commands.all.iter().flat_map(|c| std::iter::once(c.name).chain(c.aliases.iter().map(|a| a.name)));
    let hint = habits::hint(name).or_else(|| did_you_mean(name, names, quoted));
    let hint = hint.unwrap_or_else(|| "\"--help\" lists the commands.".to_owned());
    let unknown = match program {
        CRYPTSETUP => format!("Unknown action. ({name}; {hint})"),
        _ => format!("unknown command \"{name}\"; {hint}"),
    };
    Err(usage(program, unknown))
}

fn run_command(
    commands: &'static Commands,
    program: &'static str,
    command: &'static Command,
    alias: Option<&'static Alias>,
    rest: Vec<OsString>,
) -> Result<Invocation> {
    if let Some(option) = foreign::find(commands, command, &rest) {
        return Err(not_allowed(commands, program, command, option));
    }
    let mut matches = clap_command(command)
        .try_get_matches_from(&rest)
        .map_err(|e| explain(commands, program, command, &rest, &e))?;
    let mut operands: Vec<OsString> = matches.remove_many("operands").into_iter().flatten().collect();
    let asks = |option: &Opt| matches.get_flag(option.long);
    let text = match program {
        CRYPTSETUP => as_cryptsetup::asked_for(commands, asks),
        _ => asked_for(program, command, asks, operands.first()),
    };
    if let Some(text) = text {
        return Ok(Invocation::Print(text));
    }
    if program == CRYPTSETUP
        && let Some(option) = as_cryptsetup::not_its_own(&matches)
    {
        return Err(unknown_option(commands, program, &format!("--{}", option.long)));
    }
    check_operands(program, command, &operands)?;
    if alias.is_some_and(|alias| alias.name == "create") && operands.len() > 1 {
        // This old name has the two operands of "open" the other way round.
        operands.swap(0, 1);
    }
    let test_only = matches.get_flag(shared::TEST_ARGS.long);
    let args = Args::new(program, command, matches, operands, alias.and_then(|a| a.device_type));
    let args = args.map_err(|failure| failure.of_command_line(program))?;
    rules::check(&args)?;
    if test_only {
        return Ok(Invocation::Print("No action taken. Invoked with --test-args option.\n".to_owned()));
    }
    Ok(Invocation::Run(Box::new(args)))
}

/// The text that is asked for instead of the command.
fn asked_for(
    program: &str,
    command: &'static Command,
    asks: impl Fn(&Opt) -> bool,
    verb: Option<&OsString>,
) -> Option<String> {
    match () {
        () if asks(&shared::VERSION) => Some(help::version(program)),
        () if asks(&shared::HELP_ALL) => Some(page(program, command, verb, Extent::All)),
        () if asks(&shared::HELP) => Some(page(program, command, verb, Extent::Usual)),
        () => asks(&shared::USAGE).then(|| format!("Usage: {}\n", help::synopsis(program, command))),
    }
}

/// The page of a command, or of the verb of it that is named.
fn page(program: &str, command: &'static Command, verb: Option<&OsString>, extent: Extent) -> String {
    let named = |it: &&Verb| !it.name.is_empty() && verb.is_some_and(|verb| verb == it.name);
    match command.verbs().iter().find(named).filter(|_| program != CRYPTSETUP) {
        Some(verb) => help::verb(program, command, verb, extent),
        None => help::command(program, command, extent),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verb::COMMANDS;

    /// Words that command lines are made of, valid and invalid.
    fn vocabulary() -> Vec<OsString> {
        use std::os::unix::ffi::OsStringExt;
        let mut words: Vec<OsString> =
            ["", "-", "--", "---", "-=", "--=", "=", "x", "-1", "7", "0x", "1K", "YES", "-q=", "-\u{e9}"]
                .map(OsString::from)
                .to_vec();
        words.push(OsString::from_vec(vec![b'-', 0xff]));
        words.push(OsString::from_vec(vec![b'-', b'-', 0xff, b'=']));
        words.push(OsString::from_vec(vec![0xff]));
        for command in COMMANDS.all {
            words.push(command.name.into());
            for option in command.all_options() {
                words.push(format!("--{}", option.long).into());
                words.push(format!("--{}=3", option.long).into());
                words.extend(option.short.map(|c| OsString::from(format!("-{c}"))));
                words.extend(option.short.map(|c| OsString::from(format!("-v{c}7"))));
            }
        }
        words
    }

    /// Any command line gives an invocation or a one-line error, never a panic.
    #[test]
    fn no_command_line_panics() {
        let words = vocabulary();
        let mut state = 1_u64;
        let mut below = |n: usize| {
            // Knuth's MMIX generator; its high bits have the better quality.
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) as usize % n
        };
        for _ in 0..5_000 {
            let length = below(6);
            let line: Vec<OsString> = (0..length).map(|_| words[below(words.len())].clone()).collect();
            let argv = std::iter::once(OsString::from("keyway")).chain(line.clone());
            if let Err(failure) = parse(&COMMANDS, argv) {
                let one_line = failure.message().lines().count() == 1 || line.is_empty();
                assert!(one_line, "{line:?}: {}", failure.message());
            }
        }
    }
}
