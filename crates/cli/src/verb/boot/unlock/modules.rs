//! The kernel modules that the image's maker listed in loading order: `/keyway/modules`, one path
//! per line; and their firmware.

use keyway_attach::initramfs::Initramfs;
use keyway_boot::initramfs::layout;
use rustix::io::Errno;
use std::fs::{self, File};
use std::path::Path;

/// Loads the modules. One that is loaded already, or finds no hardware, is skipped; an error is printed
/// but not fatal, since the boot may work without the module.
pub(super) fn load(_proof: &Initramfs) {
    for path in list().lines() {
        let loaded = File::open(path).map_err(|error| error.to_string()).and_then(|file| {
            match rustix::system::finit_module(&file, c"", 0) {
                // Drivers for another CPU, or for a device that is not there, end so.
                Ok(()) | Err(Errno::EXIST | Errno::NODEV) => Ok(()),
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

/// Where the kernel looks for firmware first, while this value exists: in the image.
pub(super) struct Firmware {
    before: Option<String>,
}

impl Firmware {
    pub(super) fn here(_proof: &Initramfs) -> Self {
        let place = format!("/{}", layout::FIRMWARE);
        let is_there = Path::new(&place).is_dir();
        let before = is_there.then(|| fs::read_to_string(SOUGHT).unwrap_or_default());
        if before.is_some()
            && let Err(why) = fs::write(SOUGHT, place)
        {
            say!("keyway: the kernel does not look for firmware in the image: {SOUGHT}: {why}.");
        }
        Self { before }
    }
}

impl Drop for Firmware {
    fn drop(&mut self) {
        if let Some(before) = &self.before {
            // Nothing is written by a write of nothing.
            let _ = fs::write(SOUGHT, format!("{}\0", before.trim_end()));
        }
    }
}

const LIST: &str = "/keyway/modules";
/// The kernel's parameter (Documentation/driver-api/firmware/fw_search_path.rst).
const SOUGHT: &str = "/sys/module/firmware_class/parameters/path";
