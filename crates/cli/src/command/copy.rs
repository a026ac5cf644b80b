//! `copy`: copy LUKS to raw, raw to LUKS, or LUKS to LUKS under a new key.

use crate::args::{Args, Command, Group, Operand};
use crate::failure::{Exit, Failure, Result};

/// `keyway copy`.
pub(crate) static COMMAND: Command = Command {
    name: "copy",
    aliases: &[],
    group: Group::Rootless,
    operands: &[Operand { name: "SOURCE", required: true, help: "The volume." }],
    about: "Copy LUKS to raw, raw to LUKS, or LUKS to LUKS under a new key.",
    man: "",
    options: &[],
    examples: &[],
    run,
};

fn run(_: &Args) -> Result<()> {
    Err(Failure::new(Exit::Parameters, "copy is not built yet."))
}
