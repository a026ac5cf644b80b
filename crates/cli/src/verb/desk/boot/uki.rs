//! `boot uki`: a unified kernel image of a stub, a kernel, an
//! initramfs and a command line; what is in one.

use super::files::{self, Ingredients, Output};
use super::options::{DTB, KERNEL, LIST, RAMDISK, file, text};
use crate::door::{Args, Opt};
use crate::say::failure::{Exit, Failure, Result};
use crate::say::output;
use crate::say::paint::printable;
use crate::say::size::human;
use keyway_boot::pe::{Image, Unified, uname};
use std::fmt::{Display, Write};
use std::path::{Path, PathBuf};

static STUB: Opt = file(
    "stub",
    "FILE",
    "uki: the EFI program that starts the kernel.",
    "Without it systemd's, of the kernel's architecture: /usr/lib/systemd/boot/efi/linuxx64.efi.stub (Debian: package systemd-boot-efi).",
);
static CMDLINE: Opt = text("cmdline", "TEXT", "uki: the kernel's command line.", "");
static OS_RELEASE: Opt = file("os-release", "FILE", "uki: names for menus (/etc/os-release).", "");
static UNAME: Opt = text("uname", "RELEASE", "uki: the kernel's release, if it is not told.", "");

/// In the order of help.
pub(super) static OPTIONS: &[&Opt] = &[&STUB, &CMDLINE, &OS_RELEASE, &UNAME];

/// `keyway boot uki`.
pub(super) fn run(args: &Args) -> Result<()> {
    if args.given(&LIST) {
        return list(args);
    }
    let Some(kernel) = args.path(&KERNEL) else {
        return Err(wrong(&"boot uki takes --kernel FILE, --ramdisk FILE and --cmdline TEXT"));
    };
    let (output, mut from) = (Output::open(args)?, Ingredients::none());
    let linux = from.read(kernel)?;
    let stub_path = stub(args, &linux)?;
    let stub = from.read(&stub_path)?;
    let os_release = match args.path(&OS_RELEASE) {
        Some(path) => Some(from.read(path)?),
        None => std::fs::read("/etc/os-release").ok(),
    };
    let unified = Unified {
        uname: args.text(&UNAME).map(str::to_owned).or_else(|| uname(&linux)),
        linux,
        initrd: args.path(&RAMDISK).map(|path| from.read(path)).transpose()?,
        cmdline: args.text(&CMDLINE).map(str::to_owned),
        os_release,
        dtb: args.path(&DTB).map(|path| from.read(path)).transpose()?,
    };
    let image = unified.image(&stub).map_err(|why| about(&stub_path, &why))?;
    output.write(&image, &from, "")
}

/// The stub that was named, or systemd's.
fn stub(args: &Args, linux: &[u8]) -> Result<PathBuf> {
    let path = match args.path(&STUB) {
        Some(path) => path.to_owned(),
        None => {
            let kernel = Image::parse(linux).map_err(|why| {
                wrong(&format!(
                    "--kernel: {why}: the kernel has to be an EFI program itself (CONFIG_EFI_STUB)"
                ))
            })?;
            let architecture = kernel.architecture().unwrap_or("unknown");
            PathBuf::from(format!("/usr/lib/systemd/boot/efi/linux{architecture}.efi.stub"))
        }
    };
    if !path.exists() && !args.given(&STUB) {
        let why =
            format!("{} is not here: install systemd-boot-efi, or name a stub with --stub", path.display());
        return Err(Failure::new(Exit::Device, format!("{why}.")));
    }
    Ok(path)
}

/// The sections of an image.
fn list(args: &Args) -> Result<()> {
    let Some(path) = args.operand(1) else { return Err(wrong(&"A unified kernel image is missing")) };
    let file = files::read(path)?;
    let image = Image::parse(&file).map_err(|why| about(path, &why))?;
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
    output::print(&text)
}

fn wrong(why: &dyn Display) -> Failure {
    Failure::new(Exit::Parameters, format!("{why}."))
}

fn about(path: &Path, why: &dyn Display) -> Failure {
    Failure::new(Exit::Device, format!("{}: {why}.", path.display()))
}
