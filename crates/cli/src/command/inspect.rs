//! `inspect`: show what a volume is, at a glance.

use crate::args::{Args, Command, Group, Operand};
use crate::failure::{Exit, Failure, Result};

/// `keyway inspect`.
pub(crate) static COMMAND: Command = Command {
    name: "inspect",
    aliases: &[],
    group: Group::Rootless,
    operands: &[Operand { name: "DEVICE", required: true, help: "The volume." }],
    about: "Show what a volume is, at a glance.",
    man: "",
    options: &[],
    examples: &[],
    run,
};

fn run(_: &Args) -> Result<()> {
    Err(Failure::new(Exit::Parameters, "inspect is not built yet."))
}
