//! What can go wrong between here and an object: cause and place. The command line adds hints and exit codes.

use std::{fmt, io};

/// Shorthand for this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why an object cannot be read.
#[derive(Debug, Clone)]
pub struct Error {
    /// The object's URL, without credentials and query.
    pub place: String,
    /// What happened.
    pub cause: Cause,
}

/// What happened to a request.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum Cause {
    /// The URL or the environment makes no sense; why.
    Address(String),
    /// There is no such object (status 404 or 410).
    NotFound,
    /// The server wants credentials, or others (status 401 or 403); its code for the reason where it gave one.
    Denied(Option<String>),
    /// No credentials for an S3 store are in the environment.
    NoCredentials,
    /// The server sends whole objects only.
    NoRanges,
    /// The object is another than when it was opened.
    Changed,
    /// The server's certificate is not accepted; why.
    Certificate(String),
    /// No connection to the server; why.
    Unreachable(String),
    /// Any other answer than the bytes: status, and the server's code for the reason where it gave one.
    Status(u16, Option<String>),
    /// The connection broke, stalled or said something else than HTTP; what.
    Broken(String),
}

impl Cause {
    /// Whether the same request may succeed a moment later.
    pub(crate) fn is_passing(&self) -> bool {
        match self {
            Self::Unreachable(_) | Self::Broken(_) => true,
            // Request timeout, too many requests, and the server's own troubles.
            Self::Status(status, _) => matches!(status, 408 | 429 | 500..=599),
            _ => false,
        }
    }

    fn kind(&self) -> io::ErrorKind {
        match self {
            Self::Address(_) => io::ErrorKind::InvalidInput,
            Self::NotFound => io::ErrorKind::NotFound,
            Self::Denied(_) | Self::NoCredentials => io::ErrorKind::PermissionDenied,
            Self::NoRanges => io::ErrorKind::Unsupported,
            Self::Unreachable(_) => io::ErrorKind::NotConnected,
            Self::Broken(_) => io::ErrorKind::ConnectionAborted,
            Self::Changed | Self::Certificate(_) | Self::Status(..) => io::ErrorKind::Other,
        }
    }
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Address(why) => f.write_str(why),
            Self::NotFound => f.write_str("there is no such object"),
            Self::Denied(code) => write!(f, "the server denies access{}", in_brackets(code)),
            Self::NoCredentials => f.write_str("there are no credentials for it"),
            Self::NoRanges => f.write_str("the server does not serve parts of it (range requests)"),
            Self::Changed => f.write_str("the object has changed since it was opened"),
            Self::Certificate(why) => write!(f, "the server's certificate is not accepted: {why}"),
            Self::Unreachable(why) => write!(f, "the server cannot be reached: {why}"),
            Self::Status(status, code) => {
                write!(f, "the server answers with status {status}{}", in_brackets(code))
            }
            Self::Broken(what) => f.write_str(what),
        }
    }
}

impl std::error::Error for Cause {}

impl Error {
    /// Whether the object is in an S3-compatible store.
    pub fn is_s3(&self) -> bool {
        self.place.starts_with("s3://")
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.place, self.cause)
    }
}

impl std::error::Error for Error {}

/// For readers of the storage, who know its place.
impl From<Error> for io::Error {
    fn from(error: Error) -> Self {
        Self::new(error.cause.kind(), error.cause)
    }
}

fn in_brackets(code: &Option<String>) -> String {
    code.as_ref().map(|code| format!(" ({code})")).unwrap_or_default()
}
