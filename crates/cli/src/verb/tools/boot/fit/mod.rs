//! `boot fit`: makes a FIT image from its parts or from a source; shows the content of one.

mod source;

use super::files::{self, Destination, Ingredients, unusable};
use super::options::{ARCH, DTB, KERNEL, LIST, RAMDISK, file, text};
use crate::args::{Args, Kind, Opt, Request};
use crate::make::output_file::Creation;
use crate::make::replacing::Replacing;
use crate::output::failure::{Exit, Failure, Result};
use crate::output::paint::printable;
use crate::output::size::{human, parse_number};
use crate::output::stdio;
use crate::output::transfer::cannot_write;
use keyway::storage::Storage;
use keyway_boot::fit::{self, Algorithm, Fit as Image, Layout, Parts, Piece, Verdict};
use keyway_boot::uboot::Arch;
use std::fmt::{Display, Write};
use std::path::{Path, PathBuf};

static LOAD: Opt = text(
    "load",
    "ADDRESS",
    "fit: load address of the kernel.",
    "Without it the kernel must run wherever the boot loader puts it (kernel_noload), as an uncompressed arm64 Image does.",
);
static ENTRY: Opt = text("entry", "ADDRESS", "fit: entry address (the load address).", "");
static HASH: Opt = Opt {
    long: "hash",
    short: Some('h'),
    value: "NAME",
    kind: Kind::Words(&["crc32", "md5", "sha1", "sha256", "sha384", "sha512"]),
    help: "fit: crc32, md5, sha1, sha256, sha512.",
    man: "The default is sha256. May be given several times.",
};
static EXTERNAL: Opt = Opt {
    long: "external",
    short: None,
    value: "",
    kind: Kind::Flag,
    help: "fit: put the data after the tree (--align).",
    man: "As mkimage -E does.",
};
static ALIGN: Opt = Opt {
    long: "align",
    short: None,
    value: "BYTES",
    kind: Kind::Size,
    help: "fit: alignment, a power of two, 4 to 1M (4).",
    man: "",
};
static EXTRACT: Opt = file(
    "extract",
    "DIR",
    "fit: extract an image's contents to here.",
    "Hashes are checked first: if one is wrong, nothing is written and the exit code is 1.",
);
static INCLUDE: Opt = Opt {
    long: "include",
    short: None,
    value: "DIR",
    kind: Kind::Text,
    help: "fit: also accept a source's files here.",
    man: "A source (.its) takes files (/incbin/) only from its own directory, from those below it, and from the \
          directories that this option names. May be given several times.",
};

/// In the order of help.
pub(super) static OPTIONS: &[&Opt] = &[&LOAD, &ENTRY, &HASH, &EXTERNAL, &ALIGN, &EXTRACT, &INCLUDE];

/// `keyway boot fit`.
pub(super) enum Fit {
    Make {
        of: Origin,
        external: Alignment,
        output: Destination,
    },
    /// Show the content of an image, or extract it into a directory.
    Look {
        image: PathBuf,
        extract: Option<PathBuf>,
    },
}

/// What an image is made of.
pub(super) enum Origin {
    /// An image source, which describes the whole image, and further folders that it may take files
    /// from.
    Source(PathBuf, Vec<PathBuf>),
    Pieces(Pieces),
}

/// The files of a kernel, and how they are placed in an image.
pub(super) struct Pieces {
    kernel: PathBuf,
    ramdisk: Option<PathBuf>,
    dtbs: Vec<PathBuf>,
    arch: String,
    hashes: Vec<String>,
    /// The kernel's load address and entry point.
    load: Option<(u64, u64)>,
}

/// Whether data follows the tree, with each part at a multiple of this.
type Alignment = Option<usize>;

