//! The files and devices that a command works on: opened, refused
//! with the reason, and their headers loaded.

pub(crate) mod content;
pub(crate) mod input;
pub(crate) mod nbd;
pub(crate) mod remote;
mod target;
pub(crate) mod tls;
pub(crate) mod whole_file;

pub(crate) use target::{Target, Versions, locking};

use crate::make::output_file;
use crate::say::explain;
use crate::say::failure::{Exit, Failure, Result};
use keyway_attach::dm::{DeviceNumber, loopback};
use keyway_volume::storage::{Direct, Exclusive, File, LockTarget, Readers};
use keyway_volume::{Access, Error, InUse, Storage, in_use};
use rustix::fs::fstat;
use std::fmt::Display;
use std::io::ErrorKind;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// "UUID=…" becomes the link that udev keeps for it; anything else stays as it is.
pub(crate) fn resolve(spec: &Path) -> PathBuf {
    let uuid = spec.to_str().and_then(|s| s.strip_prefix("UUID="));
    match uuid {
        Some(uuid) if uuid.chars().all(|c| c.is_ascii_hexdigit() || c == '-') => {
            Path::new("/dev/disk/by-uuid").join(uuid.to_ascii_lowercase())
        }
        _ => spec.to_owned(),
    }
}

/// The operand as a URL, when it is one. (A file of such a name is `./nbd://…`.)
fn url(spec: &Path) -> Option<&str> {
    spec.to_str().filter(|spec| nbd::is_url(spec) || remote::is_url(spec))
}

/// Whether an operand is a URL.
pub(crate) fn is_url(spec: &Path) -> bool {
    url(spec).is_some()
}

/// Whether an operand can be read only: a door shows it so without being told.
pub(crate) fn is_read_only(spec: &Path) -> bool {
    spec.to_str().is_some_and(remote::is_url)
}

/// Whether there is something to open; of a URL only its server knows.
pub(crate) fn exists(spec: &Path) -> bool {
    url(spec).is_some() || spec.exists()
}

/// Whether it is written where it stands, and as long as it is: a block device, or what is
/// behind a URL. Anything else is a file to be made.
pub(crate) fn is_given(spec: &Path) -> bool {
    url(spec).is_some() || std::fs::metadata(spec).is_ok_and(|found| found.file_type().is_block_device())
}

/// Who may read an input: of a pipe or an export only the umask tells.
pub(crate) fn readers(spec: &Path) -> Readers {
    let path = if spec == Path::new("-") { Path::new("/dev/stdin") } else { spec };
    let has_mode = |found: &std::fs::Metadata| found.is_file() || found.file_type().is_block_device();
    match std::fs::metadata(path) {
        _ if is_url(spec) => Readers::Anybody,
        Ok(found) if !has_mode(&found) => Readers::Anybody,
        _ => Readers::of(path),
    }
}

/// The bytes behind `spec`, for what is going to be done to them: writing, reading (writable where
/// that is allowed, so that a damaged header copy can be recovered), or looking only.
pub(crate) fn storage(spec: &Path, access: Access) -> Result<Arc<dyn Storage>> {
    if let Some(url) = url(spec) {
        return if remote::is_url(url) { remote::storage(url, access) } else { nbd::storage(url, access) };
    }
    Ok(open(spec, access)?)
}

/// As [`storage`], past the page cache: files and block devices only.
pub(crate) fn storage_direct(spec: &Path, access: Access) -> Result<Arc<dyn Storage>> {
    let refused = |why: &dyn Display| {
        let message = format!(
            "Device {} cannot be used past the page cache: {why}; leave --direct-io out.",
            spec.display()
        );
        Failure::new(Exit::Device, message)
    };
    if url(spec).is_some() {
        return Err(refused(&"it is no file or block device"));
    }
    match Direct::new(open(spec, access)?) {
        Ok(direct) => Ok(Arc::new(direct)),
        Err(error) => Err(refused(&error)),
    }
}

fn open(path: &Path, access: Access) -> Result<Arc<File>> {
    match access {
        Access::Write => open_writable(path),
        Access::Read => open_readable(path),
        Access::Probe => open_read_only(path),
    }
}

fn open_writable(path: &Path) -> Result<Arc<File>> {
    check_kind(path)?;
    let file = File::open_rw(path).map_err(|e| cannot_open(path, &e, true))?;
    // A write-protected device is opened, and refuses each write.
    if file.is_read_only() {
        return Err(cannot_open(path, &ErrorKind::PermissionDenied.into(), true));
    }
    Ok(Arc::new(file))
}

fn open_readable(path: &Path) -> Result<Arc<File>> {
    check_kind(path)?;
    match File::open_rw(path) {
        Ok(file) => Ok(Arc::new(file)),
        Err(_) => open_read_only(path),
    }
}

