//! The kernel modules that the image's maker listed in loading order: `/keyway/modules`, one path
//! per line.

use keyway_attach::initramfs::Initramfs;
use rustix::io::Errno;
use std::fs::{self, File};

/// Loads the modules. One that is loaded already is skipped; an error is printed but not fatal,
/// since the boot may work without the module.
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

/// The list, one path per line.
pub(super) fn list() -> String {
    fs::read_to_string(LIST).unwrap_or_default()
}

const LIST: &str = "/keyway/modules";