impl Request for Fit {
    fn from_args(args: &Args) -> Result<Self> {
        let first = args.operand(1).map(Path::to_owned);
        if args.given(&LIST) || args.given(&EXTRACT) {
            let image = first.ok_or_else(|| wrong(&"A FIT image is missing"))?;
            return Ok(Self::Look { image, extract: args.path(&EXTRACT).map(Path::to_owned) });
        }
        let output = Destination::from_args(args)?;
        let external = alignment(args.number(&ALIGN), args.given(&EXTERNAL))?;
        let Some(source) = first else {
            let of = Origin::Pieces(Pieces::from_args(args)?);
            return Ok(Self::Make { of, external, output });
        };
        let of_pieces: [&Opt; 5] = [&KERNEL, &RAMDISK, &DTB, &LOAD, &HASH];
        if let Some(option) = of_pieces.into_iter().find(|option| args.given(option)) {
            let (source, option) = (source.display(), option.long);
            return Err(wrong(&format!(
                "{source} describes all of the image: --{option} does not apply to sources"
            )));
        }
        let include = args.texts(&INCLUDE).into_iter().map(PathBuf::from).collect();
        Ok(Self::Make { of: Origin::Source(source, include), external, output })
    }

    fn run(self) -> Result<()> {
        match self {
            Self::Make { of, external, output } => make(of, external, &output),
            Self::Look { image, extract } => look(&image, extract.as_deref()),
        }
    }
}

impl Pieces {
    fn from_args(args: &Args) -> Result<Self> {
        let missing = || wrong(&"boot fit needs an image source or --kernel FILE");
        let kernel = args.path(&KERNEL).ok_or_else(missing)?.to_owned();
        let arch = args.text(&ARCH).unwrap_or("arm64").to_owned();
        if Arch::find(&arch).is_none() {
            let names = Arch::names().collect::<Vec<_>>().join(", ");
            return Err(wrong(&format!("--arch {arch}: one of {names} is needed")));
        }
        let mut hashes: Vec<String> = args.texts(&HASH).into_iter().map(str::to_owned).collect();
        if let Some(unknown) = hashes.iter().find(|name| Algorithm::find(name).is_none()) {
            return Err(wrong(&format!(
                "--hash {unknown}: U-Boot has crc32, md5, sha1, sha256, sha384 and sha512"
            )));
        }
        if hashes.is_empty() {
            hashes.push("sha256".to_owned());
        }
        let address = |option: &Opt| args.text(option).map(|text| address(option, text)).transpose();
        let (load, entry) = (address(&LOAD)?, address(&ENTRY)?);
        if entry.is_some() && load.is_none() {
            return Err(wrong(&"--entry needs --load, the address where the kernel is loaded"));
        }
        Ok(Self {
            kernel,
            ramdisk: args.path(&RAMDISK).map(Path::to_owned),
            dtbs: args.texts(&DTB).into_iter().map(PathBuf::from).collect(),
            arch,
            hashes,
            load: load.map(|load| (load, entry.unwrap_or(load))),
        })
    }

    fn read(self, from: &mut Ingredients) -> Result<Parts> {
        let mut piece = |path: &Path| {
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            Ok(Piece { name, data: from.read(path)? })
        };
        Ok(Parts {
            description: "made by keyway".to_owned(),
            arch: self.arch,
            dtbs: self.dtbs.iter().map(|path| piece(path)).collect::<Result<_>>()?,
            kernel: piece(&self.kernel)?,
            load: self.load,
            ramdisk: self.ramdisk.as_deref().map(&mut piece).transpose()?,
            hashes: self.hashes,
        })
    }
}

fn wrong(why: &dyn Display) -> Failure {
    Failure::new(Exit::Parameters, format!("{why}."))
}

/// `--align`, which also means `--external`.
fn alignment(given: Option<u64>, external: bool) -> Result<Alignment> {
    let alignment = given.unwrap_or(4);
    if !alignment.is_power_of_two() || !(4..=1 << 20).contains(&alignment) {
        return Err(wrong(&format!("--align {alignment}: a power of two from 4 to 1M is needed")));
    }
    Ok((external || given.is_some()).then_some(alignment as usize))
}

fn address(option: &Opt, text: &str) -> Result<u64> {
    parse_number(text)
        .ok_or_else(|| wrong(&format!("--{} {text}: an address is needed, such as 0x200000", option.long)))
}

