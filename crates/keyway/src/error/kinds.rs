//! Maps the errors of the lower crates to error kinds, and an [`Error`] to `std::io`.

use super::{Error, ErrorKind};
use keyway_format::Error as Format;
use keyway_volume::Error as Lower;
use keyway_volume::Refusal;
use keyway_volume::device::stream;
use keyway_volume::keyslot::key_file;
use keyway_volume::trust::admission::{Rule, Unmet};
use std::error::Error as StdError;
use std::io;
use std::time::Duration;

impl From<Error> for io::Error {
    fn from(error: Error) -> Self {
        let lower = error.source.as_deref().and_then(io_kind_of);
        let kind = match &error.kind {
            ErrorKind::NotFound => io::ErrorKind::NotFound,
            ErrorKind::Exists => io::ErrorKind::AlreadyExists,
            ErrorKind::Busy { .. } | ErrorKind::InUse { .. } => io::ErrorKind::ResourceBusy,
            ErrorKind::ReadOnly => io::ErrorKind::ReadOnlyFilesystem,
            ErrorKind::OutOfMemory => io::ErrorKind::OutOfMemory,
            ErrorKind::TimeLimit { .. } => io::ErrorKind::TimedOut,
            ErrorKind::Unsupported { .. } => io::ErrorKind::Unsupported,
            ErrorKind::NotLuks | ErrorKind::Damaged { .. } => io::ErrorKind::InvalidData,
            ErrorKind::TooShort { .. } => io::ErrorKind::UnexpectedEof,
            ErrorKind::Refused { .. } | ErrorKind::NoContent | ErrorKind::EmptyPassphrase => {
                io::ErrorKind::InvalidInput
            }
            ErrorKind::WrongPassphrase
            | ErrorKind::WrongVolumeKey
            | ErrorKind::NoUsableKeyslot
            | ErrorKind::Policy { .. }
            | ErrorKind::LastKeyslot { .. }
            | ErrorKind::KeyFile
            | ErrorKind::PermissionDenied => io::ErrorKind::PermissionDenied,
            ErrorKind::MemoryLimit { .. } => io::ErrorKind::QuotaExceeded,
            // Not `Interrupted`: `read_exact` and `copy` would retry forever.
            ErrorKind::Cancelled => io::ErrorKind::Other,
            ErrorKind::Io => lower.unwrap_or(io::ErrorKind::Other),
        };
        Self::new(kind, error)
    }
}

