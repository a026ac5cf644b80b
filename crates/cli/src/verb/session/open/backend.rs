//! Which door a volume is opened through.

use super::options::BACKEND;
use crate::door::Args;
use crate::{device, mapping};
use keyway_attach::fuse;

/// A kind of door.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Backend {
    /// The kernel's dm-crypt.
    Kernel,
    /// A file in a directory of its own.
    Fuse,
    /// A socket.
    Nbd,
    /// A block device that this program serves.
    Ublk,
}

impl Backend {
    /// What `--backend` says; else the kernel's for root where it has dm-crypt and can reach the
    /// volume, else FUSE where it can be mounted, else NBD.
    pub(super) fn choose(args: &Args) -> Self {
        match args.text(&BACKEND) {
            Some("kernel") => Self::Kernel,
            Some("fuse") => Self::Fuse,
            Some("nbd") => Self::Nbd,
            Some("ublk") => Self::Ublk,
            _ if !args.operand(0).is_some_and(device::is_url) && mapping::has_dm_crypt() => Self::Kernel,
            _ if fuse::is_available() => Self::Fuse,
            _ => Self::Nbd,
        }
    }
}
