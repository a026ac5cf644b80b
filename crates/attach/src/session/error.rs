//! Why something could not be done with a session.

use std::fmt;
use std::io;
use std::path::PathBuf;

/// The result type of sessions.
pub type Result<T> = std::result::Result<T, Error>;

/// What went wrong.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// The front end could not be opened, changed or closed.
    FrontEnd(crate::Error),
    /// The volume on `device` cannot be used, or not with this key.
    Volume {
        /// The data device.
        device: PathBuf,
        /// The volume's error.
        error: keyway_volume::Error,
    },
    /// The user has no directory that other users cannot change; the errors say why the usual
    /// places were passed over.
    NoPlace(Vec<crate::Error>),
    /// No session can have this name.
    Name {
        /// The name.
        name: String,
        /// What is wrong with it.
        fault: NameFault,
    },
    /// There is a session of this name.
    Taken(String),
    /// The session's directory cannot be used.
    Directory {
        /// The directory.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// The session's socket cannot be created.
    Socket {
        /// The socket.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// The volume is to be suspended, and is already.
    AlreadySuspended,
    /// The volume is to be resumed, and is not suspended.
    NotSuspended,
    /// The request needs the key, which was taken away.
    Suspended,
    /// The volume is in the middle of a re-encryption, in which its keys and size stay.
    Reencrypting,
    /// The volume is to be suspended, and was decrypted: it has no key.
    Plaintext,
    /// The volume is to be re-encrypted, and is open for reading only.
    ReadOnly,
    /// The volume is to be re-encrypted, and has no LUKS2 header.
    OnlyLuks2,
    /// The volume is to be re-encrypted, and does not have the size that its header gives it.
    Resized,
    /// A re-encryption goes on already.
    Running,
    /// No re-encryption goes on that could be stopped.
    NotReencrypting,
    /// The volume could not be flushed, and was not suspended.
    NotFlushed(io::Error),
    /// The front end is closed, but what was written last may be lost.
    Lost(io::Error),
    /// The volume cannot get that size.
    Size {
        /// The data device.
        device: PathBuf,
        /// The reason.
        fault: SizeFault,
    },
    /// The session's process does not answer.
    Silent {
        /// The session's name.
        name: String,
        /// Its process.
        pid: u32,
        /// Why.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// The session's process does not know the request.
    OtherVersion,
    /// The session's process has refused.
    Answered(Answer),
    /// It is in use, and stayed so until the time was over.
    StillUsed {
        /// The last attempt's error.
        error: Box<Error>,
        /// Who uses it, as far as that is visible; not empty.
        users: Vec<String>,
    },
}

/// What is wrong with a session's name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum NameFault {
    /// It is empty or starts with a dot.
    Hidden,
    /// It contains a slash or a control character.
    Characters,
    /// It is so many bytes too long for a socket's address.
    Length(usize),
}

/// Why a volume cannot get a size.
#[derive(Debug)]
#[non_exhaustive]
pub enum SizeFault {
    /// The device does not report its own.
    Unknown(io::Error),
    /// Nothing of the volume is on the device.
    Fixed,
    /// The device ends before the data starts.
    BeyondDevice,
    /// The device ends before that.
    TooSmall,
    /// It is no multiple of the encryption sector; both in bytes.
    Unaligned {
        /// The size that was asked for.
        size: u64,
        /// The encryption sector.
        sector: u64,
    },
}

impl Error {
    /// Whether it may work later: another program uses what is to be closed or opened.
    pub fn is_busy(&self) -> bool {
        match self {
            Self::FrontEnd(crate::Error::Busy(_)) | Self::Taken(_) | Self::StillUsed { .. } => true,
            Self::Volume { error, .. } => {
                matches!(error, keyway_volume::Error::Busy(_) | keyway_volume::Error::InUse(_))
            }
            Self::Answered(answer) => answer.code == Answer::BUSY,
            _ => false,
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::FrontEnd(error) => error.fmt(f),
            Self::Volume { device, error } => write!(f, "{}: {error}", device.display()),
            Self::NoPlace(passed_over) => {
                let why: Vec<String> = passed_over.iter().map(ToString::to_string).collect();
                let why = if why.is_empty() { "there is none".to_owned() } else { why.join("; ") };
                write!(
                    f,
                    "no directory for private sockets: {why}; set XDG_RUNTIME_DIR to a directory that you own"
                )
            }
            Self::Name { name, fault } => write!(f, "name \"{name}\" {fault}"),
            Self::Taken(name) => write!(f, "device {name} already exists"),
            Self::Directory { path, source } => write!(f, "cannot use {}: {source}", path.display()),
            Self::Socket { path, source } => write!(f, "cannot listen on {}: {source}", path.display()),
            Self::AlreadySuspended => f.write_str("it is already suspended"),
            Self::NotSuspended => f.write_str("it is not suspended"),
            Self::Suspended => f.write_str("it is suspended; luksResume resumes it"),
            Self::Reencrypting => f.write_str(
                "it is in the middle of a reencryption, and keeps its size and its keys until that ends: \
                 \"keyway reencrypt --resume-only --active-name NAME\" finishes it",
            ),
            Self::Plaintext => f.write_str("it was decrypted, and has no key to wipe"),
            Self::ReadOnly => f.write_str("the volume is open for reading only, and cannot be reencrypted"),
            Self::OnlyLuks2 => f.write_str("only a LUKS2 volume can be reencrypted while it is open"),
            Self::Resized => f.write_str(
                "the volume was resized, and is reencrypted only in the size that its header states: \"keyway \
                 resize NAME\" restores it",
            ),
            Self::Running => f.write_str("the volume is being reencrypted already"),
            Self::NotReencrypting => f.write_str("the volume is not being reencrypted"),
            Self::NotFlushed(why) => write!(f, "it could not be flushed: {why}"),
            Self::Lost(why) => write!(f, "the last writes may not be on the device: {why}"),
            Self::Size { device, fault } => write_size_fault(f, &device.display(), fault),
            Self::Silent { name, pid, source } => {
                write!(f, "{name} (process {pid}) does not answer: {source}")
            }
            Self::OtherVersion => f.write_str("the session runs another version of Keyway"),
            Self::Answered(answer) => f.write_str(&answer.sentence),
            Self::StillUsed { error, users } => write!(f, "{error}; it is used by {}", users.join(", ")),
        }
    }
}

impl fmt::Display for NameFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Hidden => f.write_str("cannot be used: it is empty or starts with a dot"),
            Self::Characters => f.write_str("cannot be used: it has a slash or a control character"),
            Self::Length(bytes) => write!(f, "is {bytes} bytes too long for a socket's address"),
        }
    }
}

