//! This crate's only error type: a kind to decide by, the place, and the cause.

mod kinds;

use std::error::Error as StdError;
use std::fmt;
use std::time::Duration;

/// Shorthand for this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why something failed. Decide by its [`kind`](Error::kind); its text is one line for a person.
///
/// ```
/// # use keyway::*;
/// let error = Device::open("/nonexistent/disk.luks").unwrap_err();
/// assert_eq!(error.kind(), &ErrorKind::NotFound);
/// assert_eq!(error.place(), Some("/nonexistent/disk.luks"));
/// assert!(std::error::Error::source(&error).is_some());
/// let error = std::io::Error::from(error);
/// assert_eq!(error.kind(), std::io::ErrorKind::NotFound);
/// ```
///
/// A `main` that returns it prints that line, with all causes:
///
/// ```
/// # use keyway::*;
/// let error = Device::open("/nonexistent/disk.luks").unwrap_err();
/// assert_eq!(format!("{error:?}"), "/nonexistent/disk.luks: No such file or directory (os error 2)");
/// ```
pub struct Error {
    kind: ErrorKind,
    place: Option<String>,
    source: Option<Box<dyn StdError + Send + Sync>>,
}

/// What went wrong. Nothing was changed unless the operation's documentation says otherwise. See
/// [`Error`] for an example.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The passphrase or key file opens no keyslot.
    WrongPassphrase,
    /// The volume key is not the one that the header's digest describes.
    WrongVolumeKey,
    /// There is no keyslot that could be tried.
    NoUsableKeyslot,
    /// There is no LUKS header; [`Device::probe`](crate::Device::probe) identifies what there is.
    NotLuks,
    /// The header is invalid.
    Damaged {
        /// Where: a field, a slot, a path in the JSON metadata.
        place: String,
    },
    /// This build, or this machine, lacks what is needed.
    Unsupported {
        /// A requirement, a cipher, a Cargo feature, a kind of file.
        what: String,
    },
    /// The volume violates a rule: one for all volumes, its seal, or a policy of the caller's.
    Policy {
        /// The rule's name: "weak-cipher", "seal", "min-key-bits" …
        rule: &'static str,
    },
    /// Another process holds the header's lock.
    Busy {
        /// What is held.
        by: String,
    },
    /// The data is in use by another process or user.
    InUse {
        /// A mount, a mapping, a process.
        by: String,
    },
    /// It is the last keyslot that opens the data, and the caller asked to keep it.
    LastKeyslot {
        /// Its number.
        keyslot: u32,
    },
    /// A keyslot's key derivation needs more memory than
    /// [`Limits::memory`](crate::Limits::memory) allows.
    MemoryLimit {
        /// The keyslot; 0 in a volume without keyslots.
        keyslot: u32,
        /// What it needs, in bytes.
        needs: u64,
        /// What it may take, in bytes.
        limit: u64,
    },
    /// A keyslot's key derivation would take longer than
    /// [`Limits::time`](crate::Limits::time) allows.
    TimeLimit {
        /// The keyslot; 0 in a volume without keyslots.
        keyslot: u32,
        /// What it would take here.
        needs: Duration,
        /// What it may take.
        limit: Duration,
    },
    /// A key derivation needs more memory than this machine has left.
    OutOfMemory,
    /// [`Cancel::cancel`](crate::Cancel::cancel) was called.
    Cancelled,
    /// The device ends before the data that its header describes.
    TooShort {
        /// Where the data ends.
        needs: u64,
        /// Where the device ends.
        has: u64,
    },
    /// The content of a new volume is empty, and neither a size nor headroom gives it room.
    NoContent,
    /// A new passphrase, or the key file that holds it, is empty: anyone with the volume could open it.
    /// [`Create::allow_empty_passphrase`](crate::Create::allow_empty_passphrase) and
    /// [`NewKeyslot::allow_empty_passphrase`](crate::NewKeyslot::allow_empty_passphrase) set it all
    /// the same.
    EmptyPassphrase,
    /// It was opened for reading, or is read-only.
    ReadOnly,
    /// It already exists.
    Exists,
    /// It does not exist.
    NotFound,
    /// This user lacks the permission.
    PermissionDenied,
    /// The key file does not contain the key that was asked for.
    KeyFile,
    /// The request makes no sense for this volume.
    Refused {
        /// What, and why.
        why: String,
    },
    /// Reading or writing failed; [`source`](std::error::Error::source) is the system's error.
    Io,
}

impl Error {
    /// What went wrong, to decide by.
    pub fn kind(&self) -> &ErrorKind {
        &self.kind
    }

    /// The file, device or URL (without credentials) where it went wrong.
    pub fn place(&self) -> Option<&str> {
        self.place.as_deref()
    }

    pub(crate) fn new(kind: ErrorKind) -> Self {
        Self { kind, place: None, source: None }
    }

    pub(crate) fn refused(why: impl Into<String>) -> Self {
        Self::new(ErrorKind::Refused { why: why.into() })
    }

    /// A re-encryption, with no key that opens the volume.
    pub(crate) fn no_key() -> Self {
        Self::refused("a key of the volume is needed")
    }

    /// A size, for a target that has one.
    pub(crate) fn has_a_size() -> Self {
        Self::refused("a size is for a new file; an existing one is used to its end")
    }

