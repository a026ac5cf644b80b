//! Finding a device without udev: among the kernel's block devices, by what is on each.

use crate::device;
use keyway_boot::device_spec::{Tag, Tagged};
use keyway_volume::block_devices::{self, BlockDevice};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

/// The device that a table or a command line names; `None` if it is not there yet.
pub(super) fn find(spec: &OsStr) -> Option<PathBuf> {
    let Some(tagged) = Tagged::parse(spec) else {
        return Some(device::resolve(Path::new(spec))).filter(|path| path.exists());
    };
    let link = tagged.link();
    if link.exists() {
        return Some(link);
    }
    let found = block_devices::all().into_iter().find(|device| is(device, &tagged));
    found.map(|device| device.node().to_owned())
}

fn is(device: &BlockDevice, tagged: &Tagged) -> bool {
    let found = match tagged.tag {
        Tag::Uuid => device.identity().map(|identity| identity.uuid),
        Tag::Label => device.identity().map(|identity| identity.label),
        Tag::PartUuid => device.partition_uuid(),
        Tag::PartLabel => device.partition_label(),
    };
    found.is_some_and(|found| tagged.means(&found))
}

/// The same, waiting until the device appears or the time is up. Prints on the console what it
/// waits for.
pub(super) fn wait(spec: &OsStr, limit: Duration) -> Option<PathBuf> {
    let start = Instant::now();
    let mut said = false;
    loop {
        if let Some(found) = find(spec) {
            return Some(found);
        }
        if start.elapsed() >= limit {
            return None;
        }
        if !said && start.elapsed() > PATIENCE {
            say!("Waiting for {} ({} s at most).", spec.to_string_lossy(), limit.as_secs());
            said = true;
        }
        thread::sleep(LOOK_AGAIN);
    }
}

const LOOK_AGAIN: Duration = Duration::from_millis(50);
/// No message is printed for devices that appear within this time.
const PATIENCE: Duration = Duration::from_secs(2);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_never_comes_is_not_waited_for_longer_than_said() {
        let start = Instant::now();
        assert_eq!(wait(OsStr::new("/nowhere/at/all"), Duration::from_millis(120)), None);
        assert!(start.elapsed() >= Duration::from_millis(120));
        assert_eq!(find(OsStr::new("UUID=no-such-uuid")), None);
    }
}
