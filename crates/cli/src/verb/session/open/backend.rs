//! Which door a volume is opened through.

use super::options::BACKEND;
use crate::door::Args;
use crate::process::handed::handed;
use crate::{device, mapping};
use keyway_attach::fuse;
use std::fmt;
use std::path::Path;

/// A kind of door.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Backend {
    /// The kernel's dm-crypt.
    Kernel,
    /// A file in a directory, through FUSE.
    Fuse,
    /// A socket, served by NBD.
    Nbd,
    /// A block device that this program serves.
    Ublk,
}

handed!(Backend: Kernel, Fuse, Nbd, Ublk);

impl fmt::Display for Backend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Kernel => "the kernel",
            Self::Fuse => "fuse",
            Self::Nbd => "nbd",
            Self::Ublk => "ublk",
        })
    }
}

impl Backend {
    /// The backend that `--backend` names.
    pub(super) fn from_args(args: &Args) -> Option<Self> {
        match args.text(&BACKEND)? {
            "kernel" => Some(Self::Kernel),
            "fuse" => Some(Self::Fuse),
            "ublk" => Some(Self::Ublk),
            _ => Some(Self::Nbd),
        }
    }

    /// The default without `--backend`: for root the kernel, if it has dm-crypt and can reach the
    /// volume; else FUSE, if it can be mounted; else NBD.
    pub(super) fn usual(device: &Path) -> Self {
        if !device::is_url(device) && mapping::has_dm_crypt() {
            Self::Kernel
        } else if fuse::is_available() {
            Self::Fuse
        } else {
            Self::Nbd
        }
    }
}