    /// A key that does not end with a byte.
    pub(crate) fn odd_key_size() -> Self {
        Self::refused("key sizes are multiples of 8 bits")
    }

    pub(crate) fn too_large_for_memory() -> Self {
        Self::refused("that is more than fits into memory")
    }

    pub(crate) fn unsupported(what: impl Into<String>) -> Self {
        Self::new(ErrorKind::Unsupported { what: what.into() })
    }

    pub(crate) fn because(kind: ErrorKind, source: impl StdError + Send + Sync + 'static) -> Self {
        Self { kind, place: None, source: Some(Box::new(source)) }
    }

    /// The source, if it is of this type.
    #[cfg(feature = "parts")]
    pub(crate) fn into_source<T: StdError + 'static>(self) -> Result<T> {
        let Self { kind, place, source } = self;
        match source.map(|source| source.downcast::<T>()) {
            Some(Ok(found)) => Ok(*found),
            Some(Err(source)) => Err(Self { kind, place, source: Some(source) }),
            None => Err(Self { kind, place, source: None }),
        }
    }

    /// Sets the place, unless one is already set.
    pub(crate) fn at(mut self, place: &dyn fmt::Display) -> Self {
        self.place.get_or_insert_with(|| place.to_string());
        self
    }
}

/// Sets the place of an error.
pub(crate) trait At<T> {
    fn at(self, place: &dyn fmt::Display) -> Result<T>;
}

impl<T, E: Into<Error>> At<T> for Result<T, E> {
    fn at(self, place: &dyn fmt::Display) -> Result<T> {
        self.map_err(|error| error.into().at(place))
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(place) = &self.place {
            write!(f, "{place}: ")?;
        }
        match &self.source {
            Some(source) => source.fmt(f),
            None => self.kind.fmt(f),
        }
    }
}

/// What `main` prints of it: the same line, and the causes that it does not name.
impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut line = self.to_string();
        let mut cause = StdError::source(self);
        while let Some(found) = cause {
            let text = found.to_string();
            if !line.contains(&text) {
                line = format!("{line}: {text}");
            }
            cause = found.source();
        }
        f.write_str(&line.replace('\n', " "))
    }
}

impl fmt::Display for ErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::WrongPassphrase => f.write_str("no keyslot opens with this passphrase"),
            Self::WrongVolumeKey => f.write_str("the volume key does not match the volume"),
            Self::NoUsableKeyslot => f.write_str("no keyslot can be tried"),
            Self::NotLuks => f.write_str("not a LUKS header"),
            Self::Damaged { place } => write!(f, "the header is damaged: {place}"),
            Self::Unsupported { what } => write!(f, "not supported: {what}"),
            Self::Policy { rule } => write!(f, "the volume breaks the rule {rule}"),
            Self::Busy { by } => write!(f, "{by} is in use"),
            Self::InUse { by } => write!(f, "it is in use ({by})"),
            Self::LastKeyslot { keyslot } => {
                write!(f, "keyslot {keyslot} is the last one that opens the volume")
            }
            Self::MemoryLimit { keyslot, needs, limit } => {
                write!(f, "keyslot {keyslot} needs {needs} bytes of memory, the limit is {limit}")
            }
            Self::TimeLimit { keyslot, needs, limit } => write!(
                f,
                "keyslot {keyslot} needs about {} s, the limit is {} s",
                needs.as_secs(),
                limit.as_secs()
            ),
            Self::OutOfMemory => f.write_str("there is not enough memory left"),
            Self::Cancelled => f.write_str("cancelled"),
            Self::TooShort { needs, has } => {
                write!(f, "it ends at byte {has}, its header describes data up to byte {needs}")
            }
            Self::NoContent => f.write_str("the content is empty: a size or headroom gives the volume room"),
            Self::EmptyPassphrase => {
                f.write_str("the new passphrase is empty: anyone with the volume could open it")
            }
            Self::ReadOnly => f.write_str("it is read-only"),
            Self::Exists => f.write_str("it already exists"),
            Self::NotFound => f.write_str("it does not exist"),
            Self::PermissionDenied => f.write_str("permission denied"),
            Self::KeyFile => f.write_str("the key file holds no such key"),
            Self::Refused { why } => f.write_str(why),
            Self::Io => f.write_str("input or output failed"),
        }
    }
}

impl StdError for Error {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        self.source.as_deref().map(|source| source as &(dyn StdError + 'static))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A cause that says nothing of its own cause.
    struct Outer(std::io::Error);

    impl fmt::Display for Outer {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("cannot read the header")
        }
    }

    impl fmt::Debug for Outer {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("Outer")
        }
    }

    impl StdError for Outer {
        fn source(&self) -> Option<&(dyn StdError + 'static)> {
            Some(&self.0)
        }
    }

    #[test]
    fn main_prints_one_line_with_all_causes() {
        let error =
            Error::because(ErrorKind::Io, Outer(std::io::Error::other("bad sector 7"))).at(&"disk.luks");
        assert_eq!(format!("{error:?}"), "disk.luks: cannot read the header: bad sector 7");
        assert_eq!(error.to_string(), "disk.luks: cannot read the header");
        let result: Result<(), Error> = Err(Error::new(ErrorKind::WrongPassphrase).at(&"disk.luks"));
        assert_eq!(format!("{result:?}"), "Err(disk.luks: no keyslot opens with this passphrase)");
    }
}
