//! `/dev/mapper/NAME`: udev's link, or a node of our own where udev
//! is absent (a ramdisk, a container).

use super::{DeviceNumber, control, udev};
use crate::{Error, Result};
use rustix::fs::{AtFlags, CWD, FileType, Mode, mknodat, statat, unlinkat};
use rustix::io::Errno;
use std::path::PathBuf;

/// Where the mapping of this name is found.
///
/// # Errors
/// [`Error::Refused`]: it cannot be a name.
pub fn path(name: &str) -> Result<PathBuf> {
    Ok(place(&super::name::mangle(name)?))
}

/// Who makes the nodes.
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

    /// Makes sure of the node; udev's rules may leave a link out.
    pub(super) fn add(self, mangled: &str, device: DeviceNumber) -> Result<()> {
        let path = place(mangled);
        if statat(CWD, &path, AtFlags::empty()).is_ok_and(|found| is(&found, device)) {
            return Ok(());
        }
        let failed =
            |error: Errno| Error::Io { what: format!("making {}", path.display()), source: error.into() };
        // Of a mapping that is gone, or a link to where udev has not been yet.
        match unlinkat(CWD, &path, AtFlags::empty()) {
            Ok(()) | Err(Errno::NOENT) => {}
            Err(error) => return Err(failed(error)),
        }
        mknodat(CWD, &path, FileType::BlockDevice, Mode::RUSR | Mode::WUSR, device.to_dev()).map_err(failed)
    }

    /// Takes the node away, if it is still there.
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
