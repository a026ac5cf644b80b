//! Opening files, devices and exports, and claiming those to be overwritten; a refusal says why.

use crate::device::location::{is_url, url};
use crate::device::{explain, nbd, partitions, place, remote};
use crate::output::failure::{Exit, Failure, Result};
use keyway::parts::Error;
use keyway::storage::{Direct, Exclusive, File, NoPartition, PartitionName, Storage, image_of};
use keyway::{Access, devices};
use std::fmt::Display;
use std::io::ErrorKind;
use std::os::fd::AsFd;
use std::os::unix::fs::FileTypeExt;
use std::path::Path;
use std::sync::Arc;

/// The bytes behind `spec`, opened for writing, for reading (writable if permitted, so that a
/// damaged header copy can be recovered), or for looking only.
pub(crate) fn storage(spec: &Path, access: Access) -> Result<Arc<dyn Storage>> {
    let Some(whole) = url(spec) else { return Ok(open(spec, access)?) };
    let Some((address, number)) = PartitionName::of_url(whole) else { return distant(whole, access) };
    let partition = PartitionName { image: address.into(), number };
    let found = partition.open_in(distant(address, access)?);
    Ok(Arc::new(found.map_err(|e| cannot_open(spec, &e, access == Access::Write))?))
}

/// What is behind a URL.
fn distant(url: &str, access: Access) -> Result<Arc<dyn Storage>> {
    if remote::is_url(url) { remote::storage(url, access) } else { nbd::storage(url, access) }
}

/// As [`storage`], bypassing the page cache: files and block devices only.
pub(crate) fn storage_direct(spec: &Path, access: Access) -> Result<Arc<dyn Storage>> {
    let refused = |why: &dyn Display| {
        let message = format!(
            "Device {} cannot be used without the page cache: {why}; omit --direct-io.",
            spec.display()
        );
        Failure::new(Exit::Device, message)
    };
    if url(spec).is_some() {
        return Err(refused(&"it is not a file or block device"));
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
    writable(path, File::open_rw(path))
}

fn writable(path: &Path, opened: std::io::Result<File>) -> Result<Arc<File>> {
    let file = opened.map_err(|e| cannot_open(path, &e, true))?;
    // A write-protected device can be opened, but refuses each write.
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

/// The file, device or export at `path`, to be overwritten by an output: no other program uses it,
/// and none can claim it until the result is dropped. No link is followed in a directory that others
/// may write to.
pub(crate) fn overwritten(path: &Path) -> Result<Exclusive> {
    let storage = match is_url(path) {
        true => storage(path, Access::Write)?,
        false => {
            check_kind(path)?;
            writable(path, File::overwrite(path))?
        }
    };
    Exclusive::claim(storage).map_err(|e| explain::on_device(path, &e))
}

/// Refuses a file or device that is in use elsewhere: open in QEMU or Keyway, mounted or mapped.
/// This is only an early check, before the user is asked for anything; a command that writes still
/// claims the device.
pub(crate) fn refuse_if_in_use(path: &Path) -> Result<()> {
    // If it cannot be opened, the error is reported in detail when it is opened for use.
    let Ok(file) = File::open(path) else { return Ok(()) };
    devices::check_unused(&file).map_err(|error| explain::placed(error.into(), Some(path)))
}

/// Refuses a file or device that another process has open. VeraCrypt and dislocker serve a volume without the kernel's
/// knowledge: nothing but its open file tells. To be asked before this process claims it.
pub(crate) fn refuse_if_opened(path: &Path) -> Result<()> {
    check_kind(path)?;
    let Ok(file) = std::fs::File::open(path) else { return Ok(()) };
    match devices::opener_of(file.as_fd()) {
        Some(holder) => Err(explain::on_device(path, &Error::InUse(holder))),
        None => Ok(()),
    }
}

/// Refuses a device that is used exclusively (a mount, a mapping), and a file attached to a loop
/// device: a second user would write behind the first one's back.
pub(crate) fn refuse_if_mapped(path: &Path) -> Result<()> {
    refuse_if_in_use(path)?;
    refuse_if_attached(path)
}

/// Refuses a file that is attached to a loop device.
pub(crate) fn refuse_if_attached(path: &Path) -> Result<()> {
    match devices::loop_device_of(path) {
        Some(node) => {
            let (path, node) = (path.display(), node.display());
            let message = format!("Cannot use device {path} which is in use (attached to {node}).");
            Err(Failure::new(Exit::Busy, message))
        }
        None => Ok(()),
    }
}

/// Refuses pipes and terminals before they are opened: opening a pipe blocks until its other end is
/// opened.
pub(crate) fn check_kind(path: &Path) -> Result<()> {
    match std::fs::metadata(image_of(path)).map(|m| m.file_type()) {
        Ok(kind) if !kind.is_file() && !kind.is_block_device() => {
            Err(cannot_open(path, &ErrorKind::InvalidInput.into(), false))
        }
        // If it does not exist or cannot be examined, opening it gives the detailed error.
        _ => Ok(()),
    }
}

fn cannot_open(path: &Path, error: &std::io::Error, for_writing: bool) -> Failure {
    if place::is_planted(error) {
        return place::refused(path, error);
    }
    if let Some(missing) = NoPartition::of(error) {
        return partitions::missing(path, missing);
    }
    let path = path.display();
    match error.kind() {
        ErrorKind::NotFound => {
            Failure::new(Exit::Device, format!("Device {path} does not exist or access denied."))
        }
        ErrorKind::PermissionDenied if for_writing => Failure::denied(
            Exit::Parameters,
            format!(
                "Cannot write to device {path}, permission denied: it or its file system is read-only to this user."
            ),
        ),
        ErrorKind::PermissionDenied => Failure::denied(
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
