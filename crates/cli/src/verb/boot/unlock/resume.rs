//! Going on with a system that was suspended to disk: before anything is mounted, since what it had
//! mounted it still has (Linux, Documentation/power/swsusp.rst).

use super::find::Below;
use super::{Plan, find, lvm};
use keyway::Mapping;
use keyway_attach::initramfs::Initramfs;
use keyway_boot::crypttab::Entry;
use keyway_boot::root::Resume;
use rustix::fs::{major, minor, stat};
use std::ffi::OsStr;
use std::fs;
use std::path::Path;
use std::time::Duration;

/// Whether the volume is the device that holds the suspended system.
pub(super) fn is_on(resume: Option<&Resume>, entry: &Entry) -> bool {
    let place = Mapping::path_of(&entry.name.to_string_lossy());
    resume.is_some_and(|resume| Path::new(&resume.device) == place)
}

/// Does not return if a system was suspended there; what prevents that is said, and the boot goes on.
pub(super) fn go_on(_proof: &Initramfs, resume: &Resume, plan: &Plan) {
    let Resume { device, offset } = resume;
    if !Path::new(RESUME).exists() {
        return say!("resume={device}: this kernel cannot be suspended to disk.");
    }
    let limit = plan.waits.optional.min(TIMEOUT);
    // A swap that is not there must not cost an array a member that is late.
    let below = Below { may_lack: false, ..plan.below().of_system(plan.opens()) };
    let found = find::reach(OsStr::new(device), limit, below);
    let node = match found.and_then(|node| lvm::refuse_unencrypted(&node, plan.opens()).map(|()| node)) {
        Ok(node) => node,
        Err(why) => return say!("resume={why}; the system starts anew."),
    };
    let told = stat(&node).map_err(|error| error.to_string()).and_then(|found| {
        let number = format!("{}:{}", major(found.st_rdev), minor(found.st_rdev));
        if let Some(offset) = offset {
            fs::write(OFFSET, offset.to_string()).map_err(|error| error.to_string())?;
        }
        fs::write(RESUME, number).map_err(|error| error.to_string())
    });
    if let Err(why) = told {
        say!("resume={device}: {why}; the system starts anew.");
    }
}

const RESUME: &str = "/sys/power/resume";
const OFFSET: &str = "/sys/power/resume_offset";
/// A swap that is gone must not keep the machine from starting.
const TIMEOUT: Duration = Duration::from_secs(10);
