//! `/dev/mapper/NAME`: udev's link, or a node made here where udev is absent (a ramdisk, a
//! container).

use super::{DeviceNumber, control, udev};
use crate::{Error, Result};
use rustix::fs::{AtFlags, CWD, FileType, Mode, mknodat, statat, unlinkat};
use rustix::io::Errno;
use std::path::PathBuf;

/// The path of the mapping with this name.
///
/// # Errors
/// [`Error::Refused`] if this is not a valid name.
pub fn path(name: &str) -> Result<PathBuf> {
    Ok(place(&super::name::mangle(name)?))
}

/// How the nodes are made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Maker {
    Udev,
    Own,
}

impl Maker {
    pub(super) fn of_this_machine() -> Self {
        if udev::runs() { Self::Udev } else { Self::Own }
    }

    pub(super) fn is_udev(self) -> bool {
        self == Self::Udev
    }

    /// Makes sure that the node exists, because udev's rules may omit a link.
    pub(super) fn add(self, mangled: &str, device: DeviceNumber) -> Result<()> {
        let path = place(mangled);
        if statat(CWD, &path, AtFlags::empty()).is_ok_and(|found| is(&found, device)) {
            return Ok(());
        }
        let failed =
            |error: Errno| Error::Io { what: format!("making {}", path.display()), source: error.into() };
        // Left over from a removed mapping, or a link to a node that udev has not made yet.
        match unlinkat(CWD, &path, AtFlags::empty()) {
            Ok(()) | Err(Errno::NOENT) => {}
            Err(error) => return Err(failed(error)),
        }
        mknodat(CWD, &path, FileType::BlockDevice, Mode::RUSR | Mode::WUSR, device.to_dev()).map_err(failed)
    }

    /// Removes the node, if it still exists.
    pub(super) fn remove(self, mangled: &str) -> Result<()> {
        let path = place(mangled);
        match unlinkat(CWD, &path, AtFlags::empty()) {
            Ok(()) | Err(Errno::NOENT) => Ok(()),
            Err(error) => {
                Err(Error::Io { what: format!("removing {}", path.display()), source: error.into() })
            }
        }
    }
}

fn is(found: &rustix::fs::Stat, device: DeviceNumber) -> bool {
    FileType::from_raw_mode(found.st_mode) == FileType::BlockDevice
        && DeviceNumber::from_dev(found.st_rdev) == device
}

fn place(mangled: &str) -> PathBuf {
    PathBuf::from(control::DIRECTORY).join(mangled)
}
