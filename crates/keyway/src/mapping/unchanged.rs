//! Why a mapping stays as it is.

use crate::{Error, ErrorKind};
use std::fmt;
use std::path::PathBuf;

/// Why a mapping stays as it is (feature `dm`): the source of such an error of [`Mapping`](super::Mapping)'s; see
/// [`Mapping::suspend`](super::Mapping::suspend) for an example.
#[derive(Debug)]
#[non_exhaustive]
pub enum Unchanged {
    /// It is suspended: its table has no key that could be copied into another.
    Suspended,
    /// It is not suspended.
    NotSuspended,
    /// Its volume is of this kind, for which this cannot be done: "TCRYPT"; empty where it has none.
    Kind(String),
    /// Its table is not one line of dm-crypt's.
    Table,
    /// Its volume is in the middle of a re-encryption.
    InReencryption,
    /// Its volume has no LUKS header, or the header is of another volume.
    NoHeader,
    /// The header describes other data than is mapped.
    OtherHeader,
    /// It is mapped with another key than the header describes.
    OtherKey,
    /// The device is not the one that is mapped.
    OtherDevice,
    /// It shows another length than its header has, and would get that.
    OtherSize {
        /// Its length, in bytes.
        mapped: u64,
        /// What the header has, in bytes.
        whole: u64,
    },
    /// It refuses writes.
    ReadOnly,
    /// It was removed, and another mapping has its name.
    Replaced,
    /// The device below ends before the volume's data would begin.
    Beyond {
        /// The device.
        device: PathBuf,
    },
    /// The device below is shorter than that.
    TooSmall {
        /// The device.
        device: PathBuf,
    },
    /// The length is no multiple of the volume's sectors.
    Unaligned {
        /// The length, in bytes.
        len: u64,
        /// The size of its sectors, in bytes.
        sector_size: u64,
    },
    /// The length is no multiple of the device's blocks.
    UnalignedBlocks,
    /// It is in use.
    InUse {
        /// By what, where that can be seen: a mount, a mapping, a process.
        by: Option<String>,
    },
    /// Neither Keyway nor cryptsetup made it.
    Foreign {
        /// Its UUID; empty where it has none.
        uuid: String,
        /// The targets in its table: "linear", "striped".
        targets: Vec<String>,
    },
    /// The kernel refused this step; the mapping is as it was before.
    Failed {
        /// The step.
        step: MappingStep,
        /// Why.
        source: Error,
    },
}

/// A step of a change to a mapping (feature `dm`). See [`Unchanged`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum MappingStep {
    /// Loading a new table.
    Reload,
    /// Holding requests back.
    Suspend,
    /// Letting requests through.
    Resume,
}

impl fmt::Display for MappingStep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Reload => "reload",
            Self::Suspend => "suspend",
            Self::Resume => "resume",
        })
    }
}

impl fmt::Display for Unchanged {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Suspended => f.write_str("it is suspended"),
            Self::NotSuspended => f.write_str("it is not suspended"),
            Self::Kind(kind) if kind.is_empty() => f.write_str("its kind of volume is unknown"),
            Self::Kind(kind) => write!(f, "volumes of the kind {kind} do not support that"),
            Self::Table => f.write_str("its table is not one line of dm-crypt's"),
            Self::InReencryption => {
                f.write_str("it is in the middle of a reencryption, and keeps its keys until that ends")
            }
            Self::NoHeader => f.write_str("it has no LUKS header, or the header is of another volume"),
            Self::OtherHeader => f.write_str("the header describes other data than is mapped"),
            Self::OtherKey => f.write_str("it is mapped with another key than the header describes"),
            Self::OtherDevice => f.write_str("another device is mapped"),
            Self::OtherSize { mapped, whole } => {
                write!(f, "it is open with {mapped} of its {whole} bytes")
            }
            Self::ReadOnly => f.write_str("it is mapped for reading only"),
            Self::Replaced => f.write_str("another mapping now has its name"),
            Self::Beyond { device } => {
                write!(f, "its data would begin after the end of {}", device.display())
            }
            Self::TooSmall { device } => write!(f, "{} is shorter than that", device.display()),
            Self::Unaligned { len, sector_size } => {
                write!(f, "{len} bytes are not a multiple of its sectors of {sector_size} bytes")
            }
            Self::UnalignedBlocks => f.write_str("that is not a multiple of the device's blocks"),
            Self::InUse { by: Some(by) } => write!(f, "it is in use ({by})"),
            Self::InUse { by: None } => f.write_str("it is in use"),
            Self::Foreign { .. } => f.write_str("neither Keyway nor cryptsetup made it"),
            Self::Failed { step, source } => write!(f, "the kernel cannot {step} it: {source}"),
        }
    }
}

impl std::error::Error for Unchanged {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Failed { source, .. } => Some(source),
            _ => None,
        }
    }
}

impl From<Unchanged> for Error {
    fn from(why: Unchanged) -> Self {
        let kind = match &why {
            Unchanged::InUse { by } => {
                ErrorKind::InUse { by: by.clone().unwrap_or_else(|| "open elsewhere".to_owned()) }
            }
            Unchanged::Failed { source, .. } => source.kind().clone(),
            Unchanged::ReadOnly => ErrorKind::ReadOnly,
            other => ErrorKind::Refused { why: other.to_string() },
        };
        Self::because(kind, why)
    }
}
