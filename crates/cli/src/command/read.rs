//! `read`: write a volume's plaintext to a file or standard output.

use crate::args::{Args, Command, Group, Operand};
use crate::failure::{Exit, Failure, Result};

/// `keyway read`.
pub(crate) static COMMAND: Command = Command {
    name: "read",
    aliases: &[],
    group: Group::Rootless,
    operands: &[Operand { name: "DEVICE", required: true, help: "The volume." }],
    about: "Write a volume's plaintext to a file or standard output.",
    man: "",
    options: &[],
    examples: &[],
    run,
};

fn run(_: &Args) -> Result<()> {
    Err(Failure::new(Exit::Parameters, "read is not built yet."))
}
