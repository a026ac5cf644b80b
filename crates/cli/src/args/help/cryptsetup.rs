//! Help for scripts and people that know cryptsetup: one list of all options and actions in popt's
//! layout, whichever action is named; they search it for what this release can do. Words are Keyway's.

use super::{operands_of_cryptsetup, version};
use crate::args::option::Opt;
use crate::args::release::Release;
use crate::args::shared;
use crate::args::table::{Command, Commands, Group};
use std::fmt::Write;

/// `cryptsetup --help`.
pub(in crate::args) fn help(commands: &Commands) -> String {
    let mut text = format!("{}Usage: cryptsetup {OPERANDS}\n\nHelp options:\n", version("cryptsetup"));
    for option in options(commands) {
        row(&mut text, option);
    }
    text.push_str("\n<action> is one of:\n");
    for command in actions(commands) {
        let about = command.about.trim_end_matches('.');
        let _ = writeln!(text, "\t{} {} - {about}", command.name, operands_of_cryptsetup(command));
    }
    text.push_str("\nYou can also use old <action> syntax aliases:\n");
    for command in actions(commands).filter(|command| !command.aliases.is_empty()) {
        let names: Vec<&str> = command.aliases.iter().map(|alias| alias.name).collect();
        let _ = writeln!(text, "\t{}: {}", command.name, names.join(", "));
    }
    text + DEFAULTS + plain() + MORE
}

/// `cryptsetup --usage`, which also stands before the line that says what is wrong with a command line.
pub(in crate::args) fn usage(commands: &Commands) -> String {
    let options = options(commands);
    let letters: String =
        options.iter().filter(|option| !option.takes_value()).filter_map(|option| option.short).collect();
    let mut text = format!("Usage: cryptsetup [-{letters}]");
    let mut used = text.len();
    for word in options.iter().map(|option| bracketed(option)).chain([OPERANDS.to_owned()]) {
        if used + 1 + word.len() > LAST_COLUMN || word == OPERANDS {
            let _ = write!(text, "\n{:INDENT$}{word}", "");
            used = INDENT + word.len();
        } else {
            let _ = write!(text, " {word}");
            used += 1 + word.len();
        }
    }
    text + "\n"
}

/// The actions, in the order of Keyway's help.
fn actions(commands: &Commands) -> impl Iterator<Item = &'static Command> {
    commands.shown().filter(|command| matches!(command.group, Group::Cryptsetup(_)))
}

/// Their options: help's first, then by name.
fn options(commands: &Commands) -> Vec<&'static Opt> {
    let is_help = |option: &Opt| HELP.iter().any(|help| help.long == option.long);
    let is_unknown = |option: &Opt| shared::NOT_CRYPTSETUPS.iter().any(|other| other.long == option.long);
    let mut options: Vec<&Opt> = actions(commands).flat_map(Command::all_options).collect();
    options.retain(|option| !is_help(option) && !is_unknown(option));
    // The sort is stable: the first command that has an option says what it is for.
    options.sort_by_key(|option| option.long);
    options.dedup_by_key(|option| option.long);
    HELP.iter().copied().chain(options).collect()
}

/// "[-c|--cipher=SPEC]".
fn bracketed(option: &Opt) -> String {
    let letter = option.short.map(|letter| format!("-{letter}|")).unwrap_or_default();
    format!("[{letter}{}]", long(option))
}

/// "--cipher=SPEC".
fn long(option: &Opt) -> String {
    let value = if option.takes_value() { format!("={}", option.value) } else { String::new() };
    format!("--{}{value}", option.long)
}

fn row(text: &mut String, option: &Opt) {
    let letter = option.short.map_or_else(|| "    ".to_owned(), |letter| format!("-{letter}, "));
    let names = format!("  {letter}{}", long(option));
    let help = super::wrapped(option.help, COLUMN);
    let _ = match names.len() < COLUMN {
        true => writeln!(text, "{names:COLUMN$}{help}"),
        false => writeln!(text, "{names}\n{:COLUMN$}{help}", ""),
    };
}

/// What `open --type plain` takes where the command line does not say.
fn plain() -> &'static str {
    match Release::followed() {
        Release::V2_6 => "\tplain: aes-cbc-essiv:sha256, Key: 256 bits, Password hashing: ripemd160\n",
        Release::V2_8 => "\tplain: aes-xts-plain64, Key: 256 bits, Password hashing: sha256\n",
    }
}

const HELP: &[&Opt] = &[&shared::HELP, &shared::USAGE, &shared::VERSION];
const OPERANDS: &str = "[OPTION...] <action> <action-specific>";
const COLUMN: usize = 40;
const INDENT: usize = 8;
const LAST_COLUMN: usize = 79;

const DEFAULTS: &str = "
<name> is the device to create under /dev/mapper
<device> is the encrypted device
<key slot> is the LUKS key slot number to modify
<key file> optional key file for the new key for luksAddKey action

Default compiled-in metadata format is LUKS2 (for luksFormat action).

Default compiled-in key and passphrase parameters:
\tMaximum keyfile size: 8192kB, Maximum interactive passphrase length 512 (characters)
Default PBKDF for LUKS1: pbkdf2, iteration time: 2000 (ms)
Default PBKDF for LUKS2: argon2id
\tIteration time: 2000, Memory required: 1048576kB, Parallel threads: 4

Default compiled-in device cipher parameters:
\tLUKS: aes-xts-plain64, Key: 256 bits, LUKS header hashing: sha256, RNG: /dev/urandom
\tLUKS: Default keysize with XTS mode (two internal keys) will be doubled.
";

const MORE: &str = "
This is keyway under cryptsetup's name: \"cryptsetup help luksFormat\" shows one action's options and examples.
";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verb::COMMANDS;

    #[test]
    fn every_option_and_action_of_cryptsetups_is_listed_once() {
        let text = help(&COMMANDS);
        let words: Vec<&str> = text.split([' ', '=', '\n', '\t']).collect();
        for option in options(&COMMANDS) {
            let name = format!("--{}", option.long);
            let rows = text.lines().filter(|line| line.starts_with("  -") || line.starts_with("      --"));
            let listed = rows.filter(|row| row.split([' ', '=']).any(|word| word == name)).count();
            assert_eq!(listed, 1, "{name}");
        }
        for command in actions(&COMMANDS) {
            assert!(text.contains(&format!("\n\t{} ", command.name)), "{}", command.name);
            assert!(command.aliases.iter().all(|alias| words.contains(&alias.name.trim_end_matches(','))
                || words.contains(&format!("{},", alias.name).as_str())));
        }
        assert!(!text.contains("--password-command") && !text.contains("--backend-"), "{text}");
    }

    #[test]
    fn lines_fit_as_popts_do() {
        let usage = usage(&COMMANDS);
        for line in usage.lines() {
            assert!(line.len() <= LAST_COLUMN, "{line}");
        }
        assert!(usage.ends_with("\n        [OPTION...] <action> <action-specific>\n"), "{usage}");
        let options = help(&COMMANDS);
        for line in options.lines().take_while(|line| !line.starts_with("<action>")).skip(1) {
            assert!(line.chars().count() <= 80, "{line}");
        }
    }
}
