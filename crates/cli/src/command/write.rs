//! `write`: write plaintext into a volume.

use crate::args::{Args, Command, Group, Operand};
use crate::failure::{Exit, Failure, Result};

/// `keyway write`.
pub(crate) static COMMAND: Command = Command {
    name: "write",
    aliases: &[],
    group: Group::Rootless,
    operands: &[Operand { name: "DEVICE", required: true, help: "The volume." }],
    about: "Write plaintext into a volume.",
    man: "",
    options: &[],
    examples: &[],
    run,
};

fn run(_: &Args) -> Result<()> {
    Err(Failure::new(Exit::Parameters, "write is not built yet."))
}