/// cryptsetup's messages.
fn write_size_fault(
    f: &mut fmt::Formatter<'_>,
    device: &impl fmt::Display,
    fault: &SizeFault,
) -> fmt::Result {
    match fault {
        SizeFault::Unknown(why) => write!(f, "the size of device {device} is not known: {why}"),
        SizeFault::Fixed => write!(f, "device {device} has a table that cannot be resized"),
        SizeFault::BeyondDevice => write!(f, "requested offset is beyond real size of device {device}"),
        SizeFault::TooSmall => write!(f, "device {device} is too small"),
        SizeFault::Unaligned { size, sector } => write!(
            f,
            "device size is not aligned to requested sector size: {size} bytes are not a multiple of {sector}, {} are",
            size / sector * sector
        ),
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::FrontEnd(error) => Some(error),
            Self::Volume { error, .. } => Some(error),
            Self::Directory { source, .. }
            | Self::Socket { source, .. }
            | Self::NotFlushed(source)
            | Self::Lost(source)
            | Self::Size { fault: SizeFault::Unknown(source), .. } => Some(source),
            Self::Silent { source, .. } => Some(&**source),
            Self::StillUsed { error, .. } => Some(error),
            _ => None,
        }
    }
}

impl From<crate::Error> for Error {
    fn from(error: crate::Error) -> Self {
        Self::FrontEnd(error)
    }
}

/// How a refusal goes through the socket.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// What the command that asked exits with: cryptsetup's codes.
    pub code: u8,
    /// The line for the user, a whole sentence.
    pub sentence: String,
}

impl Answer {
    /// The code of what exists already or is in use.
    pub const BUSY: u8 = 5;
}
