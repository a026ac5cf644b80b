//! `boot script`: a script for U-Boot, of its text; the text of one.

use super::files::{self, Ingredients, Output};
use super::options::{ARCH, LIST, text};
use crate::door::{Args, Opt};
use crate::say::failure::{Exit, Failure, Result};
use keyway_boot::uboot::{self, Arch, Header};
use std::io::Write;
use std::path::Path;

static TITLE: Opt = text("title", "TEXT", "script: name in its header, at most 32 bytes.", "");

/// In the order of help.
pub(super) static OPTIONS: &[&Opt] = &[&TITLE];

/// `keyway boot script`.
pub(super) fn run(args: &Args) -> Result<()> {
    let Some(path) = args.operand(1) else {
        return Err(Failure::new(Exit::Parameters, "boot script takes a file: the text of the script."));
    };
    if args.given(&LIST) {
        return show(path);
    }
    let (output, mut from) = (Output::open(args)?, Ingredients::none());
    let name = args.text(&ARCH).unwrap_or("arm");
    let arch = Arch::find(name).ok_or_else(|| {
        let names = Arch::names().collect::<Vec<_>>().join(", ");
        Failure::new(Exit::Parameters, format!("--arch {name}: one of {names} is needed."))
    })?;
    let header =
        Header { arch, time: files::source_date()?, ..Header::script(args.text(&TITLE).unwrap_or_default()) };
    let image = uboot::script(&header, &from.read(path)?)
        .map_err(|why| Failure::new(Exit::Parameters, format!("{}: {why}.", path.display())))?;
    output.write(&image, &from, "")
}

/// The text, as it is.
fn show(path: &Path) -> Result<()> {
    let image = files::read(path)?;
    let text = Header::read(&image).and_then(|(_, data)| uboot::script_text(data));
    let text = text.map_err(|why| Failure::new(Exit::Device, format!("{}: {why}.", path.display())))?;
    let mut stdout = std::io::stdout().lock();
    let written = stdout.write_all(text).and_then(|()| stdout.flush());
    written.map_err(|why| Failure::new(Exit::Parameters, format!("Cannot write to standard output: {why}.")))
}
