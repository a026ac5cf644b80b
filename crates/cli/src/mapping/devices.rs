//! The device below a mapping: attached where it is a file, named as
//! cryptsetup names it, kept for one user.

use crate::say::failure::{Exit, Failure, Result};
use crate::say::sentence;
use keyway_attach::dm::loopback::{self, Loop};
use keyway_attach::dm::{DeviceNumber, Mapper};
use keyway_volume::Storage;
use keyway_volume::storage::LockTarget;
use std::fs;
use std::path::{Path, PathBuf};

/// A block device that the kernel can map. A file's loop device goes
/// with this and the mapping, whichever is later.
pub(crate) struct Data {
    /// Its number, for table lines.
    pub(crate) number: DeviceNumber,
    /// Whether it refuses writes.
    pub(crate) read_only: bool,
    _loop: Option<Loop>,
}

impl Data {
    /// The very device or file that `storage` has open, whatever stands at `path` by now: its
    /// header was judged. A regular file gets a loop device with blocks of `sector_size` bytes,
    /// which goes by itself when the mapping does.
    pub(crate) fn attach(
        storage: &dyn Storage,
        path: &Path,
        read_only: bool,
        sector_size: u32,
    ) -> Result<Self> {
        let file = match storage.lock_target() {
            Some(LockTarget::BlockDevice { major, minor, .. }) => {
                let number = DeviceNumber { major, minor };
                return Ok(Self { number, read_only: read_only || is_locked(number), _loop: None });
            }
            Some(LockTarget::File(file)) => file,
            None => {
                let message = format!("The kernel maps block devices and files, not {}.", path.display());
                return Err(Failure::new(Exit::Parameters, message));
            }
        };
        let block_size = if sector_size > 512 { sector_size } else { 0 };
        let options = loopback::Options { read_only, autoclear: true, block_size, direct_io: false };
        let attached = Loop::attach_open(file, path, options).map_err(|e| sentence::door(&e))?;
        let number = attached.number().map_err(|e| sentence::door(&e))?;
        Ok(Self { number, read_only, _loop: Some(attached) })
    }
}

/// Whether the device or file at `path` refuses writes whoever asks.
pub(crate) fn is_read_only(path: &Path) -> bool {
    match DeviceNumber::at(path) {
        Ok(number) => is_locked(number),
        Err(_) => fs::File::options().write(true).open(path).is_err(),
    }
}

/// Whether the kernel refuses writes to the device.
fn is_locked(number: DeviceNumber) -> bool {
    fs::read_to_string(format!("/sys/dev/block/{number}/ro")).is_ok_and(|ro| ro.trim() == "1")
}

/// The node of a block device as cryptsetup shows it:
/// `/dev/mapper/NAME` for a mapping, else the kernel's name.
pub(crate) fn device_path(mapper: &Mapper, number: DeviceNumber) -> Option<PathBuf> {
    let kernel_name = number.kernel_name()?;
    match mapper.status_of(number) {
        Ok(info) if kernel_name.starts_with("dm-") => Some(super::place(&info.name)),
        _ => Some(Path::new("/dev").join(kernel_name.replace('!', "/"))),
    }
}
