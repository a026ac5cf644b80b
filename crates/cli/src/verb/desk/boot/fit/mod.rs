//! `boot fit`: a FIT image of its pieces or of a source; what is in one.

mod source;

use super::files::{self, Ingredients, Output};
use super::options::{ARCH, DTB, KERNEL, LIST, RAMDISK, file, text};
use crate::door::{Args, Kind, Opt};
use crate::make::output_file::Creation;
use crate::say::failure::{Exit, Failure, Result};
use crate::say::output;
use crate::say::paint::printable;
use crate::say::size::{human, parse_number};
use crate::say::transfer::cannot_write;
use keyway_boot::fit::{self, Algorithm, Fit, Layout, Parts, Piece, Verdict};
use keyway_boot::uboot::Arch;
use keyway_volume::Storage;
use std::fmt::{Display, Write};
use std::path::{Path, PathBuf};

static LOAD: Opt = text(
    "load",
    "ADDRESS",
    "fit: where the kernel is loaded.",
    "Without it the kernel is one that runs wherever the boot loader puts it (kernel_noload); for arm64 that is an unpacked Image.",
);
static ENTRY: Opt = text("entry", "ADDRESS", "fit: where it is entered (where it is loaded).", "");
static HASH: Opt = Opt {
    long: "hash",
    short: Some('h'),
    value: "NAME",
    kind: Kind::Text,
    help: "fit: crc32, md5, sha1, sha256, sha512.",
    man: "sha256 without it. May be given several times.",
};
static EXTERNAL: Opt = Opt {
    long: "external",
    short: None,
    value: "",
    kind: Kind::Flag,
    help: "fit: data behind the tree, as --align says.",
    man: "What mkimage -E does.",
};
static ALIGN: Opt = Opt {
    long: "align",
    short: None,
    value: "BYTES",
    kind: Kind::Size,
    help: "fit: a power of two, from 4 to 1M (4).",
    man: "",
};
static EXTRACT: Opt = file(
    "extract",
    "DIR",
    "fit: write what is in an image to files here.",
    "Its hashes are checked before: with a wrong one nothing is written, and it exits with 1.",
);
static INCLUDE: Opt = Opt {
    long: "include",
    short: None,
    value: "DIR",
    kind: Kind::Text,
    help: "fit: a source may take files from here, too.",
    man: "A source (.its) takes files (/incbin/) from its own folder and what is below, and from nowhere else unless this names it. May be \
          given several times.",
};

/// In the order of help.
pub(super) static OPTIONS: &[&Opt] = &[&LOAD, &ENTRY, &HASH, &EXTERNAL, &ALIGN, &EXTRACT, &INCLUDE];

/// `keyway boot fit`.
pub(super) fn run(args: &Args) -> Result<()> {
    if args.given(&LIST) || args.given(&EXTRACT) {
        return look(args);
    }
    let (output, mut from) = (Output::open(args)?, Ingredients::none());
    let layout = layout(args)?;
    let image = match args.operand(1) {
        Some(source) => source::image(args, source, &mut from, layout)?,
        None => {
            let tree = parts(args, &mut from)?.tree().map_err(|why| wrong(&why))?;
            fit::image(tree, layout).map_err(|why| wrong(&why))?
        }
    };
    output.write(&image, &from, "")
}

fn wrong(why: &dyn Display) -> Failure {
    Failure::new(Exit::Parameters, format!("{why}."))
}

fn layout(args: &Args) -> Result<Layout> {
    let alignment = args.number(&ALIGN).unwrap_or(4);
    if !alignment.is_power_of_two() || !(4..=1 << 20).contains(&alignment) {
        return Err(wrong(&format!("--align {alignment}: a power of two from 4 to 1M is needed")));
    }
    let external = (args.given(&EXTERNAL) || args.given(&ALIGN)).then_some(alignment as usize);
    Ok(Layout { time: files::source_date()?, external })
}

fn parts(args: &Args, from: &mut Ingredients) -> Result<Parts> {
    let Some(kernel) = args.path(&KERNEL) else {
        return Err(wrong(&"boot fit takes an image source, or --kernel FILE"));
    };
    let arch = args.text(&ARCH).unwrap_or("arm64");
    if Arch::find(arch).is_none() {
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
    let load = address(args, &LOAD)?;
    let entry = address(args, &ENTRY)?;
    if entry.is_some() && load.is_none() {
        return Err(wrong(&"--entry says where a kernel is entered that --load loads"));
    }
    let mut piece = |path| piece(path, from);
    let dtbs = args.texts(&DTB).into_iter().map(|path| piece(Path::new(path))).collect::<Result<_>>()?;
    Ok(Parts {
        description: "made by keyway".to_owned(),
        arch: arch.to_owned(),
        kernel: piece(kernel)?,
        load: load.map(|load| (load, entry.unwrap_or(load))),
        ramdisk: args.path(&RAMDISK).map(&mut piece).transpose()?,
        dtbs,
        hashes,
    })
}

fn piece(path: &Path, from: &mut Ingredients) -> Result<Piece> {
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    Ok(Piece { name, data: from.read(path)? })
}

fn address(args: &Args, option: &'static Opt) -> Result<Option<u64>> {
    let Some(text) = args.text(option) else { return Ok(None) };
    match parse_number(text) {
        Some(address) => Ok(Some(address)),
        None => Err(wrong(&format!("--{} {text}: an address is needed, such as 0x200000", option.long))),
    }
}

/// What is in an image; into a directory where that was asked for.
fn look(args: &Args) -> Result<()> {
    let Some(path) = args.operand(1) else { return Err(wrong(&"A FIT image is missing")) };
    let mut from = Ingredients::none();
    let file = from.read(path)?;
    let fit =
        Fit::read(&file).map_err(|why| Failure::new(Exit::Device, format!("{}: {why}.", path.display())))?;
    output::print(&show(&fit))?;
    if fit.is_damaged() {
        let nothing = if args.given(&EXTRACT) { "; nothing is written" } else { "" };
        let why = format!("{}: a hash is wrong: the image is damaged{nothing}.", path.display());
        return Err(Failure::new(Exit::Parameters, why));
    }
    match args.path(&EXTRACT) {
        Some(directory) => extract(&fit, directory, &from),
        None => Ok(()),
    }
}

/// All images or none: none is completed before all are written.
fn extract(fit: &Fit<'_>, directory: &Path, from: &Ingredients) -> Result<()> {
    let mut files = Vec::new();
    for image in &fit.images {
        // A name out of an image is no path.
        let name: PathBuf = image.name.replace(['/', '\\'], "_").trim_start_matches('.').into();
        let file = Creation::start_over(&directory.join(name), false)?;
        let written = file.file().write_at(&image.data, 0);
        written.map_err(|why| cannot_write(&file.path().display(), None, &why))?;
        files.push(file);
    }
    files.into_iter().try_for_each(|file| file.complete(from.readers()))
}

fn show(fit: &Fit<'_>) -> String {
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

/// A text out of an image, which may hold anything.
fn shown(text: &str) -> String {
    printable(text)
}
