//! `--help`: the overview of all commands. [`first`] is the screen without arguments, [`page`] prints
//! one command's page, [`usual`] says which of its options most of its users need; [`cryptsetup`] is
//! what scripts of cryptsetup's read.

pub(super) mod cryptsetup;
mod first;
mod page;
mod usual;

use super::option::Opt;
use super::release::Release;
use super::table::{Command, Commands, Group, Topic};
use crate::output::failure::Exit;
pub(super) use first::screen;
pub(super) use page::{Extent, command, verb};
use std::fmt::Write;

/// A terminal's usual width.
const WIDTH: usize = 80;

/// `keyway --help`: all commands by group, on one screen.
pub(super) fn overview(commands: &Commands) -> String {
    let mut text = heading("keyway");
    let as_root = names_in(commands, Group::Boot);
    let _ = writeln!(text, "\nKeyway's commands: no root needed, except for {as_root}");
    lines(&mut text, commands.rootless().filter(|command| command.group != Group::Also));
    lines(&mut text, commands.of(Group::Boot));
    names_row(&mut text, commands, "Also", Group::Also);
    names_row(&mut text, commands, "Other formats", Group::Containers);
    text.push_str("\ncryptsetup's commands, with its options\n");
    for topic in Topic::ALL {
        names_row(&mut text, commands, &format!("{topic:?}"), Group::Cryptsetup(topic));
    }
    text.push_str("More: \"keyway COMMAND --help\", \"keyway man COMMAND\", \"keyway help exit-codes\".\n");
    text
}

/// What stands on top of both screens.
fn heading(program: &str) -> String {
    format!(
        "{}Linux disk encryption without root: LUKS volumes in files and on devices.\n\n\
         Usage: {program} [OPTION...] COMMAND [OPERAND...]\n",
        version(program)
    )
}

/// A line for each command: its name, and what it does.
fn lines(text: &mut String, commands: impl Iterator<Item = &'static Command>) {
    for command in commands {
        let _ = writeln!(text, "  {:<14}{}", command.name, command.about);
    }
}

/// The names of a group's commands, under a title.
fn names_row(text: &mut String, commands: &Commands, title: &str, group: Group) {
    let _ = writeln!(text, "  {title:<14}{}", wrapped(&names_in(commands, group), 16));
}

/// The operand of `help` that lists exit codes.
pub(super) const EXIT_CODES: &str = "exit-codes";

/// `keyway help exit-codes`.
pub(super) fn exit_codes() -> String {
    let mut text = "Exit codes: cryptsetup's, and 6\n\n".to_owned();
    for (code, meaning) in Exit::table() {
        let _ = writeln!(text, "  {code}  {meaning}");
    }
    text.push_str("\nIf a signal ends the program, the shell reports 128 plus its number.\n");
    text
}

fn names_in(commands: &Commands, group: Group) -> String {
    let names: Vec<&str> = commands.of(group).map(|c| c.name).collect();
    names.join(", ")
}

/// Breaks a list at spaces so that lines stay within [`WIDTH`], indentation included.
fn wrapped(list: &str, indent: usize) -> String {
    let mut text = String::new();
    let mut used = indent;
    for word in list.split(' ') {
        if used + 1 + word.len() > WIDTH {
            let _ = write!(text, "\n{:indent$}", "");
            used = indent;
        } else if !text.is_empty() {
            text.push(' ');
            used += 1;
        }
        text.push_str(word);
        used += word.len();
    }
    text
}

/// The version line; scripts read its second word, and its flags to learn what they can use. Of
/// cryptsetup's flags, those are named that hold: udev finishes the nodes of mappings, signatures
/// on devices are noticed, keys can come from the kernel's keyring and stay there.
pub(super) fn version(program: &str) -> String {
    let version = env!("CARGO_PKG_VERSION");
    match program {
        "cryptsetup" => {
            let release = Release::followed().version();
            format!("cryptsetup {release} flags: UDEV BLKID KEYRING (keyway {version})\n")
        }
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

/// A command's operands as cryptsetup names them in its errors: `<device> [<key file>]`.
pub(super) fn operands_of_cryptsetup(command: &Command) -> String {
    match command.name {
        "open" => return "<device> [--type <type>] [<name>]".to_owned(),
        "luksFormat" | "luksAddKey" => return "<device> [<new key file>]".to_owned(),
        "luksChangeKey" | "luksRemoveKey" | "luksConvertKey" => return "<device> [<key file>]".to_owned(),
        "luksKillSlot" => return "<device> <key slot>".to_owned(),
        "luksSuspend" | "luksResume" | "reencrypt" => return "<device>".to_owned(),
        "token" => return "<add|remove|import|export> <device>".to_owned(),
        _ => {}
    }
    let names = command.operands.iter().map(|operand| operand.name.trim_end_matches('.').to_lowercase());
    let names: Vec<String> = names.map(|name| format!("<{name}>")).collect();
    names.join(" ")
}

/// "-c, --cipher SPEC".
pub(super) fn names(option: &Opt) -> String {
    let short = option.short.map_or_else(|| "    ".to_owned(), |c| format!("-{c}, "));
    let value = if option.takes_value() { format!(" {}", option.value) } else { String::new() };
    format!("{short}--{}{value}", option.long)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verb::COMMANDS;

    #[test]
    fn the_overview_fits_a_screen() {
        let text = overview(&COMMANDS);
        let count = text.lines().count();
        assert!(count < PAGE, "{count} lines: verbs of Group::Also take less room");
        for line in text.lines().skip(1) {
            assert!(line.chars().count() <= WIDTH, "{line}");
        }
        for command in COMMANDS.shown() {
            assert!(text.contains(command.name), "{} is missing", command.name);
        }
    }

    /// Rows of a page; the prompt takes one.
    const PAGE: usize = 40;
}
