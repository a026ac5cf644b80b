//! The block device below a mapping: a device, or a loop device over a file.

use super::DeviceNumber;
use super::loopback::{self, Loop};
use crate::{Refusal, Result};
use keyway_volume::Storage;
use keyway_volume::device::storage::LockTarget;
use std::fs;
use std::path::Path;

/// A block device that the kernel can map. A file's loop device is detached when both this value
/// and the mapping are gone.
#[derive(Debug)]
pub struct Backing {
    /// The device number, for table lines.
    pub number: DeviceNumber,
    /// Whether the device refuses writes.
    pub read_only: bool,
    _loop: Option<Loop>,
}

impl Backing {
    /// Attaches the device or file that `storage` has open, even if another one is at `path` by
    /// now, because it is the open one's header that was checked. A regular file gets a loop device
    /// with blocks of `sector_size` bytes, which is detached automatically along with the mapping; one of a
    /// partition shows that alone.
    ///
    /// # Errors
    /// [`Refusal::NotMappable`] if `storage` is neither; those of [`Loop::attach_open`].
    pub fn attach(storage: &dyn Storage, path: &Path, read_only: bool, sector_size: u32) -> Result<Self> {
        let (file, part) = match storage.lock_target() {
            Some(LockTarget::BlockDevice { part: Some(_), .. }) => {
                let path = path.display();
                return Err(Refusal::NotMappable.because(format!(
                    "The kernel maps a partition by its own block device, not by {path}: partprobe creates it"
                )));
            }
            Some(LockTarget::BlockDevice { major, minor, .. }) => {
                let number = DeviceNumber { major, minor };
                return Ok(Self { number, read_only: read_only || number.is_read_only(), _loop: None });
            }
            Some(LockTarget::File { fd, part }) => (fd, part),
            None => {
                let path = path.display();
                return Err(Refusal::NotMappable
                    .because(format!("The kernel maps block devices and files, not {path}")));
            }
        };
        let block_size = if sector_size > 512 { sector_size } else { 0 };
        let options = loopback::Options { read_only, autoclear: true, block_size, direct_io: false, part };
        let attached = Loop::attach_open(file, path, options)?;
        Ok(Self { number: attached.number()?, read_only, _loop: Some(attached) })
    }
}

impl DeviceNumber {
    /// Whether the kernel refuses writes to the device.
    pub fn is_read_only(self) -> bool {
        fs::read_to_string(format!("/sys/dev/block/{self}/ro")).is_ok_and(|ro| ro.trim() == "1")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use keyway_volume::device::storage::Memory;

    #[test]
    fn what_is_no_file_and_no_device_cannot_be_mapped() {
        let refused = Backing::attach(&Memory::zeroed(512), Path::new("memory"), false, 512).unwrap_err();
        assert_eq!(refused.to_string(), "The kernel maps block devices and files, not memory");
    }
}
