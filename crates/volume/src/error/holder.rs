//! Who has a file or a device in use.

use std::fmt;
use std::path::PathBuf;

/// The holder of a file or device.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Holder {
    /// A file system, mounted there.
    Mount(PathBuf),
    /// The kernel swaps to it.
    Swap,
    /// A mapping of this name.
    Mapping(String),
    /// Another block device that is built on it, by its kernel name (`md127`).
    Device(String),
    /// A holder of the same bytes under another name: through a loop device, a partition or the
    /// whole disk.
    Through(PathBuf, Box<Holder>),
    /// A loop device that it is attached to.
    Loop(PathBuf),
    /// A process.
    Process {
        /// Its process ID.
        pid: u32,
        /// Its program's name.
        program: String,
    },
    /// The holder cannot be seen.
    Unseen,
}

impl Holder {
    /// Whether the holder may be about to release it; mounts and swap release it at once.
    pub(crate) fn may_be_leaving(&self) -> bool {
        match self {
            Self::Mount(_) | Self::Swap | Self::Loop(_) => false,
            Self::Through(_, holder) => holder.may_be_leaving(),
            Self::Mapping(_) | Self::Device(_) | Self::Process { .. } | Self::Unseen => true,
        }
    }
}

impl fmt::Display for Holder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Mount(place) => write!(f, "mounted on {}", place.display()),
            Self::Swap => f.write_str("used as swap"),
            Self::Mapping(name) => write!(f, "mapped as {name}"),
            Self::Device(name) => write!(f, "part of {name}"),
            Self::Loop(node) => write!(f, "attached to {}", node.display()),
            Self::Through(device, holder) => write!(f, "as {}, {holder}", device.display()),
            Self::Process { pid, program } => write!(f, "open in {program}, process {pid}"),
            Self::Unseen => f.write_str("already mapped or mounted, or open in QEMU or another Keyway"),
        }
    }
}
