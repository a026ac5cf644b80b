//! `boot uki`: makes a unified kernel image from a stub, a kernel, an initramfs and a command line;
//! shows the content of one.

use super::files::{self, Destination, Ingredients, unusable};
use super::options::{DTB, KERNEL, LIST, RAMDISK, file, text};
use crate::args::{Args, Opt, Request};
use crate::output::failure::{Exit, Failure, Result};
use crate::output::paint::printable;
use crate::output::size::human;
use crate::output::stdio;
use keyway_boot::pe::{Image, Unified, uname};
use std::fmt::{Display, Write};
use std::path::{Path, PathBuf};

static STUB: Opt = file(
    "stub",
    "FILE",
    "uki: the EFI program that starts the kernel.",
    "The default is systemd's, for the kernel's architecture: /usr/lib/systemd/boot/efi/linuxx64.efi.stub \
    (Debian: package systemd-boot-efi).",
);
static CMDLINE: Opt = text("cmdline", "TEXT", "uki: the kernel's command line.", "");
static OS_RELEASE: Opt = file("os-release", "FILE", "uki: names for menus (/etc/os-release).", "");
static UNAME: Opt = text("uname", "RELEASE", "uki: the kernel's release, if not in the file.", "");

/// In the order of help.
pub(super) static OPTIONS: &[&Opt] = &[&STUB, &CMDLINE, &OS_RELEASE, &UNAME];

/// `keyway boot uki`.
pub(super) enum Uki {
    Make(Box<Sources>),
    /// `--list`: show the sections of an image.
    List(PathBuf),
}

/// What goes into an image, and where it goes.
pub(super) struct Sources {
    kernel: PathBuf,
    /// systemd's stub if `None`.
    stub: Option<PathBuf>,
    ramdisk: Option<PathBuf>,
    dtb: Option<PathBuf>,
    cmdline: Option<String>,
    /// This system's file if `None`.
    os_release: Option<PathBuf>,
    /// The kernel's own release if `None`.
    uname: Option<String>,
    output: Destination,
}

impl Request for Uki {
    fn from_args(args: &Args) -> Result<Self> {
        if args.given(&LIST) {
            let image = args.operand(1).ok_or_else(|| wrong(&"A unified kernel image is missing"))?;
            return Ok(Self::List(image.to_owned()));
        }
        let path = |option: &Opt| args.path(option).map(Path::to_owned);
        let missing = || wrong(&"boot uki takes --kernel FILE, --ramdisk FILE and --cmdline TEXT");
        Ok(Self::Make(Box::new(Sources {
            kernel: path(&KERNEL).ok_or_else(missing)?,
            stub: path(&STUB),
            ramdisk: path(&RAMDISK),
            dtb: path(&DTB),
            cmdline: args.text(&CMDLINE).map(str::to_owned),
            os_release: path(&OS_RELEASE),
            uname: args.text(&UNAME).map(str::to_owned),
            output: Destination::from_args(args)?,
        })))
    }

    fn run(self) -> Result<()> {
        match self {
            Self::Make(sources) => sources.make(),
            Self::List(image) => list(&image),
        }
    }
}

impl Sources {
    fn make(self) -> Result<()> {
        let (output, mut from) = (self.output.open()?, Ingredients::none());
        let linux = from.read(&self.kernel)?;
        let stub_path = stub(self.stub, &linux)?;
        let stub = from.read(&stub_path)?;
        let os_release = match self.os_release {
            Some(path) => Some(from.read(&path)?),
            None => std::fs::read("/etc/os-release").ok(),
        };
        let unified = Unified {
            uname: self.uname.or_else(|| uname(&linux)),
            linux,
            initrd: self.ramdisk.map(|path| from.read(&path)).transpose()?,
            cmdline: self.cmdline,
            os_release,
            dtb: self.dtb.map(|path| from.read(&path)).transpose()?,
        };
        let image = unified.image(&stub).map_err(|why| unusable(&stub_path, &why))?;
        output.write(&image, &from, "")
    }
}

/// The named stub, or systemd's.
fn stub(named: Option<PathBuf>, linux: &[u8]) -> Result<PathBuf> {
    if let Some(path) = named {
        return Ok(path);
    }
    let kernel = Image::parse(linux).map_err(|why| {
        wrong(&format!("--kernel: {why}: the kernel must be an EFI program itself (CONFIG_EFI_STUB)"))
    })?;
    let architecture = kernel.architecture().unwrap_or("unknown");
    let path = PathBuf::from(format!("/usr/lib/systemd/boot/efi/linux{architecture}.efi.stub"));
    match path.exists() {
        true => Ok(path),
        false => {
            let why = "is missing: install systemd-boot-efi, or name a stub with --stub";
            Err(Failure::new(Exit::Device, format!("{} {why}.", path.display())))
        }
    }
}

/// Lists the sections of an image.
fn list(path: &Path) -> Result<()> {
    let file = files::read(path)?;
    let image = Image::parse(&file).map_err(|why| unusable(path, &why))?;
    let mut text = String::new();
    for section in &image.sections {
        let size = u64::from(section.virtual_size);
        let _ =
            write!(text, "{:<9} {:>12}  at {:#x}", printable(&section.name), human(size), section.address);
        let short = [".cmdline", ".uname"].contains(&&section.name[..]);
        if let Some(content) = image.content(&file, &section.name).filter(|_| short) {
            let shown = String::from_utf8_lossy(content);
            let _ = write!(text, "  {}", printable(shown.trim_end_matches(['\0', '\n'])));
        }
        text.push('\n');
    }
    stdio::print(&text)
}

fn wrong(why: &dyn Display) -> Failure {
    Failure::new(Exit::Parameters, format!("{why}."))
}