fn open_read_only(path: &Path) -> Result<Arc<File>> {
    check_kind(path)?;
    File::open(path).map(Arc::new).map_err(|e| cannot_open(path, &e, false))
}

/// The file, device or export at `path`, to be written over: nobody else uses
/// it, and nobody else gets it before that is dropped. A link to it that
/// others could have put in its way is not followed.
pub(crate) fn exclusive(path: &Path) -> Result<Exclusive> {
    if !is_url(path) {
        output_file::existing(path)?;
    }
    claimed(path, Access::Write)
}

/// As [`exclusive`], opened for something else than writing.
pub(crate) fn claimed(path: &Path, access: Access) -> Result<Exclusive> {
    Exclusive::claim(storage(path, access)?).map_err(|e| explain::on_device(path, &e))
}

/// Refuses a file or device that somebody else uses: it is open in QEMU or Keyway, mounted or
/// mapped. This is a look before anybody is asked for anything; whoever writes claims.
pub(crate) fn refuse_if_in_use(path: &Path) -> Result<()> {
    // What cannot be opened is refused in detail by whoever opens it.
    let Ok(file) = File::open(path) else { return Ok(()) };
    match InUse::acquire(&file, in_use::Access::Write, false) {
        Err(error @ Error::InUse(_)) => Err(explain::on_device(path, &error)),
        _ => Ok(()),
    }
}

/// Whether both name the same file, the same block device whatever its node, the file
/// behind a loop device and that, or the same URL.
pub(crate) fn is_same(one: &Path, other: &Path) -> bool {
    if url(one).is_some() {
        return one == other;
    }
    let identity = |path: &Path| {
        let found = std::fs::metadata(path).ok()?;
        let behind = loopback::backing_file(DeviceNumber::from_dev(found.rdev()));
        let behind = behind.filter(|_| found.file_type().is_block_device());
        let found = behind.and_then(|file| std::fs::metadata(file).ok()).unwrap_or(found);
        let is_block = found.file_type().is_block_device();
        Some(if is_block { (true, found.rdev(), 0) } else { (false, found.dev(), found.ino()) })
    };
    identity(one).is_some_and(|one| Some(one) == identity(other))
}

/// Whether both are open, and are not the same file or block device.
pub(crate) fn is_exchanged(one: &dyn Storage, other: &dyn Storage) -> bool {
    let identity = |storage: &dyn Storage| match storage.lock_target()? {
        LockTarget::BlockDevice { major, minor, .. } => Some((true, u64::from(major), u64::from(minor))),
        LockTarget::File(file) => fstat(file).ok().map(|found| (false, found.st_dev, found.st_ino)),
    };
    identity(one).is_some_and(|one| identity(other).is_some_and(|other| one != other))
}

/// cryptsetup's words for a device without the header that was asked for.
pub(crate) fn not_luks(path: &Path) -> Failure {
    Failure::new(Exit::Parameters, format!("Device {} is not a valid LUKS device.", path.display()))
}

/// Refuses pipes and terminals before they are opened: opening a pipe waits for its other end.
pub(crate) fn check_kind(path: &Path) -> Result<()> {
    match std::fs::metadata(path).map(|m| m.file_type()) {
        Ok(kind) if !kind.is_file() && !kind.is_block_device() => {
            Err(cannot_open(path, &ErrorKind::InvalidInput.into(), false))
        }
        // What does not exist or may not be looked at is refused in detail by opening it.
        _ => Ok(()),
    }
}

fn cannot_open(path: &Path, error: &std::io::Error, for_writing: bool) -> Failure {
    let path = path.display();
    match error.kind() {
        ErrorKind::NotFound => {
            Failure::new(Exit::Device, format!("Device {path} does not exist or access denied."))
        }
        ErrorKind::PermissionDenied if for_writing => Failure::new(
            Exit::Parameters,
            format!(
                "Cannot write to device {path}, permission denied: it or its file system is read-only to this user."
            ),
        ),
        ErrorKind::PermissionDenied => Failure::new(
            Exit::Device,
            format!("Device {path} does not exist or access denied: this user may not read it."),
        ),
        ErrorKind::IsADirectory | ErrorKind::InvalidInput | ErrorKind::Unsupported => Failure::new(
            Exit::Device,
            format!("Device {path} is not compatible: a regular file or a block device is needed."),
        ),
        ErrorKind::ReadOnlyFilesystem => Failure::new(
            Exit::Parameters,
            format!("Cannot write to device {path}: the file system is read-only."),
        ),
        _ => Failure::new(Exit::Device, format!("Device {path} cannot be opened: {error}.")),
    }
}
