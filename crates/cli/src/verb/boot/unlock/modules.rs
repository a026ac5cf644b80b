//! The kernel modules that the image's maker listed, in order: `/keyway/modules`, a path a line.

use keyway_attach::initramfs::Initramfs;
use rustix::io::Errno;
use std::fs::{self, File};

/// Loads them. What is there already is passed over; what fails is
/// said, since something may work without it.
pub(super) fn load(_proof: &Initramfs) {
    for path in list().lines() {
        let loaded = File::open(path).map_err(|error| error.to_string()).and_then(|file| {
            match rustix::system::finit_module(&file, c"", 0) {
                Ok(()) | Err(Errno::EXIST) => Ok(()),
                Err(error) => Err(error.to_string()),
            }
        });
        if let Err(why) = loaded {
            say!("keyway: {path} cannot be loaded: {why}.");
        }
    }
}

/// The list, a path a line.
pub(super) fn list() -> String {
    fs::read_to_string(LIST).unwrap_or_default()
}

const LIST: &str = "/keyway/modules";
