//! `/dev/mapper/control`, the node through which device-mapper receives its ioctls.
//!
//! Where the node is missing (a ramdisk without udev), it is created here: a character device of
//! the "misc" driver with a fixed minor number (include/linux/miscdevice.h, MAPPER_CTRL_MINOR).
//! Opening it loads the module dm_mod, which has that number as an alias.

use crate::{Error, Result};
use rustix::fd::OwnedFd;
use rustix::fs::{CWD, FileType, Mode, OFlags, makedev, mknodat, open as open_file};
use rustix::io::Errno;
use std::fs;
use std::os::unix::fs::DirBuilderExt;

pub(super) fn open() -> Result<OwnedFd> {
    let opened = match open_node() {
        Err(Errno::NOENT) => make_node().and_then(|()| open_node()),
        other => other,
    };
    opened.map_err(|error| match error {
        Errno::ACCESS | Errno::PERM => super::refusal::needs_root(),
        Errno::NOENT | Errno::NODEV | Errno::NXIO => Error::Unavailable(
            "the kernel has no device-mapper here: modprobe dm_mod, or a kernel with CONFIG_BLK_DEV_DM"
                .to_owned(),
        ),
        other => Error::Io { what: format!("opening {NODE}"), source: other.into() },
    })
}

fn open_node() -> rustix::io::Result<OwnedFd> {
    open_file(NODE, OFlags::RDWR | OFlags::CLOEXEC, Mode::empty())
}

fn make_node() -> rustix::io::Result<()> {
    let made = fs::DirBuilder::new().recursive(true).mode(0o755).create(DIRECTORY);
    made.map_err(|error| Errno::from_io_error(&error).unwrap_or(Errno::IO))?;
    let number = makedev(MISC_MAJOR, registered_minor().unwrap_or(MAPPER_CTRL_MINOR));
    mknodat(CWD, NODE, FileType::CharacterDevice, Mode::RUSR | Mode::WUSR, number)
}

/// The minor number that a loaded module has registered.
fn registered_minor() -> Option<u32> {
    let misc = fs::read_to_string("/proc/misc").ok()?;
    misc.lines().find_map(|line| line.trim().strip_suffix(" device-mapper")?.trim().parse().ok())
}

pub(super) const DIRECTORY: &str = "/dev/mapper";
const NODE: &str = "/dev/mapper/control";
const MISC_MAJOR: u32 = 10;
const MAPPER_CTRL_MINOR: u32 = 236;
