//! `man` and `completions`: the generated files of a package. Not listed in `--help`.

use crate::door::{self, Args, Command, Group, Offers, Operand, Request, completion, man};
use crate::say::failure::{Exit, Failure, Result};
use crate::say::output;
use crate::verb::COMMANDS;
use keyway_volume::storage::Place;
use std::io;
use std::io::Write;
use std::path::{Path, PathBuf};

/// `keyway man DIR`.
pub(crate) static MAN: Command = Command {
    name: "man",
    aliases: &[],
    group: Group::Hidden,
    operands: &[Operand {
        name: "DIR",
        required: true,
        help: "Where the pages are written.",
        offers: Offers::Directories,
    }],
    about: "Write the man pages.",
    man: "",
    options: &[],
    examples: &[],
    run: door::run::<ManPages>,
};

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
    examples: &[],
    run: door::run::<Completions>,
};

struct ManPages {
    directory: PathBuf,
}

impl Request for ManPages {
    fn from_args(args: &Args) -> Result<Self> {
        let directory = args.operand(0).ok_or_else(|| Failure::silent(Exit::Parameters))?.to_owned();
        Ok(Self { directory })
    }

    fn run(self) -> Result<()> {
        std::fs::create_dir_all(&self.directory).map_err(|e| cannot_write(&self.directory, &e))?;
        for (name, text) in man::pages(&COMMANDS) {
            let path = self.directory.join(name);
            let file = Place::find(&path, true).and_then(|place| place.make_or_empty(0o666));
            file.and_then(|mut file| file.write_all(text.as_bytes())).map_err(|e| cannot_write(&path, &e))?;
        }
        Ok(())
    }
}

fn cannot_write(path: &Path, why: &io::Error) -> Failure {
    Failure::new(Exit::Device, format!("Cannot write {}: {why}.", path.display()))
}

struct Completions {
    shell: String,
}

impl Request for Completions {
    fn from_args(args: &Args) -> Result<Self> {
        let shell = args.operand(0).map(|shell| shell.to_string_lossy().into_owned()).unwrap_or_default();
        Ok(Self { shell })
    }

    fn run(self) -> Result<()> {
        let Self { shell } = self;
        let unknown = || format!("No completions for {shell}: bash, zsh or fish.");
        let script = completion::script(&COMMANDS, &shell);
        output::print(&script.ok_or_else(|| Failure::new(Exit::Parameters, unknown()))?)
    }
}
