//! A key or a header of which nobody says on which device it is (genkernel's root_key= without root_keydev=): each file
//! system that is there is mounted read-only, looked at once, and put away again.
//!
//! A machine may have been suspended: no journal is replayed, and a file system of which that cannot be demanded is passed
//! over.

use super::find::{self, LOOK_AGAIN, TIMEOUT};
use super::mounting::{c_string, mount_privately};
use crate::output::failure::{Exit, Failure, Result};
use keyway_volume::Storage;
use keyway_volume::device::block_devices::{self, BlockDevice};
use keyway_volume::device::probe::{Reach, file_system};
use keyway_volume::device::storage::File;
use rustix::mount::{UnmountFlags, mount, unmount};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

/// The place where the file system with this file is mounted. Waits for a device that has it at most `limit`.
pub(super) fn reach(file: &str, limit: Duration, what: &str) -> Result<PathBuf> {
    let (start, mut looked_at, mut said) = (Instant::now(), BTreeSet::new(), false);
    loop {
        for node in block_devices::all().iter().map(BlockDevice::node) {
            // A reader has a node before it has a card.
            let size = File::open(node).map_or(0, |device| device.len());
            if size > 0
                && looked_at.insert((node.to_owned(), size))
                && let Some(place) = holding(node, file, what)
            {
                return Ok(place);
            }
        }
        if start.elapsed() >= limit {
            let message = format!("The {what} {file} is neither in the image nor on a device that is there.");
            return Err(Failure::new(Exit::Device, message));
        }
        if !said && start.elapsed() > TIMEOUT {
            say!("Waiting for a device with {file} ({}).", find::in_words(limit));
            said = true;
        }
        thread::sleep(LOOK_AGAIN);
    }
}

/// Mounts a device's file system, if it has that file: not a link, which may lead elsewhere.
fn holding(node: &Path, file: &str, what: &str) -> Option<PathBuf> {
    let found = File::open(node).and_then(|device| file_system(&device, Reach::Start)).ok()??;
    let (kind, options) = UNCHANGED.iter().find(|(kind, _)| *kind == found.blkid)?;
    let options = c_string(options);
    let mounted = mount_privately(node, what, |place, flags| {
        mount(node, place, *kind, flags, options.as_deref()).map_err(|error| error.to_string())
    });
    let place = mounted.ok()?;
    let has =
        fs::symlink_metadata(place.join(file.trim_start_matches('/'))).is_ok_and(|found| found.is_file());
    if !has {
        let _ = unmount(&place, UnmountFlags::DETACH);
        let _ = fs::remove_dir(&place);
    }
    has.then_some(place)
}

/// File systems that a mount leaves as they are, with the options for it.
const UNCHANGED: &[(&str, &str)] = &[
    ("vfat", ""),
    ("exfat", ""),
    ("ext2", ""),
    ("ext3", "noload"),
    ("ext4", "noload"),
    ("xfs", "norecovery"),
    ("btrfs", "rescue=nologreplay"),
    ("f2fs", "norecovery"),
    ("iso9660", ""),
    ("udf", ""),
    ("squashfs", ""),
    ("erofs", ""),
];
