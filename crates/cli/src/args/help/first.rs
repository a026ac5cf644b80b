//! `keyway` without arguments: the first steps and a few commands to begin with, on the smallest terminal.

use super::{heading, lines};
use crate::args::table::{Commands, Group};
use crate::output::shell;
use std::ffi::OsStr;
use std::fmt::Write;

/// The screen. The example calls the program as it was `typed`, so that it works where it is shown.
pub(in crate::args) fn screen(commands: &Commands, program: &str, typed: &OsStr) -> String {
    let mut text = heading(program);
    let called = called(program, typed);
    let _ = write!(
        text,
        "\nExample: a volume in a file, opened and closed again\n  \
         truncate -s 1G v.img && {called} luksFormat v.img\n  \
         {called} open v.img v\n  {called} close v\n\nWithout root\n"
    );
    lines(&mut text, commands.of(Group::First));
    let _ = writeln!(
        text,
        "\ncryptsetup's commands are here too, with its options: luksFormat, luksDump, ...\n\
         All commands: \"{program} --help\". More of one: \"{program} COMMAND --help\"."
    );
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
        assert!(text.contains("\n  inspect "), "{text}");
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
