//! `effects`: what each command can destroy and what it proves first, for tests
//! and for who wants to know. Left out of `--help`.

use crate::args::{Args, Command, Group};
use crate::failure::Result;
use crate::{destructive, output};

/// `keyway effects`.
pub(crate) static COMMAND: Command = Command {
    name: "effects",
    aliases: &[],
    group: Group::Hidden,
    operands: &[],
    about: "Print what each command can destroy, and what it proves first.",
    man: "",
    options: &[],
    examples: &[],
    run,
};

fn run(_: &Args) -> Result<()> {
    output::print(&destructive::text())
}
