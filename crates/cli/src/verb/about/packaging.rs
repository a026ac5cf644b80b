//! `completions`: what a package gives to shells. Not listed in `--help`.

use crate::args::{self, Args, Command, Group, Offers, Operand, Request, completion};
use crate::output::failure::{Exit, Failure, Result};
use crate::output::stdio;
use crate::verb::COMMANDS;

/// `keyway completions SHELL`.
pub(crate) static COMPLETIONS: Command = Command {
    name: "completions",
    aliases: &[],
    group: Group::Hidden,
    operands: &[Operand {
        name: "SHELL",
        required: true,
        help: "bash, zsh or fish.",
        offers: Offers::Words(&["bash", "zsh", "fish"]),
    }],
    about: "Print the completions of a shell.",
    man: "",
    options: &[],
    rules: &[],
    examples: &[],
    risks: &[],
    run: args::run::<Completions>,
};

struct Completions {
    script: String,
}

impl Request for Completions {
    fn from_args(args: &Args) -> Result<Self> {
        let shell = args.operand(0).map(|shell| shell.to_string_lossy().into_owned()).unwrap_or_default();
        let unknown = || format!("No completions for {shell}: bash, zsh or fish.");
        let script = completion::script(&COMMANDS, &shell);
        Ok(Self { script: script.ok_or_else(|| Failure::new(Exit::Parameters, unknown()))? })
    }

    fn run(self) -> Result<()> {
        stdio::print(&self.script)
    }
}
