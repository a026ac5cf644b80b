//! Files, devices and exports opened, and claimed where they are written over; refused with the
//! reason.

use crate::device::location::{is_url, url};
use crate::device::{explain, nbd, place, remote};
use crate::say::failure::{Exit, Failure, Result};
use keyway_volume::storage::{Direct, Exclusive, File};
use keyway_volume::{Access, Error, InUse, Storage, in_use};
use std::fmt::Display;
use std::io::ErrorKind;
use std::os::unix::fs::FileTypeExt;
use std::path::Path;
use std::sync::Arc;

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
        place::existing(path)?;
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

/// Refuses a device that somebody uses exclusively (a mount, a mapping), and a file that a loop
/// device stands for: a second one would write behind the first one's back.
pub(crate) fn refuse_if_mapped(path: &Path) -> Result<()> {
    refuse_if_in_use(path)?;
    refuse_if_attached(path)
}

/// Refuses a file that a loop device stands for.
pub(crate) fn refuse_if_attached(path: &Path) -> Result<()> {
    match in_use::loop_device_of(path).filter(|_| path.is_file()) {
        Some(node) => {
            let (path, node) = (path.display(), node.display());
            let message = format!("Cannot use device {path} which is in use (attached to {node}).");
            Err(Failure::new(Exit::Busy, message))
        }
        None => Ok(()),
    }
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
