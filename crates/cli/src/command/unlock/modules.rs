//! The kernel modules that the image's maker listed, in order: `/keyway/modules`, a path a line.

use rustix::io::Errno;
use std::fs::{self, File};

/// Loads them. What is there already is passed over; what fails is said, since something may work without it.
pub(super) fn load() {
    for path in fs::read_to_string(LIST).unwrap_or_default().lines() {
        let loaded = File::open(path).map_err(|error| error.to_string()).and_then(|file| {
            match rustix::system::finit_module(&file, c"", 0) {
                Ok(()) | Err(Errno::EXIST) => Ok(()),
                Err(error) => Err(error.to_string()),
            }
        });
        if let Err(why) = loaded {
            eprintln!("keyway: {path} cannot be loaded: {why}.");
        }
    }
}

const LIST: &str = "/keyway/modules";