fn make(of: Origin, external: Alignment, output: &Destination) -> Result<()> {
    let (output, mut from) = (output.open()?, Ingredients::none());
    let layout = Layout { time: files::source_date()?, external };
    let (tree, source) = match of {
        Origin::Source(source, include) => (source::tree(&source, &include, &mut from)?, Some(source)),
        Origin::Pieces(pieces) => (pieces.read(&mut from)?.tree().map_err(|why| wrong(&why))?, None),
    };
    for warning in fit::warnings(&tree) {
        say!("WARNING: {}.", printable(&warning));
    }
    let image = fit::image(tree, layout).map_err(|why| match &source {
        Some(path) => unusable(path, &why),
        None => wrong(&why),
    })?;
    output.write(&image, &from, "")
}

fn look(path: &Path, extract_to: Option<&Path>) -> Result<()> {
    let mut from = Ingredients::none();
    let file = from.read(path)?;
    let fit = Image::read(&file).map_err(|why| unusable(path, &why))?;
    stdio::print(&show(&fit))?;
    if fit.is_damaged() {
        let nothing = if extract_to.is_some() { "; nothing is written" } else { "" };
        let why = format!("{}: a hash is wrong: the image is damaged{nothing}.", path.display());
        return Err(Failure::new(Exit::Parameters, why));
    }
    match extract_to {
        Some(directory) => extract(&fit, directory, &from),
        None => Ok(()),
    }
}

/// Extracts all images or none: no file is completed before all are written.
fn extract(fit: &Image<'_>, directory: &Path, from: &Ingredients) -> Result<()> {
    let mut files = Vec::new();
    for image in &fit.images {
        // A name from an image is not used as a path.
        let name: PathBuf = image.name.replace(['/', '\\'], "_").trim_start_matches('.').into();
        let file = Creation::start(&Replacing::default(), &directory.join(name))?;
        let written = file.file().write_at(&image.data, 0);
        written.map_err(|why| cannot_write(&file.path().display(), None, &why))?;
        files.push(file);
    }
    files.into_iter().try_for_each(|file| file.complete(from.readers()))
}

fn show(fit: &Image<'_>) -> String {
    let mut text = format!("{}\n", shown(&fit.description));
    for image in &fit.images {
        let _ = write!(text, "\n{}  {}", shown(&image.name), human(image.data.len() as u64));
        for (name, value) in &image.facts {
            let _ = write!(text, "\n  {name}: {}", shown(value));
        }
        for (name, value) in &image.addresses {
            let _ = write!(text, "\n  {name}: {value:#x}");
        }
        for (name, verdict) in &image.hashes {
            let verdict = match verdict {
                Verdict::Right => "right",
                Verdict::Wrong => "WRONG",
                Verdict::Unknown => "not known here",
            };
            let _ = write!(text, "\n  {}: {verdict}", shown(name));
        }
        text.push('\n');
    }
    for configuration in &fit.configurations {
        let is_default = fit.default.as_deref() == Some(&configuration.name);
        let mark = if is_default { " (default)" } else { "" };
        let _ = write!(text, "\n{}{mark}  {}", shown(&configuration.name), shown(&configuration.description));
        for (what, name) in &configuration.images {
            let _ = write!(text, "\n  {what}: {}", shown(name));
        }
        text.push('\n');
    }
    text
}

/// Text from an image, which may contain anything, made safe to show.
fn shown(text: &str) -> String {
    printable(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::typed;

    #[test]
    fn a_source_says_all_of_it() {
        let asked = |line: &str| Fit::from_args(&typed(line));
        let of_source = asked("keyway boot fit image.its -o x");
        assert!(matches!(of_source, Ok(Fit::Make { of: Origin::Source(..), .. })));
        let refused = asked("keyway boot fit image.its -o x --kernel vmlinuz").err().unwrap();
        assert_eq!(
            refused.message(),
            "image.its describes all of the image: --kernel does not apply to sources."
        );
    }
}
