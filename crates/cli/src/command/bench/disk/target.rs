//! What TARGET is, and whether it may be written over.

use crate::args::Args;
use crate::failure::{Exit, Failure, Result};
use crate::{device, question, signature};
use keyway_measure::disk::{Scratch, scratch};
use keyway_volume::Storage;
use keyway_volume::in_use::{Access, InUse};
use keyway_volume::storage::File;
use std::fs::{self, Metadata};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

/// A target that may be used.
pub(super) struct Target {
    path: PathBuf,
    kind: Kind,
}

enum Kind {
    /// A scratch file without a name is made in it.
    Directory,
    /// It is made, and loses its name at once.
    NewFile,
    /// What it holds is lost.
    File(File, #[allow(dead_code, reason = "held until the run is over")] Option<InUse>),
    /// What it holds is lost.
    Device(File, Option<InUse>),
}

impl Target {
    /// The target of that name.
    ///
    /// # Errors
    /// It cannot be used, or must not be.
    pub(super) fn of(path: &Path) -> Result<Self> {
        let path = path.to_owned();
        let kind = match fs::metadata(&path) {
            Ok(found) => Self::existing(&path, &found)?,
            Err(error) if error.kind() == ErrorKind::NotFound && Self::may_be_made(&path) => Kind::NewFile,
            Err(error) => return Err(cannot_use(&path, &error)),
        };
        Ok(Self { path, kind })
    }

    /// A name in a directory that is there; not below `/dev`, where it is a device's name mistyped.
    fn may_be_made(path: &Path) -> bool {
        !path.starts_with("/dev") && directory_of(path).is_dir()
    }

    fn existing(path: &Path, found: &Metadata) -> Result<Kind> {
        let kind = found.file_type();
        if kind.is_dir() {
            return Ok(Kind::Directory);
        }
        if !kind.is_file() && !kind.is_block_device() {
            let why = "a directory, a regular file or a block device is needed";
            return Err(Failure::new(Exit::Device, format!("{}: {why}.", path.display())));
        }
        device::refuse_if_in_use(path)?;
        let file = File::open_rw(path).map_err(|error| cannot_use(path, &error))?;
        if file.is_read_only() {
            return Err(cannot_use(path, &ErrorKind::PermissionDenied.into()));
        }
        let held = InUse::acquire(&file, Access::Write, false).map_err(|_| device::in_use_by_others(path))?;
        refuse_known(&file, path)?;
        let kind = if kind.is_block_device() { Kind::Device } else { Kind::File };
        Ok(kind(file, Some(held)))
    }

    /// As the user named it.
    pub(super) fn name(&self) -> String {
        self.path.display().to_string()
    }

    /// How many bytes of it are used: as many as a run had that goes on.
    ///
    /// # Errors
    /// It is too small.
    pub(super) fn region(&self, began_with: Option<u64>) -> Result<u64> {
        let has = match &self.kind {
            Kind::Directory => scratch::room(&self.path),
            Kind::NewFile => scratch::room(&directory_of(&self.path)),
            Kind::File(file, _) | Kind::Device(file, _) => Ok(file.len()),
        };
        let has = has.map_err(|error| cannot_use(&self.path, &error))?;
        let region =
            scratch::region(has, began_with).filter(|region| began_with.is_none_or(|all| *region == all));
        region.ok_or_else(|| {
            let (path, mib) = (self.path.display(), has >> 20);
            let what = match &self.kind {
                Kind::Directory | Kind::NewFile => "has room for",
                Kind::File(..) | Kind::Device(..) => "has",
            };
            let message = match began_with {
                Some(all) => format!("{path} {what} {mib} MiB; the run began with {}.", all >> 20),
                None => format!("{path} {what} {mib} MiB; 10 are needed, and 2000 for all sizes."),
            };
            Failure::new(Exit::Device, message)
        })
    }

