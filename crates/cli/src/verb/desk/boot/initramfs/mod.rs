//! `boot initramfs`: keyway put into an initramfs, or one made of nothing but keyway and modules.

mod contents;
mod machine;
mod modules;
mod options;
mod show;

pub(super) use options::OPTIONS;

use super::files::{Ingredients, Output};
use super::options::{LIST, OUTPUT};
use crate::door::{Args, Opt, shared};
use crate::say::failure::{Exit, Failure, Result};
use crate::say::size::human;
use keyway_boot::initramfs::{Original, Packing, append, is_beginning};
use options::*;
use std::panic::resume_unwind;
use std::path::Path;
use std::thread;

/// `keyway boot initramfs`.
pub(super) fn run(args: &Args) -> Result<()> {
    check(args)?;
    if args.given(&LIST) {
        return show::list(operand(args)?);
    }
    if let Some(original) = args.path(&DIFF) {
        return show::difference(original, operand(args)?);
    }
    make(args)
}

fn make(args: &Args) -> Result<()> {
    let (mut output, mut from) = (Output::open(args)?, Ingredients::none());
    let original = match args.operand(1) {
        Some(path) => Some((path, from.read(path)?)),
        None => None,
    };
    let (init, contents) = thread::scope(|scope| {
        // Unpacking takes longest by far; meanwhile all else is done that can be.
        let init = original.as_ref().map(|(path, image)| scope.spawn(|| original_of(path, image)));
        let contents = contents::gather(args, &mut from, original.is_some());
        let written = match &original {
            Some((_, image)) if contents.is_ok() && is_beginning(image) => output.ahead(image),
            _ => Ok(()),
        };
        let init = init.map(|init| init.join().unwrap_or_else(|panic| resume_unwind(panic)));
        init.transpose().and_then(|init| written.and(contents).map(|contents| (init, contents)))
    })?;
    let init = match (init, &original) {
        (Some(found), Some((path, image))) => {
            machine::check(&contents, path, image, &found.contained)?;
            found.init
        }
        _ => None,
    };
    let archive = contents.tree(init).archive().ok_or_else(|| {
        Failure::new(Exit::Parameters, "A file of 4 GiB or more has no place in an initramfs.")
    })?;
    let packing = match (args.text(&COMPRESS), &original) {
        (Some("gzip"), _) => Packing::Gzip,
        (Some(_), _) | (None, None) => Packing::Plain,
        (None, Some((_, image))) => Packing::like(image),
    };
    let packed = packing
        .pack(archive)
        .map_err(|why| Failure::new(Exit::Parameters, format!("The addition cannot be packed: {why}.")))?;
    let Some((path, original)) = original else {
        return output.write(&packed, &from, "");
    };
    let appended = append(original, &packed).map_err(|why| unreadable(path, &why))?;
    let facts = format!(", of that {} added", human((appended.image.len() - appended.at) as u64));
    output.write(&appended.image, &from, &facts)
}

/// What ran first in an image until now, and for which machine it is.
fn original_of(path: &Path, image: &[u8]) -> Result<Original> {
    let found = Original::of(image).map_err(|why| unreadable(path, &why))?;
    if found.init.is_none() {
        let why = "it has no /init, so that there is nothing to hand over to; leave it out to make a whole initramfs";
        return Err(unreadable(path, &why));
    }
    Ok(found)
}

fn unreadable(path: &Path, why: &dyn std::fmt::Display) -> Failure {
    Failure::new(Exit::Device, format!("{}: {why}.", path.display()))
}

fn operand(args: &Args) -> Result<&Path> {
    args.operand(1).ok_or_else(|| Failure::new(Exit::Parameters, "An initramfs image is missing."))
}

/// Options that do not go together.
fn check(args: &Args) -> Result<()> {
    let wrong = |what: String| Err(Failure::new(Exit::Parameters, what));
    if args.operands().len() > 2 {
        return wrong("boot initramfs takes one image.".to_owned());
    }
    let looks_only = args.given(&LIST) || args.given(&DIFF);
    let making: [&Opt; 5] = [&OUTPUT, &VOLUME, &MODULES, &PROGRAM, &KEYWAY];
    if let Some(option) = making.into_iter().find(|option| looks_only && args.given(option)) {
        return wrong(format!("--list and --diff make no image: --{} is not for them.", option.long));
    }
    let of_volume: [&Opt; 4] = [&NAME, &OPTIONS_OF_VOLUME, &shared::HEADER, &EMBED_KEY_FILE];
    if let Some(option) = of_volume.into_iter().find(|option| args.given(option))
        && !args.given(&VOLUME)
    {
        return wrong(format!("--{} says something of a volume: --volume says of which.", option.long));
    }
    if !looks_only && args.operand(1).is_none() && !args.given(&MODULES) {
        return wrong(
            "Without an image, --modules DIR says where a kernel's modules are; none if it needs none."
                .to_owned(),
        );
    }
    Ok(())
}
