//! Which front end a volume is opened through.

use super::options::BACKEND;
use crate::args::Args;
use crate::device;
use crate::output::failure::{Exit, Failure, Result};
use crate::process::encoding::encoded;
use keyway::Mapping;
use keyway_attach::fuse;
use std::env;
use std::fmt;
use std::path::Path;

/// A kind of front end.
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

encoded!(Backend: Kernel, Fuse, Nbd, Ublk);

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
    /// The backend that `--backend` names or, without it, the environment.
    pub(super) fn from_args(args: &Args) -> Result<Option<Self>> {
        match args.text(&BACKEND) {
            Some(word) => Ok(Self::named(word)),
            None => Self::from_environment(),
        }
    }

    fn from_environment() -> Result<Option<Self>> {
        let Some(value) = env::var_os(VARIABLE).filter(|value| !value.is_empty()) else { return Ok(None) };
        let named = value.to_str().and_then(Self::named);
        named.map(Some).ok_or_else(|| {
            let message =
                format!("{VARIABLE}={}: one of kernel, nbd, fuse, ublk is needed.", value.to_string_lossy());
            Failure::new(Exit::Parameters, message)
        })
    }

    fn named(word: &str) -> Option<Self> {
        match word {
            "kernel" => Some(Self::Kernel),
            "fuse" => Some(Self::Fuse),
            "nbd" => Some(Self::Nbd),
            "ublk" => Some(Self::Ublk),
            _ => None,
        }
    }

    /// The default without `--backend`: for root the kernel, if it has dm-crypt and can reach the
    /// volume; else FUSE, if it can be mounted; else NBD.
    pub(super) fn usual(device: &Path) -> Self {
        if !device::is_url(device) && Mapping::has_dm_crypt() {
            Self::Kernel
        } else {
            Self::without_the_kernel()
        }
    }

    /// The default where the kernel cannot map.
    pub(super) fn without_the_kernel() -> Self {
        if fuse::is_available() { Self::Fuse } else { Self::Nbd }
    }
}

const VARIABLE: &str = "KEYWAY_BACKEND";