    /// Asks before anything is lost. Without a terminal only --batch-mode is a yes: who names the wrong device in a script shall not
    /// lose it.
    pub(super) fn confirm(&self, args: &Args) -> Result<()> {
        let (Kind::File(..) | Kind::Device(..)) = self.kind else { return Ok(()) };
        let path = self.path.display();
        if !args.batch_mode() && !rustix::termios::isatty(rustix::stdio::stdin()) {
            let message = format!("{path} would be written over; --batch-mode says that this is meant.");
            return Err(Failure::new(Exit::Parameters, message));
        }
        let warning = format!("This will overwrite data on {path} irrevocably.");
        question::confirm(args, &warning, "Operation aborted.", Exit::Parameters)
    }

    /// The storage that is measured.
    pub(super) fn scratch(&self, region: u64) -> io::Result<Scratch> {
        match &self.kind {
            Kind::Directory => Scratch::in_directory(&self.path, region),
            Kind::NewFile => Scratch::of_new(scratch::unlinked(&self.path)?, &self.path, region),
            Kind::File(..) | Kind::Device(..) => Scratch::of(File::open_rw(&self.path)?),
        }
    }

    /// The block device; `None` when it is a file.
    pub(super) fn device(&self) -> Option<&Path> {
        matches!(self.kind, Kind::Device(..)).then_some(self.path.as_path())
    }

    /// Lets go of a block device, which the kernel claims for its mappings.
    pub(super) fn release(&mut self) {
        if let Kind::Device(_, held) = &mut self.kind {
            *held = None;
        }
    }

    /// Takes it back when there are no mappings.
    pub(super) fn hold(&mut self) {
        if let Kind::Device(file, held) = &mut self.kind {
            *held = InUse::acquire(file, Access::Write, false).ok();
        }
    }

    /// Why nothing could be measured.
    pub(super) fn failed(&self, error: &io::Error) -> Failure {
        cannot_use(&self.path, error)
    }
}

/// What somebody may still want is not written over.
fn refuse_known(file: &File, path: &Path) -> Result<()> {
    let name = path.display().to_string();
    let known = signature::warnings(file, &name).into_iter().next();
    let known = known.map(|warning| warning.trim_start_matches("WARNING: ").to_owned());
    let other = keyway_volume::foreign_signature(file)
        .map(|what| format!("Device {name} holds a signature of {what}."));
    match known.or(other) {
        None => Ok(()),
        Some(what) => {
            let way_out = format!("Nothing was written; \"wipefs -a {name}\" if nobody needs it any more.");
            Err(Failure::new(Exit::Device, format!("{what} {way_out}")))
        }
    }
}

fn cannot_use(path: &Path, error: &io::Error) -> Failure {
    let path = path.display();
    match error.kind() {
        ErrorKind::NotFound => Failure::new(
            Exit::Device,
            format!("{path} does not exist: name a directory, a file or a block device."),
        ),
        ErrorKind::PermissionDenied => Failure::new(
            Exit::Permission,
            format!("Cannot write to {path}: permission denied, or it is write-protected."),
        ),
        ErrorKind::ReadOnlyFilesystem => {
            Failure::new(Exit::Device, format!("Cannot write to {path}: the file system is read-only."))
        }
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => {
            Failure::new(Exit::Device, format!("{path} became full while it was being filled: {error}."))
        }
        _ => Failure::new(Exit::Device, format!("{path} cannot be measured: {error}.")),
    }
}

fn directory_of(path: &Path) -> PathBuf {
    match path.parent() {
        Some(parent) if parent != Path::new("") => parent.to_owned(),
        _ => PathBuf::from("."),
    }
}

/// What the kernel calls a block device's driver: "brd", "loop" …; "block device" for hardware.
pub(super) fn medium(device: &Path) -> String {
    let number = fs::metadata(device).map(|found| found.rdev()).unwrap_or(0);
    let name = keyway_attach::dm::DeviceNumber::from_dev(number).kernel_name().unwrap_or_default();
    let drivers =
        [("ram", "brd"), ("nullb", "null_blk"), ("loop", "loop"), ("zram", "zram"), ("dm-", "device-mapper")];
    let known = drivers.iter().find(|(prefix, _)| name.starts_with(prefix));
    known.map_or("block device", |(_, driver)| driver).to_owned()
}
