//! Who else uses a device, as the kernel, QEMU and other programs of Keyway's show it.

use super::{Holder, InUse};
use crate::Result;
use keyway_volume::device::in_use::{self, Access};
use keyway_volume::{Error, Storage};
use std::os::fd::BorrowedFd;
use std::path::{Path, PathBuf};

/// Refuses what is in use by another program: open in QEMU or Keyway, mounted, mapped. An early check, before anybody is
/// asked for anything: what writes claims the device besides. What cannot be told is no reason.
///
/// ```
/// # use keyway::{devices, storage::Memory};
/// devices::check_unused(&Memory::zeroed(4096))?;
/// # Ok::<(), keyway::Error>(())
/// ```
///
/// # Errors
/// [`ErrorKind::InUse`](crate::ErrorKind::InUse).
pub fn check_unused(storage: &dyn Storage) -> Result<()> {
    match InUse::acquire(storage, Access::Write, false) {
        Err(error @ Error::InUse(_)) => Err(error.into()),
        _ => Ok(()),
    }
}

/// Marks it as in use by this program, which writes to it, until the mark is dropped. See [`check_unused`] for an example.
///
/// # Errors
/// [`ErrorKind::InUse`](crate::ErrorKind::InUse).
pub fn claim(storage: &dyn Storage) -> Result<InUse> {
    Ok(InUse::acquire(storage, Access::Write, false)?)
}

/// Claims the file that a new one is to replace: whoever has it open would go on with what nobody finds any more. See
/// [`NewFile`](crate::storage::NewFile) for an example of one.
///
/// # Errors
/// [`ErrorKind::InUse`](crate::ErrorKind::InUse).
#[cfg(feature = "parts")]
pub fn claim_replaced(new: &crate::storage::NewFile) -> Result<Option<InUse>> {
    Ok(in_use::claim_replaced(new)?)
}

/// Who holds an open file: a mount, swap, a loop device.
///
/// ```
/// use std::os::fd::AsFd;
/// assert_eq!(keyway::devices::holder_of(std::fs::File::open("Cargo.toml")?.as_fd()), None);
/// # Ok::<(), std::io::Error>(())
/// ```
pub fn holder_of(file: BorrowedFd<'_>) -> Option<Holder> {
    in_use::holder_of_file(file)
}

/// Another process that has an open file open, too, if that can be seen: VeraCrypt, say, which serves a volume without
/// the kernel's knowledge.
///
/// ```
/// use std::os::fd::AsFd;
/// assert_eq!(keyway::devices::opener_of(std::fs::File::open("Cargo.toml")?.as_fd()), None);
/// # Ok::<(), std::io::Error>(())
/// ```
pub fn opener_of(file: BorrowedFd<'_>) -> Option<Holder> {
    in_use::opener_of_file(file)
}

/// The process that holds the lock of the header at `header`, if it can be seen.
///
/// ```
/// assert_eq!(keyway::devices::lock_holder("Cargo.toml".as_ref()), None);
/// ```
pub fn lock_holder(header: &Path) -> Option<Holder> {
    keyway_volume::lock_holder(header)
}

/// The loop device over the file, or the partition of an image, at `file`.
///
/// ```
/// assert_eq!(keyway::devices::loop_device_of("Cargo.toml".as_ref()), None);
/// ```
pub fn loop_device_of(file: &Path) -> Option<PathBuf> {
    in_use::loop_device_of(file)
}
