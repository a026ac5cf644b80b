//! `build`: turn an image or standard input into a LUKS volume in one pass.

use crate::args::{Args, Command, Group, Operand};
use crate::failure::{Exit, Failure, Result};

/// `keyway build`.
pub(crate) static COMMAND: Command = Command {
    name: "build",
    aliases: &[],
    group: Group::Rootless,
    operands: &[Operand { name: "SOURCE", required: true, help: "The volume." }],
    about: "Turn an image or standard input into a LUKS volume in one pass.",
    man: "",
    options: &[],
    examples: &[],
    run,
};

fn run(_: &Args) -> Result<()> {
    Err(Failure::new(Exit::Parameters, "build is not built yet."))
}
