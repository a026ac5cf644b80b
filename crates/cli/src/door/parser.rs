//! From an argument vector to [`Args`], by popt's conventions: options may come before, between and
//! after the command and its operands, `--name=value` and `--name value` are equivalent, letters
//! can be bundled, `--` ends the options.

use super::help::{self, Extent};
use super::release::Release;
use super::suggest::{did_you_mean, quoted};
use super::table::{Alias, Command, Commands, Group, Opt, Verb};
use super::values::Args;
use super::{foreign, habits, rules, shared};
use crate::say::failure::{Exit, Failure, Result};
use clap::builder::ValueParser;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::parser::ValueSource;
use clap::{Arg, ArgAction, ArgMatches};
use std::ffi::{OsStr, OsString};
use std::path::Path;

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
        // How it is used stands before what is wrong, which scripts read as the last line.
        CRYPTSETUP => failure.after(&help::cryptsetup::usage(commands)),
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
            (true, CRYPTSETUP) => Err(no_action()),
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

/// What cryptsetup says where no action is named.
fn no_action() -> Failure {
    Failure::new(Exit::Parameters, "cryptsetup: Argument <action> missing.")
}

/// `--help` without a command; cryptsetup's with one, too.
fn overview(commands: &Commands, program: &str) -> String {
    match program {
        CRYPTSETUP => help::cryptsetup::help(commands),
        _ => help::overview(commands),
    }
}

/// The name by which scripts written for cryptsetup call the program. They read its messages, which
/// then begin with cryptsetup's words.
pub(super) const CRYPTSETUP: &str = "cryptsetup";

/// "cryptsetup" if called by that name, else "keyway".
pub(crate) fn program_name(argv0: &OsStr) -> &'static str {
    match Path::new(argv0).file_name() {
        Some(name) if name == CRYPTSETUP => CRYPTSETUP,
        _ => "keyway",
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
            CRYPTSETUP => Err(no_action()),
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
    if let Some(text) = asked_for(commands, program, command, &matches, operands.first()) {
        return Ok(Invocation::Print(text));
    }
    if let Some(option) = shared::NOT_CRYPTSETUPS.iter().find(|option| is_given(&matches, option))
        && program == CRYPTSETUP
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

/// The text that is asked for instead of the command. cryptsetup has one help, and no `--help-all`.
fn asked_for(
    commands: &Commands,
    program: &str,
    command: &'static Command,
    matches: &ArgMatches,
    verb: Option<&OsString>,
) -> Option<String> {
    let asks = |option: &Opt| matches.get_flag(option.long);
    match program {
        CRYPTSETUP if asks(&shared::HELP) => Some(help::cryptsetup::help(commands)),
        CRYPTSETUP if asks(&shared::USAGE) => Some(help::cryptsetup::usage(commands)),
        _ if asks(&shared::VERSION) => Some(help::version(program)),
        CRYPTSETUP => None,
        _ if asks(&shared::HELP_ALL) => Some(page(program, command, verb, Extent::All)),
        _ if asks(&shared::HELP) => Some(page(program, command, verb, Extent::Usual)),
        _ => asks(&shared::USAGE).then(|| format!("Usage: {}\n", help::synopsis(program, command))),
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

fn is_given(matches: &ArgMatches, option: &Opt) -> bool {
    // A flag has a value that nobody typed.
    matches.try_contains_id(option.long).unwrap_or(false)
        && matches.value_source(option.long) == Some(ValueSource::CommandLine)
}

/// The clap parser of one command's table.
pub(super) fn clap_command(command: &'static Command) -> clap::Command {
    let mut parser = clap::Command::new(command.name)
        .about(command.about)
        .no_binary_name(true)
        .disable_help_flag(true)
        .disable_version_flag(true)
        .args_override_self(true);
    for option in command.all_options() {
        parser = parser.arg(clap_arg(option));
    }
    parser.arg(Arg::new("operands").num_args(0..).value_parser(ValueParser::os_string()))
}

fn clap_arg(option: &'static Opt) -> Arg {
    let mut arg = Arg::new(option.long).long(option.long).help(option.help);
    if let Some(letter) = option.short {
        arg = arg.short(letter);
    }
    if !option.takes_value() {
        return arg.action(ArgAction::SetTrue);
    }
    // Like popt, takes the next argument as the value even if it starts with a dash.
    arg.action(ArgAction::Append)
        .allow_hyphen_values(true)
        .value_name(option.value)
        .value_parser(ValueParser::os_string())
}

fn check_operands(program: &str, command: &Command, operands: &[OsString]) -> Result<()> {
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
    let takes_any =
        command.name == "isLuks" || command.operands.last().is_some_and(|last| last.name.ends_with("..."));
    let extra = operands.get(command.operands.len()).filter(|_| program != CRYPTSETUP && !takes_any);
    let Some(extra) = extra else { return Ok(()) };
    let (extra, synopsis) = (extra.to_string_lossy(), help::synopsis(program, command));
    Err(usage(program, format!("{}: \"{extra}\" is one operand too many; usage: {synopsis}", command.name)))
}

/// clap's error as one line in this program's style.
fn explain(
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
fn not_allowed(commands: &Commands, program: &str, command: &Command, option: &Opt) -> Failure {
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

fn unknown_option(commands: &Commands, program: &str, argument: &str) -> Failure {
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

fn usage(program: &str, message: String) -> Failure {
    Failure::new(Exit::Parameters, format!("{program}: {message}"))
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
