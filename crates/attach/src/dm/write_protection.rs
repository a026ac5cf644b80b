//! A block device that is made read-only for a while.
//!
//! A file system that is mounted read-only is written to nevertheless: the kernel finishes what was being removed when it
//! was last in use (ext4_orphan_cleanup, f2fs_recover_orphan_inodes), unless the device itself is read-only.

use super::sys;
use crate::{Error, Result};
use rustix::fd::AsFd;
use std::fs::File;
use std::path::Path;

/// While this value exists the kernel's file systems do not write to the device.
#[derive(Debug)]
pub struct WriteProtection {
    device: File,
    /// Whether it was this value that made it read-only.
    is_ours: bool,
}

impl WriteProtection {
    /// Makes the block device read-only; one that is read-only already stays so afterwards.
    ///
    /// # Errors
    /// If it cannot be opened, or is no block device, or with the system's error.
    pub fn of(node: &Path) -> Result<Self> {
        let failed = |source| Error::Io { what: format!("making {} read-only", node.display()), source };
        let device = File::open(node).map_err(failed)?;
        let is_ours = !sys::read_only(device.as_fd()).map_err(|error| failed(error.into()))?;
        if is_ours {
            sys::set_read_only(device.as_fd(), true).map_err(|error| failed(error.into()))?;
        }
        Ok(Self { device, is_ours })
    }
}

impl Drop for WriteProtection {
    fn drop(&mut self) {
        if self.is_ours {
            let _ = sys::set_read_only(self.device.as_fd(), false);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_block_device_is_refused() {
        for (path, why) in [
            ("/dev/null", "Inappropriate ioctl for device (os error 25)"),
            ("/nowhere", "No such file or directory (os error 2)"),
        ] {
            let refused = WriteProtection::of(Path::new(path)).unwrap_err();
            assert_eq!(refused.to_string(), format!("making {path} read-only: {why}"));
        }
    }
}
