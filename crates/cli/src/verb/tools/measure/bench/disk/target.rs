//! What TARGET is, and whether it may be overwritten.

use crate::device::{content, explain};
use crate::output::failure::{Exit, Failure, Result};
use crate::output::manner::Manner;
use crate::output::question;
use keyway::devices::{self, InUse};
use keyway::storage::{File, Storage};
use keyway_measure::disk::{Scratch, scratch};
use std::fs::{self, Metadata};
use std::io::{self, ErrorKind};
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

/// A target that may be used.
pub(super) struct Target {
    path: PathBuf,
    kind: Kind,
}

enum Kind {
    /// A directory, in which an unnamed scratch file is created.
    Directory,
    /// A file that is created, and unlinked at once.
    NewFile,
    /// An existing file; its content is lost.
    File(Claimed),
    /// A block device; its content is lost.
    Device(Claimed),
}

/// A file or device that no other program uses during the run.
struct Claimed {
    file: File,
    mark: InUse,
}

impl Claimed {
    fn of(file: File, path: &Path) -> Result<Self> {
        let mark = devices::claim(&file);
        Ok(Self { mark: mark.map_err(|e| explain::placed(e.into(), Some(path)))?, file })
    }

    /// Opens the same file once more, even if another file has its name by now.
    fn again(&self) -> io::Result<File> {
        let link = format!("/proc/self/fd/{}", self.file.as_file().as_raw_fd());
        File::from_file(fs::File::options().read(true).write(true).open(link)?, self.file.path())
    }
}

impl Target {
    /// Examines the target of that name.
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

    /// Whether the file may be created: its directory exists, and it is not below `/dev`, where the
    /// name would be a mistyped device.
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
        let file = File::open_rw(path).map_err(|error| cannot_use(path, &error))?;
        if file.is_read_only() {
            return Err(cannot_use(path, &ErrorKind::PermissionDenied.into()));
        }
        let claimed = Claimed::of(file, path)?;
        refuse_known(&claimed.file, path)?;
        let kind = if kind.is_block_device() { Kind::Device } else { Kind::File };
        Ok(kind(claimed))
    }

    /// As the user named it.
    pub(super) fn name(&self) -> String {
        self.path.display().to_string()
    }

    /// The number of bytes to use; for a resumed run, as many as it began with.
    ///
    /// # Errors
    /// It is too small.
    pub(super) fn region(&self, began_with: Option<u64>) -> Result<u64> {
        let has = match &self.kind {
            Kind::Directory => scratch::room(&self.path),
            Kind::NewFile => scratch::room(&directory_of(&self.path)),
            Kind::File(claimed) | Kind::Device(claimed) => Ok(claimed.file.len()),
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

    /// Asks before anything is lost. Without a terminal, only --batch-mode counts as yes: a script
    /// that names the wrong device must not destroy it.
    pub(super) fn confirm(&self, manner: Manner) -> Result<()> {
        let (Kind::File(..) | Kind::Device(..)) = self.kind else { return Ok(()) };
        let path = self.path.display();
        if !manner.batch_mode && !rustix::termios::isatty(rustix::stdio::stdin()) {
            let message = format!("{path} would be overwritten; --batch-mode confirms this.");
            return Err(Failure::new(Exit::Parameters, message));
        }
        let warning = format!("This will overwrite data on {path} irrevocably.");
        question::confirm(manner, &warning, "Operation aborted.", Exit::Parameters)
    }

    /// The storage that is measured.
    pub(super) fn scratch(&self, region: u64) -> io::Result<Scratch> {
        match &self.kind {
            Kind::Directory => Scratch::in_directory(&self.path, region),
            Kind::NewFile => Scratch::of_new(scratch::unlinked(&self.path)?, &self.path, region),
            Kind::File(claimed) | Kind::Device(claimed) => Scratch::of(claimed.again()?),
        }
    }

    /// The block device; `None` for a file.
    pub(super) fn device(&self) -> Option<&Path> {
        matches!(self.kind, Kind::Device(..)).then_some(self.path.as_path())
    }

    /// Releases a block device, so that the kernel can claim it for its mappings.
    pub(super) fn release(&mut self) {
        if let Kind::Device(claimed) = &mut self.kind {
            claimed.mark.leave_to_the_kernel();
        }
    }

    /// Claims it again once there are no mappings.
    ///
    /// # Errors
    /// Another program has claimed it in the meantime; nothing more may be written to it.
    pub(super) fn hold(&mut self) -> io::Result<()> {
        if let Kind::Device(claimed) = &mut self.kind {
            claimed.mark = InUse::default();
            let mark = devices::claim(&claimed.file);
            claimed.mark =
                mark.map_err(|error| io::Error::new(ErrorKind::ResourceBusy, error.to_string()))?;
        }
        Ok(())
    }

    /// Why nothing could be measured.
    pub(super) fn failed(&self, error: &io::Error) -> Failure {
        cannot_use(&self.path, error)
    }
}

/// Refuses to overwrite known content, which somebody may still need.
fn refuse_known(file: &File, path: &Path) -> Result<()> {
    let known = content::found(file, path)?;
    known.first().map_or(Ok(()), |what| {
        let name = path.display();
        let way_out =
            format!("Nothing was written; run \"wipefs -a {name}\" if its content is no longer needed.");
        Err(Failure::new(Exit::Device, format!("{what} {way_out}")))
    })
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

/// The kernel's name for a block device's driver: "brd", "loop" …; "block device" for hardware.
pub(super) fn medium(device: &Path) -> String {
    let name = devices::kernel_name(device).unwrap_or_default();
    let drivers =
        [("ram", "brd"), ("nullb", "null_blk"), ("loop", "loop"), ("zram", "zram"), ("dm-", "device-mapper")];
    let known = drivers.iter().find(|(prefix, _)| name.starts_with(prefix));
    known.map_or("block device", |(_, driver)| driver).to_owned()
}