fn io_kind_of(error: &(dyn StdError + Send + Sync + 'static)) -> Option<io::ErrorKind> {
    let direct = error.downcast_ref::<io::Error>();
    direct.or_else(|| error.source()?.downcast_ref::<io::Error>()).map(io::Error::kind)
}

impl From<io::Error> for Error {
    fn from(error: io::Error) -> Self {
        Self::because(of_io(error.kind()), error)
    }
}

fn of_io(kind: io::ErrorKind) -> ErrorKind {
    match kind {
        io::ErrorKind::NotFound => ErrorKind::NotFound,
        io::ErrorKind::PermissionDenied => ErrorKind::PermissionDenied,
        io::ErrorKind::AlreadyExists => ErrorKind::Exists,
        io::ErrorKind::ReadOnlyFilesystem => ErrorKind::ReadOnly,
        _ => ErrorKind::Io,
    }
}

impl From<Lower> for Error {
    fn from(error: Lower) -> Self {
        let kind = match &error {
            Lower::Io { source, .. } => of_io(source.kind()),
            Lower::Format(error) => of_format(error),
            Lower::Crypto(error) => of_crypto(error),
            Lower::WrongPassphrase => ErrorKind::WrongPassphrase,
            Lower::NoUsableKeyslot => ErrorKind::NoUsableKeyslot,
            Lower::NoMemory { .. } => ErrorKind::OutOfMemory,
            Lower::MemoryBudget { slot, needs_kib, budget_kib } => ErrorKind::MemoryLimit {
                keyslot: *slot,
                needs: needs_kib.saturating_mul(1024),
                limit: budget_kib.saturating_mul(1024),
            },
            Lower::TimeLimit { slot, needs_seconds, limit_seconds } => ErrorKind::TimeLimit {
                keyslot: *slot,
                needs: Duration::from_secs(*needs_seconds),
                limit: Duration::from_secs(*limit_seconds),
            },
            Lower::KdfMemory { needs_kib, budget_kib, .. } => ErrorKind::MemoryLimit {
                keyslot: 0,
                needs: needs_kib.saturating_mul(1024),
                limit: budget_kib.saturating_mul(1024),
            },
            Lower::KdfTime { needs_seconds, limit_seconds, .. } => ErrorKind::TimeLimit {
                keyslot: 0,
                needs: Duration::from_secs(*needs_seconds),
                limit: Duration::from_secs(*limit_seconds),
            },
            Lower::WrongVolumeKey => ErrorKind::WrongVolumeKey,
            Lower::LastKeyslot(keyslot) => ErrorKind::LastKeyslot { keyslot: *keyslot },
            Lower::Busy(what) => ErrorKind::Busy { by: what.clone() },
            Lower::NotAdmitted(finding) => ErrorKind::Policy { rule: name_of(&finding.rule) },
            Lower::InUse(holder) => ErrorKind::InUse { by: holder.to_string() },
            Lower::TooShort { needs, has } => ErrorKind::TooShort { needs: *needs, has: *has },
            Lower::Unmet(unmet) => match &**unmet {
                Unmet::Policy { finding, .. } => ErrorKind::Policy { rule: finding.rule },
                Unmet::Seal(_) | Unmet::SealBeforeEdit(_) => ErrorKind::Policy { rule: "seal" },
            },
            Lower::NotWiped { .. } => ErrorKind::Io,
            Lower::Refused { kind: Refusal::Exists, .. } => ErrorKind::Exists,
            Lower::Refused { kind: Refusal::ReadOnly, .. } => ErrorKind::ReadOnly,
            _ => ErrorKind::Refused { why: error.to_string() },
        };
        Self::because(kind, error)
    }
}

fn of_format(error: &Format) -> ErrorKind {
    match error {
        Format::NotLuks => ErrorKind::NotLuks,
        Format::UnsupportedVersion(version) => {
            ErrorKind::Unsupported { what: format!("LUKS version {version}") }
        }
        Format::Requirement(name) => ErrorKind::Unsupported { what: format!("the requirement {name:?}") },
        Format::Invalid { place, .. } => ErrorKind::Damaged { place: place.0.clone() },
        Format::Checksum => ErrorKind::Damaged { place: "checksum".into() },
        Format::Truncated { .. } => ErrorKind::Damaged { place: "end of the device".into() },
        _ => ErrorKind::Refused { why: error.to_string() },
    }
}

fn of_crypto(error: &keyway_crypto::Error) -> ErrorKind {
    use keyway_crypto::Error as Crypto;
    match error {
        Crypto::Unknown { .. } | Crypto::Unsupported(_) => ErrorKind::Unsupported { what: error.to_string() },
        Crypto::NoMemory { .. } => ErrorKind::OutOfMemory,
        Crypto::Stopped => ErrorKind::Cancelled,
        _ => ErrorKind::Refused { why: error.to_string() },
    }
}

fn name_of(rule: &Rule) -> &'static str {
    match rule {
        Rule::LinearSegment => "linear-segment",
        Rule::WeakCipher { .. } => "weak-cipher",
        Rule::ShortKey { .. } => "short-key",
        Rule::AnotherKey { .. } => "another-key",
        Rule::ShiftedIv { .. } => "shifted-iv",
        Rule::Unvouched => "unvouched-metadata",
        Rule::BeyondDevice { .. } => "beyond-device",
        Rule::OverHeader { .. } => "over-header",
        Rule::NoRoom { .. } => "no-room",
    }
}

impl From<stream::Failure> for Error {
    fn from(failure: stream::Failure) -> Self {
        match failure {
            stream::Failure::Read { source, .. } | stream::Failure::Write { source, .. } => source.into(),
            stream::Failure::Stopped => Self::new(ErrorKind::Cancelled),
            other => Self::refused(other.to_string()),
        }
    }
}

impl From<key_file::Error> for Error {
    fn from(error: key_file::Error) -> Self {
        let kind = match &error {
            key_file::Error::Open { source, .. } => of_io(source.kind()),
            _ => ErrorKind::KeyFile,
        };
        Self::because(kind, error)
    }
}

#[cfg(any(feature = "nbd", feature = "fuse", feature = "ublk", feature = "dm", feature = "keyring"))]
impl From<keyway_attach::Error> for Error {
    fn from(error: keyway_attach::Error) -> Self {
        use keyway_attach::Error as FrontEnd;
        let kind = match &error {
            FrontEnd::Io { source, .. } | FrontEnd::Connect(source) => of_io(source.kind()),
            FrontEnd::Permission(_) => ErrorKind::PermissionDenied,
            FrontEnd::Unavailable(what) => ErrorKind::Unsupported { what: what.clone() },
            FrontEnd::Busy(by) => ErrorKind::InUse { by: by.clone() },
            FrontEnd::NotFound(_) => ErrorKind::NotFound,
            FrontEnd::Refused { why, .. } => ErrorKind::Refused { why: why.clone() },
            _ => ErrorKind::Io,
        };
        Self::because(kind, error)
    }
}

#[cfg(feature = "remote")]
impl From<keyway_remote::Error> for Error {
    fn from(error: keyway_remote::Error) -> Self {
        use keyway_remote::Cause;
        let kind = match &error.cause {
            Cause::NotFound(_) => ErrorKind::NotFound,
            Cause::Denied(..) | Cause::NoCredentials | Cause::Credentials(_) => ErrorKind::PermissionDenied,
            Cause::NoRanges => ErrorKind::Unsupported { what: "a server without ranges".into() },
            Cause::Address(why) => ErrorKind::Refused { why: why.clone() },
            _ => ErrorKind::Io,
        };
        Self::because(kind, error)
    }
}
