//! `--help`: the overview of all commands, and one command's page.

use super::table::{Command, Group, Opt};
use crate::command::COMMANDS;
use std::fmt::Write;

/// Where descriptions start in a list of options.
const COLUMN: usize = 32;

/// `keyway --help`: all commands by group, on one screen.
pub(super) fn overview(program: &str) -> String {
    let mut text = format!(
        "{}Linux disk encryption without root: makes, opens, edits, reads and writes LUKS volumes in files and devices.\n\n\
         Usage: {program} [OPTION...] COMMAND [OPERAND...]\n",
        version(program)
    );
    list(&mut text, "Without root", Group::Rootless);
    list(&mut text, "cryptsetup's commands", Group::Cryptsetup);
    let absent: Vec<&str> = COMMANDS.iter().filter(|c| c.group == Group::Absent).map(|c| c.name).collect();
    let _ = writeln!(text, "\nNot built yet: {}.", absent.join(", "));
    text.push_str(
        "\nExamples\n  \
         keyway luksFormat disk.img            make a LUKS2 volume in a file\n  \
         keyway read disk.img -o plain.img     get the data out\n  \
         keyway luksAddKey disk.img            add a passphrase\n\n\
         \"keyway COMMAND --help\" shows a command's options.\n",
    );
    text
}

fn list(text: &mut String, title: &str, group: Group) {
    let _ = writeln!(text, "\n{title}");
    for command in COMMANDS.iter().filter(|c| c.group == group) {
        let _ = writeln!(text, "  {:<18}{}", command.name, command.about);
    }
}

/// The version line; scripts read cryptsetup's second word.
pub(super) fn version(program: &str) -> String {
    let version = env!("CARGO_PKG_VERSION");
    match program {
        "cryptsetup" => format!("cryptsetup 2.8.0 (keyway {version})\n"),
        _ => format!("keyway {version} (cryptsetup 2.8's command line)\n"),
    }
}

/// "keyway luksAddKey [OPTION...] DEVICE [NEW-KEY-FILE]".
pub(super) fn synopsis(program: &str, command: &Command) -> String {
    let mut text = format!("{program} {} [OPTION...]", command.name);
    for operand in command.operands {
        let _ = if operand.required {
            write!(text, " {}", operand.name)
        } else {
            write!(text, " [{}]", operand.name)
        };
    }
    text
}

/// One command's page.
pub(super) fn command(program: &str, command: &Command) -> String {
    let mut text = format!("{}\n\nUsage: {}\n", command.about, synopsis(program, command));
    if !command.aliases.is_empty() {
        let names: Vec<&str> = command.aliases.iter().map(|a| a.name).collect();
        let _ = writeln!(text, "Also: {}", names.join(", "));
    }
    if !command.operands.is_empty() {
        text.push('\n');
        for operand in command.operands {
            row(&mut text, operand.name, operand.help);
        }
    }
    text.push_str("\nOptions\n");
    for option in command.options {
        row(&mut text, &names(option), option.help);
    }
    for option in super::shared::EVERYWHERE {
        row(&mut text, &names(option), option.help);
    }
    if !command.examples.is_empty() {
        text.push_str("\nExamples\n");
        for example in command.examples {
            let _ = writeln!(text, "  {}\n      {}", example.line, example.does);
        }
    }
    let _ = writeln!(text, "\nThe whole story: man keyway-{}", command.name);
    text
}

fn row(text: &mut String, names: &str, help: &str) {
    if names.len() + 4 > COLUMN {
        let _ = writeln!(text, "  {names}\n{:COLUMN$}{help}", "");
    } else {
        let _ = writeln!(text, "  {names:<width$}{help}", width = COLUMN - 2);
    }
}

/// "-c, --cipher SPEC".
pub(super) fn names(option: &Opt) -> String {
    let short = option.short.map_or_else(|| "    ".to_owned(), |c| format!("-{c}, "));
    let value = if option.takes_value() { format!(" {}", option.value) } else { String::new() };
    format!("{short}--{}{value}", option.long)
}
