//! `effects`: what each command can destroy and what it checks first, for tests and for users who
//! want to know. Not listed in `--help`.

use crate::door::{self, Args, Command, Group};
use crate::say::failure::Result;
use crate::say::output;
use crate::verb::about::destructive;

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
    run: door::run::<Effects>,
};

struct Effects;

impl door::Request for Effects {
    fn from_args(_: &Args) -> Result<Self> {
        Ok(Self)
    }

    fn run(self) -> Result<()> {
        output::print(&destructive::text())
    }
}
