//! `boot script`: makes a U-Boot script from its text; shows the text of one.

use super::files::{self, Destination, Ingredients, unusable};
use super::options::{ARCH, LIST, text};
use crate::args::{Args, Opt, Request};
use crate::output::failure::{Exit, Failure, Result};
use keyway_boot::uboot::{self, Arch, Header};
use std::io::Write;
use std::path::{Path, PathBuf};

static TITLE: Opt = text("title", "TEXT", "script: name in its header, at most 32 bytes.", "");

/// In the order of help.
pub(super) static OPTIONS: &[&Opt] = &[&TITLE];

/// `keyway boot script`.
pub(super) enum Script {
    /// Make a script for U-Boot.
    Make { text: PathBuf, title: String, arch: Arch, output: Destination },
    /// `--list`: show the text of one.
    Show(PathBuf),
}

impl Request for Script {
    fn from_args(args: &Args) -> Result<Self> {
        let missing = || Failure::new(Exit::Parameters, "boot script takes a file: the text of the script.");
        let text = args.operand(1).ok_or_else(missing)?.to_owned();
        if args.given(&LIST) {
            return Ok(Self::Show(text));
        }
        let output = Destination::from_args(args)?;
        let arch = arch(args.text(&ARCH).unwrap_or("arm"))?;
        Ok(Self::Make { text, title: args.text(&TITLE).unwrap_or_default().to_owned(), arch, output })
    }

    fn run(self) -> Result<()> {
        match self {
            Self::Make { text, title, arch, output } => make(&text, &title, arch, &output),
            Self::Show(image) => show(&image),
        }
    }
}

fn arch(name: &str) -> Result<Arch> {
    Arch::find(name).ok_or_else(|| {
        let names = Arch::names().collect::<Vec<_>>().join(", ");
        Failure::new(Exit::Parameters, format!("--arch {name}: one of {names} is needed."))
    })
}

fn make(path: &Path, title: &str, arch: Arch, output: &Destination) -> Result<()> {
    let (output, mut from) = (output.open()?, Ingredients::none());
    let header = Header { arch, time: files::source_date()?, ..Header::script(title) };
    let image = uboot::script(&header, &from.read(path)?)
        .map_err(|why| Failure::new(Exit::Parameters, format!("{}: {why}.", path.display())))?;
    output.write(&image, &from, "")
}

/// Prints the text unchanged.
fn show(path: &Path) -> Result<()> {
    let image = files::read(path)?;
    let text = Header::read(&image).and_then(|(_, data)| uboot::script_text(data));
    let text = text.map_err(|why| unusable(path, &why))?;
    let mut stdout = std::io::stdout().lock();
    let written = stdout.write_all(text).and_then(|()| stdout.flush());
    written.map_err(|why| Failure::new(Exit::Parameters, format!("Cannot write to standard output: {why}.")))
}
