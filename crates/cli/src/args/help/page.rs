//! The page of one command, or of one verb of it: what most users need on a screen, or everything.

use super::{names, synopsis, usual, wrapped};
use crate::args::option::Opt;
use crate::args::shared;
use crate::args::table::{Command, Verb};
use std::fmt::Write;

/// The column where descriptions start in a list of options.
const COLUMN: usize = 34;

/// How much a page holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::args) enum Extent {
    /// The options that most users need.
    Usual,
    /// All options, those that are taken for cryptsetup's scripts alone included.
    All,
}

/// One command's page. Called as cryptsetup, the program has one extent: all of the command's own
/// options.
pub(in crate::args) fn command(program: &str, command: &'static Command, extent: Extent) -> String {
    let mut text = format!("{}\n\nUsage: {}\n", command.about, synopsis(program, command));
    if !command.aliases.is_empty() {
        let names: Vec<&str> = command.aliases.iter().map(|a| a.name).collect();
        let _ = writeln!(text, "Also: {}", wrapped(&names.join(", "), 6));
    }
    if !command.operands.is_empty() {
        text.push('\n');
        for verb in command.named_verbs() {
            row(&mut text, &format!("{} {}", verb.name, verb.operands), verb.about);
        }
        for operand in command.operands.iter().filter(|_| command.verbs().is_empty()) {
            row(&mut text, operand.name, operand.help);
        }
    }
    let shown: Vec<&Opt> = match (program, extent) {
        ("cryptsetup", _) => {
            let is_known = |option: &&Opt| !shared::NOT_CRYPTSETUPS.iter().any(|it| it.long == option.long);
            command.own_options().chain(shared::EVERYWHERE.iter().copied()).filter(is_known).collect()
        }
        (_, Extent::Usual) => usual::shown(command).collect(),
        (_, Extent::All) => command.own_options().chain(shared::EVERYWHERE.iter().copied()).collect(),
    };
    options(&mut text, "Options", &shown);
    if extent == Extent::All {
        let own: Vec<&str> = command.own_options().map(|own| own.long).collect();
        let accepted = command.accepted().filter(|option| !own.contains(&option.long));
        options(&mut text, "Accepted for cryptsetup's scripts", &accepted.collect::<Vec<_>>());
    }
    if !command.examples.is_empty() {
        text.push_str("\nExamples\n");
        for example in command.examples {
            let _ = writeln!(text, "  {}\n      {}", example.line, wrapped(example.does, 6));
        }
    }
    text.push_str(&closing(program, command, command.name, extent));
    text
}

/// The page of one verb of a command.
pub(in crate::args) fn verb(program: &str, command: &'static Command, verb: &Verb, extent: Extent) -> String {
    let name = format!("{program} {} {}", command.name, verb.name);
    let mut text = format!("{}\n\nUsage: {name} [OPTION...] {}\n", verb.about, verb.operands);
    let of_all = match extent {
        Extent::Usual => usual::EVERYWHERE,
        Extent::All => shared::EVERYWHERE,
    };
    let is_shown = |option: &&Opt| extent == Extent::All || usual::of_verb(command, option);
    let own = verb.all_options(command).filter(is_shown);
    options(&mut text, "Options", &own.chain(of_all.iter().copied()).collect::<Vec<_>>());
    let examples = command.examples.iter().filter(|example| example.line.starts_with(&name));
    for (index, example) in examples.enumerate() {
        let heading = if index == 0 { "\nExamples\n" } else { "" };
        let _ = writeln!(text, "{heading}  {}\n      {}", example.line, wrapped(example.does, 6));
    }
    let page = format!("{} {}", command.name, verb.name);
    text.push_str(&closing(program, command, &page, extent));
    text
}

/// Where there is more. `page` is the command, with the verb if the page is a verb's.
fn closing(program: &str, command: &Command, page: &str, extent: Extent) -> String {
    let name = command.name;
    match (program, extent) {
        ("cryptsetup", _) => format!("\nDetails: man keyway-{name}\n"),
        (_, Extent::Usual) => match command.named_verbs().next().filter(|_| page == name) {
            Some(verb) => {
                let verb = verb.name;
                format!("\nMore: keyway {name} {verb} --help, keyway {name} --help-all, keyway man {name}\n")
            }
            None => format!("\nMore: keyway {page} --help-all, keyway man {name}\n"),
        },
        (_, Extent::All) => format!("\nMore: keyway man {name}\n"),
    }
}

fn options(text: &mut String, heading: &str, options: &[&Opt]) {
    if options.is_empty() {
        return;
    }
    let _ = writeln!(text, "\n{heading}");
    for option in options {
        row(text, &names(option), option.help);
    }
}

fn row(text: &mut String, names: &str, help: &str) {
    let help = wrapped(help, COLUMN);
    if names.len() + 4 > COLUMN {
        let _ = writeln!(text, "  {names}\n{:COLUMN$}{help}", "");
    } else {
        let _ = writeln!(text, "  {names:<width$}{help}", width = COLUMN - 2);
    }
}

#[cfg(test)]
mod tests {
    use super::super::WIDTH;
    use super::*;
    use crate::verb::COMMANDS;

    #[test]
    fn every_line_fits() {
        for table in COMMANDS.all {
            for extent in [Extent::Usual, Extent::All] {
                let page = command("keyway", table, extent);
                let verbs = table.named_verbs().map(|it| verb("keyway", table, it, extent));
                for page in std::iter::once(page).chain(verbs) {
                    for line in page.lines() {
                        assert!(line.chars().count() <= WIDTH, "{}: {line}", table.name);
                    }
                }
            }
        }
    }

    #[test]
    fn a_page_fits_a_screen() {
        for table in COMMANDS.all {
            let page = command("keyway", table, Extent::Usual);
            assert!(page.lines().count() <= SCREEN, "{}: {}\n{page}", table.name, page.lines().count());
            for it in table.named_verbs() {
                let page = verb("keyway", table, it, Extent::Usual);
                assert!(page.lines().count() <= SCREEN, "{page}");
            }
        }
    }

    #[test]
    fn the_whole_page_has_every_option() {
        for table in COMMANDS.all {
            let page = command("keyway", table, Extent::All);
            for option in table.all_options() {
                let name = format!("--{}", option.long);
                assert!(page.split_whitespace().any(|word| word == name), "{}: {name}", table.name);
            }
        }
    }

    /// Rows of a screen.
    const SCREEN: usize = 40;
}
