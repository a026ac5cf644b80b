//! `man` and `completions`: what a package is made with. Left out of `--help`.

use crate::door::{Args, Command, Group, Operand, completion, man};
use crate::say::failure::{Exit, Failure, Result};
use crate::say::output;
use keyway_volume::storage::Place;
use std::io;
use std::io::Write;
use std::path::Path;

/// `keyway man DIR`.
pub(crate) static MAN: Command = Command {
    name: "man",
    aliases: &[],
    group: Group::Hidden,
    operands: &[Operand { name: "DIR", required: true, help: "Where the pages are written." }],
    about: "Write the man pages.",
    man: "",
    options: &[],
    examples: &[],
    run: write_man_pages,
};

/// `keyway completions SHELL`.
pub(crate) static COMPLETIONS: Command = Command {
    name: "completions",
    aliases: &[],
    group: Group::Hidden,
    operands: &[Operand { name: "SHELL", required: true, help: "bash, zsh or fish." }],
    about: "Print the completions of a shell.",
    man: "",
    options: &[],
    examples: &[],
    run: print_completions,
};

fn write_man_pages(args: &Args) -> Result<()> {
    let Some(directory) = args.operand(0) else { return Err(Failure::silent(Exit::Parameters)) };
    let directory = Path::new(directory);
    std::fs::create_dir_all(directory).map_err(|e| cannot_write(directory, &e))?;
    for (name, text) in man::pages() {
        let path = directory.join(name);
        let file = Place::find(&path, true).and_then(|place| place.make_or_empty(0o666));
        file.and_then(|mut file| file.write_all(text.as_bytes())).map_err(|e| cannot_write(&path, &e))?;
    }
    Ok(())
}

fn cannot_write(path: &Path, why: &io::Error) -> Failure {
    Failure::new(Exit::Device, format!("Cannot write {}: {why}.", path.display()))
}

fn print_completions(args: &Args) -> Result<()> {
    let shell = args.operand(0).map(|s| s.to_string_lossy()).unwrap_or_default();
    match completion::script(&shell) {
        Some(script) => output::print(&script),
        None => {
            Err(Failure::new(Exit::Parameters, format!("No completions for {shell}: bash, zsh or fish.")))
        }
    }
}
