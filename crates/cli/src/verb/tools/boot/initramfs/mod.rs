//! `boot initramfs`: adds keyway to an initramfs, or makes one of only keyway and modules.

mod contents;
mod firmware;
mod keymap;
mod layers;
mod machine;
mod modules;
mod options;
mod root;
mod show;

pub(super) use options::OPTIONS;

use super::files::{Destination, Ingredients, unusable};
use super::options::{LIST, OUTPUT};
use crate::args::{Args, Opt, Request, shared};
use crate::output::failure::{Exit, Failure, Result};
use crate::output::size::human;
use contents::Wanted;
use keyway_boot::initramfs::{Original, Packing, append, is_beginning};
use options::*;
use std::panic::resume_unwind;
use std::path::{Path, PathBuf};
use std::thread;

/// `keyway boot initramfs`.
pub(super) enum Initramfs {
    Make(Box<Image>),
    /// `--list`: show the content of an image.
    List(PathBuf),
    /// `--diff`: show how an image differs from the original.
    Difference {
        original: PathBuf,
        image: PathBuf,
    },
}

/// An image to make.
pub(super) struct Image {
    /// The image to add to; if `None`, a whole image is made.
    original: Option<PathBuf>,
    wanted: Wanted,
    /// As in the original if not given.
    packing: Option<Packing>,
    output: Destination,
}

impl Request for Initramfs {
    fn from_args(args: &Args) -> Result<Self> {
        let wrong = |what: String| Err(Failure::new(Exit::Parameters, what));
        let looks_only = args.given(&LIST) || args.given(&DIFF);
        let making: [&Opt; 7] = [&OUTPUT, &VOLUME, &MODULES, &ROOTFSTYPE, &PROGRAM, &KEYWAY, &KEYMAP];
        if let Some(option) = making.into_iter().find(|option| looks_only && args.given(option)) {
            return wrong(format!(
                "--list and --diff make no image: --{} does not apply to them.",
                option.long
            ));
        }
        let of_volume: [&Opt; 4] = [&NAME, &OPTIONS_OF_VOLUME, &shared::HEADER, &EMBED_KEY_FILE];
        if let Some(option) = of_volume.into_iter().find(|option| args.given(option))
            && !args.given(&VOLUME)
        {
            return wrong(format!("--{} describes a volume: name it with --volume.", option.long));
        }
        let image = args.operand(1).map(Path::to_owned);
        if looks_only {
            let missing = || Failure::new(Exit::Parameters, "An initramfs image is missing.");
            let original = args.path(&DIFF).filter(|_| !args.given(&LIST)).map(Path::to_owned);
            let image = image.ok_or_else(missing)?;
            return Ok(match original {
                Some(original) => Self::Difference { original, image },
                None => Self::List(image),
            });
        }
        if image.is_some() && args.given(&ROOTFSTYPE) {
            return wrong(
                "--rootfstype is for a new image: one that has an /init mounts its root itself.".to_owned(),
            );
        }
        if image.is_none() && !args.given(&MODULES) {
            return wrong(
                "Without an image, --modules DIR must name the kernel's modules; --modules none if it needs \
                 none."
                    .to_owned(),
            );
        }
        let packing = args.text(&COMPRESS).map(|how| match how {
            "gzip" => Packing::Gzip,
            _ => Packing::Plain,
        });
        let output = Destination::from_args(args)?;
        let wanted = Wanted::from_args(args)?;
        Ok(Self::Make(Box::new(Image { original: image, wanted, packing, output })))
    }

    fn run(self) -> Result<()> {
        match self {
            Self::Make(image) => make(&image),
            Self::List(image) => show::list(&image),
            Self::Difference { original, image } => show::difference(&original, &image),
        }
    }
}

fn make(asked: &Image) -> Result<()> {
    let (mut output, mut from) = (asked.output.open()?, Ingredients::none());
    let original = match &asked.original {
        Some(path) => Some((path, from.read(path)?)),
        None => None,
    };
    let (init, contents) = thread::scope(|scope| {
        // Unpacking takes by far the longest; everything else that is possible is done meanwhile.
        let init = original.as_ref().map(|(path, image)| scope.spawn(|| original_of(path, image)));
        let there = original.as_ref().map(|(path, image)| (path.as_path(), image.as_slice()));
        let contents = asked.wanted.gather(&mut from, there);
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
        Failure::new(Exit::Parameters, "A file of 4 GiB or more does not fit into an initramfs.")
    })?;
    let packing = match (asked.packing, &original) {
        (Some(packing), _) => packing,
        (None, None) => Packing::Plain,
        (None, Some((_, image))) => Packing::like(image),
    };
    let packed = packing.pack(archive).map_err(|why| {
        Failure::new(Exit::Parameters, format!("The addition cannot be compressed: {why}."))
    })?;
    let Some((path, original)) = original else {
        return output.write(&packed, &from, "");
    };
    let appended = append(original, &packed).map_err(|why| unusable(path, &why))?;
    let facts = format!(", of that {} added", human((appended.image.len() - appended.at) as u64));
    output.write(&appended.image, &from, &facts)
}

/// The image's previous /init, and the architecture that the image is for.
fn original_of(path: &Path, image: &[u8]) -> Result<Original> {
    let found = Original::of(image).map_err(|why| unusable(path, &why))?;
    if found.init.is_none() {
        let why = "it has no /init to hand over to; leave it out to make a new initramfs";
        return Err(unusable(path, &why));
    }
    Ok(found)
}
