//! Errors in accessing an object: their cause and place. The command line adds hints and exit
//! codes.

use std::time::Duration;
use std::{fmt, io};

/// This crate's result type.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why an object cannot be read.
#[derive(Debug, Clone)]
pub struct Error {
    /// The object's URL, without credentials and query.
    pub place: String,
    /// Why the access failed.
    pub cause: Cause,
}

/// Why a request failed.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum Cause {
    /// The URL or the environment is invalid; why.
    Address(String),
    /// There is no such object (status 404 or 410).
    NotFound(u16),
    /// The server wants credentials, or different ones (status 401 or 403); its error code, if it
    /// gave one.
    Denied(u16, Option<String>),
    /// There are no credentials for an S3 store in the environment or in the files of Amazon's
    /// tools.
    NoCredentials,
    /// There are credentials, but they cannot be used; why.
    Credentials(String),
    /// The server serves whole objects only.
    NoRanges,
    /// The object has changed since it was opened; what differs.
    Changed(String),
    /// The object is shorter than the requested range (status 416); its length, if the server
    /// reported it.
    TooShort(Option<u64>),
    /// The server sends other bytes than those requested; which.
    WrongRange(String),
    /// A redirect cannot be followed; why.
    Redirected(String),
    /// The server's certificate is not accepted; why.
    Certificate(String),
    /// No connection to the server; why.
    Unreachable(String),
    /// Any other response without the requested bytes.
    Status(Refusal),
    /// The connection broke or stalled, or the server did not speak HTTP; what happened.
    Broken(String),
    /// Too little data arrived within this time.
    TimedOut(Duration),
}

/// A status other than success, and what the server sent along with it.
#[derive(Debug, Clone)]
pub struct Refusal {
    /// The status.
    pub status: u16,
    /// The server's error code, if it gave one.
    pub code: Option<String>,
    /// When the server wants the request to be repeated (`Retry-After`).
    pub retry_after: Option<Duration>,
}

impl Cause {
    /// Whether the same request may succeed a moment later.
    pub(crate) fn is_passing(&self) -> bool {
        match self {
            Self::Unreachable(_) | Self::Broken(_) => true,
            // Request timeout, too early, too many requests, and errors of the server itself.
            Self::Status(refusal) => {
                matches!(refusal.status, 408 | 425 | 429 | 500 | 502..=504 | 507 | 509 | 520..=599)
            }
            _ => false,
        }
    }

    /// When the server wants the request to be repeated.
    pub(crate) fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::Status(refusal) => refusal.retry_after,
            _ => None,
        }
    }

    fn kind(&self) -> io::ErrorKind {
        match self {
            Self::Address(_) | Self::Credentials(_) => io::ErrorKind::InvalidInput,
            Self::NotFound(_) => io::ErrorKind::NotFound,
            Self::Denied(..) | Self::NoCredentials => io::ErrorKind::PermissionDenied,
            Self::NoRanges => io::ErrorKind::Unsupported,
            Self::Unreachable(_) => io::ErrorKind::NotConnected,
            Self::Broken(_) => io::ErrorKind::ConnectionAborted,
            Self::TimedOut(_) => io::ErrorKind::TimedOut,
            Self::Changed(_)
            | Self::TooShort(_)
            | Self::WrongRange(_)
            | Self::Redirected(_)
            | Self::Certificate(_)
            | Self::Status(_) => io::ErrorKind::Other,
        }
    }
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Address(why) | Self::Credentials(why) => f.write_str(why),
            Self::NotFound(status) => write!(f, "there is no such object (status {status})"),
            Self::Denied(status, code) => {
                write!(f, "the server denies access (status {status}{})", behind_comma(code))
            }
            Self::NoCredentials => f.write_str("there are no credentials for it"),
            Self::NoRanges => f.write_str("the server does not support range requests (status 200)"),
            Self::Changed(what) => write!(f, "the object has changed since it was opened: {what}"),
            Self::TooShort(Some(len)) => write!(f, "the object ends at byte {len} (status 416)"),
            Self::TooShort(None) => f.write_str("the object ends before the requested bytes (status 416)"),
            Self::WrongRange(what) => write!(f, "the server sends bytes that were not requested: {what}"),
            Self::Redirected(why) => f.write_str(why),
            Self::Certificate(why) => write!(f, "the server's certificate is not accepted: {why}"),
            Self::Unreachable(why) => write!(f, "the server cannot be reached: {why}"),
            Self::Status(refusal) => refusal.fmt(f),
            Self::Broken(what) => f.write_str(what),
            Self::TimedOut(limit) => {
                write!(f, "the server did not answer within {} s", limit.as_secs_f64())
            }
        }
    }
}

impl std::error::Error for Cause {}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let code = behind_comma(&self.code);
        match self.status {
            204 => write!(f, "the server answers without content (status 204, No Content)"),
            status => write!(f, "the server answers with status {status}{code}"),
        }?;
        match self.retry_after {
            Some(pause) => write!(f, ", and asks to retry in {} s", pause.as_secs()),
            None => Ok(()),
        }
    }
}

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

impl From<Error> for io::Error {
    fn from(error: Error) -> Self {
        Self::new(error.cause.kind(), error)
    }
}

fn behind_comma(code: &Option<String>) -> String {
    code.as_ref().map(|code| format!(", {code}")).unwrap_or_default()
}
