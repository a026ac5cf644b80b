//! `keyway` without arguments: the first steps and the names of all commands, on the smallest terminal.

use super::{names_row, topics, version};
use crate::args::table::{Commands, Group};
use crate::output::shell;
use std::ffi::OsStr;
use std::fmt::Write;

/// The screen. The example calls the program as it was `typed`, so that it works where it is shown.
pub(in crate::args) fn screen(commands: &Commands, program: &str, typed: &OsStr) -> String {
    let mut text = format!(
        "{}Linux disk encryption without root: LUKS volumes in files and on devices.\n\n\
         Usage: {program} [OPTION...] COMMAND [OPERAND...]\n",
        version(program)
    );
    let called = called(program, typed);
    let _ = write!(
        text,
        "\nExample: a volume in a file, opened and closed again\n  \
         truncate -s 1G v.img && {called} luksFormat v.img\n  \
         {called} open v.img v\n  {called} close v\n\nCommands\n"
    );
    names_row(&mut text, commands, "Without root", Group::Rootless);
    names_row(&mut text, commands, "Other formats", Group::Containers);
    names_row(&mut text, commands, "At boot", Group::Boot);
    topics(&mut text, commands);
    let _ =
        writeln!(text, "More: \"{program} --help\" says what each does, \"{program} COMMAND --help\" more.");
    text
}

/// How the program was called, as a shell takes it: by a path, or by its name where it was found by that.
fn called(program: &str, typed: &OsStr) -> String {
    let path = typed.to_str().filter(|typed| typed.contains('/'));
    path.map_or_else(|| program.to_owned(), shell::word)
}

#[cfg(test)]
mod tests {
    use super::super::WIDTH;
    use super::*;
    use crate::verb::COMMANDS;

    #[test]
    fn it_leaves_a_line_for_the_prompt() {
        let text = screen(&COMMANDS, "keyway", "keyway".as_ref());
        assert!(text.lines().count() < SCREEN, "{} lines", text.lines().count());
        for line in text.lines() {
            assert!(line.chars().count() <= WIDTH, "{line}");
        }
        for command in COMMANDS.shown() {
            assert!(text.contains(command.name), "{} is missing", command.name);
        }
    }

    #[test]
    fn the_program_is_called_as_it_was_typed() {
        for (typed, called) in [
            ("keyway", "keyway open"),
            ("target/keyway", "target/keyway open"),
            ("/opt/my tools/keyway", "'/opt/my tools/keyway' open"),
            ("./it's/keyway", "'./it'\\''s/keyway' open"),
        ] {
            let text = screen(&COMMANDS, "keyway", typed.as_ref());
            assert!(text.contains(&format!("\n  {called} v.img v\n")), "{text}");
        }
    }

    /// Rows of the smallest terminal.
    const SCREEN: usize = 24;
}
