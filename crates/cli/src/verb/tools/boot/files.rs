//! The files that images are made of, and the image that is written.

use super::options::OUTPUT;
use crate::args::Args;
use crate::device;
use crate::device::whole_file::{self, BOOT_IMAGE};
use crate::make::output_file::Creation;
use crate::make::replacing::Replacing;
use crate::output::failure::{Exit, Failure, Result};
use crate::output::paint::printable_lines;
use crate::output::size::human;
use crate::output::stdio;
use keyway::storage::{Readers, Storage};
use keyway_boot::initramfs::Compression;
use std::fmt::Display;
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};

/// The input files of an image. All are read through this, so that the image is readable only by
/// users who may read all of them.
pub(super) struct Ingredients(Readers);

impl Ingredients {
    /// No files yet.
    pub(super) fn none() -> Self {
        Self(Readers::Anybody)
    }

    /// The whole content of an input file.
    pub(super) fn read(&mut self, path: &Path) -> Result<Vec<u8>> {
        self.0 = self.0.and(device::readers(path));
        read(path)
    }

    /// The whole content of a module, unpacked so that the kernel can load it without help.
    pub(super) fn unpacked(&mut self, path: &Path) -> Result<Vec<u8>> {
        let file = self.read(path)?;
        match Compression::of(&file) {
            None => Ok(file),
            Some(compression) => {
                compression.unpack_all(&file, LARGEST_UNPACKED).map_err(|why| unusable(path, &why))
            }
        }
    }

    /// Records that a key is part of the image.
    pub(super) fn hold_a_key(&mut self) {
        self.0 = Readers::Owner;
    }

    /// Who may read the image.
    pub(super) fn readers(&self) -> Readers {
        self.0
    }
}

/// The whole content of a file that is only examined.
pub(super) fn read(path: &Path) -> Result<Vec<u8>> {
    whole_file::read(path, BOOT_IMAGE).map_err(|error| {
        let (path, exit) = (path.display(), Exit::of_file(&error, Exit::Device));
        let message = match error.kind() {
            ErrorKind::FileTooLarge => format!("{path}: {error}."),
            ErrorKind::PermissionDenied => format!("Cannot read {path}: permission denied."),
            _ => format!("Cannot read {path}: {error}."),
        };
        Failure::new(exit, message)
    })
}

/// The failure for a file that is not what it has to be.
pub(super) fn unusable(path: &Path, why: &dyn Display) -> Failure {
    Failure::new(Exit::Parameters, format!("{}: {why}.", path.display()))
}

/// The timestamp for images, so that the same input gives the same bytes
/// (<https://reproducible-builds.org/specs/source-date-epoch/>).
pub(super) fn source_date() -> Result<u32> {
    let Some(text) = std::env::var_os("SOURCE_DATE_EPOCH") else { return Ok(0) };
    let seconds = text.to_str().and_then(|text| text.parse().ok());
    seconds.ok_or_else(|| {
        let text = text.to_string_lossy();
        Failure::new(Exit::Parameters, format!("SOURCE_DATE_EPOCH={text}: seconds since 1970 are needed."))
    })
}

/// Where an image goes (`--output`), and the files that it must not replace.
pub(super) struct Destination {
    path: PathBuf,
    replacing: Replacing,
}

impl Destination {
    /// `--output`, `--force`, and the options that name files to be read.
    pub(super) fn from_args(args: &Args) -> Result<Self> {
        let missing =
            || Failure::new(Exit::Parameters, "--output FILE is missing: it names the image to write.");
        let path = args.path(&OUTPUT).ok_or_else(missing)?.to_owned();
        // An initramfs may be replaced by itself with Keyway in it.
        let may_go: &[usize] = if args.operand(0) == Some(Path::new("initramfs")) { &[1] } else { &[] };
        Ok(Self { path, replacing: Replacing::from_args(args, may_go, &[&OUTPUT]) })
    }

    /// Starts the image before anything is read.
    pub(super) fn open(&self) -> Result<Output> {
        match self.path == Path::new("-") {
            true => Ok(Output::Standard),
            false => Creation::start(&self.replacing, &self.path).map(|file| Output::File(file, 0)),
        }
    }
}

/// An image being written.
pub(super) enum Output {
    /// A file, and how many of its bytes have been written.
    File(Creation, usize),
    Standard,
}

impl Output {
    /// Writes the start of the image before the rest is known. The file has no name yet, so nothing
    /// remains if the rest never comes.
    pub(super) fn ahead(&mut self, beginning: &[u8]) -> Result<()> {
        let Self::File(file, written) = self else { return Ok(()) };
        let stored = file.file().write_at(beginning, 0).and_then(|()| file.file().flush());
        stored.map_err(|error| cannot_write(file, &error))?;
        *written = beginning.len();
        Ok(())
    }

    /// Writes the image, then prints the facts about it.
    pub(super) fn write(self, image: &[u8], from: &Ingredients, facts: &str) -> Result<()> {
        match self {
            Self::Standard => {
                let mut stdout = io::stdout().lock();
                let written = stdout.write_all(image).and_then(|()| stdout.flush());
                written.map_err(|error| {
                    Failure::new(Exit::Parameters, format!("Cannot write to standard output: {error}."))
                })
            }
            Self::File(file, written) => {
                let rest = image.get(written..).unwrap_or_default();
                file.file().write_at(rest, written as u64).map_err(|error| cannot_write(&file, &error))?;
                let line = format!("{}: {}{facts}.\n", file.path().display(), human(image.len() as u64));
                file.complete(from.readers())?;
                stdio::print(&printable_lines(&line))
            }
        }
    }
}

fn cannot_write(file: &Creation, error: &io::Error) -> Failure {
    Failure::new(Exit::Device, format!("Cannot write {}: {error}.", file.path().display()))
}

/// The size limit for a module with debugging information, and for firmware; larger ones are refused.
pub(super) const LARGEST_UNPACKED: u64 = 256 << 20;
