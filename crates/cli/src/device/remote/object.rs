//! Objects as storage, opened once per process. Their errors become a line that says what to do.

use crate::args::address;
use crate::output::failure::{Exit, Failure, Result};
use crate::output::sentence;
use keyway::storage::Storage;
use keyway_remote::{Cause, Error, Notice, Object, Options};
use std::collections::HashMap;
use std::io::{self, Write};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

/// Opens the object at `url`. A header and the data after it are read from one object, of one
/// version and with one cache.
pub(crate) fn open(url: &str) -> Result<Arc<dyn Storage>> {
    static OPENED: Mutex<Option<HashMap<String, Weak<Object>>>> = Mutex::new(None);
    let mut opened = OPENED.lock().unwrap_or_else(PoisonError::into_inner);
    let opened = opened.get_or_insert_default();
    if let Some(object) = opened.get(url).and_then(Weak::upgrade) {
        return Ok(object);
    }
    let address = address::find(url).ok_or_else(|| no_url(url))?;
    let options = Options { timeout: timeout(), tell, ..Options::default() };
    let object = Arc::new(Object::open(&address, &options).map_err(|e| failure(&e))?);
    opened.insert(url.to_owned(), Arc::downgrade(&object));
    Ok(object)
}

/// Whether the error says that an object could not be read; it then names the object.
pub(crate) fn is_failure(error: &io::Error) -> bool {
    error.get_ref().is_some_and(|inner| inner.is::<Error>())
}

/// How long a server may send nothing: one minute by default.
fn timeout() -> Duration {
    super::wanted_timeout().unwrap_or(Duration::from_secs(60))
}

fn no_url(text: &str) -> Failure {
    Failure::new(Exit::Device, format!("Cannot open {text}: this is not a URL."))
}

/// Prints a line for the user, who is waiting or should know. If standard error cannot be written,
/// work goes on.
fn tell(place: &str, notice: &Notice) {
    let line = match notice {
        Notice::Waiting(waited) => sentence::waiting(place, *waited, timeout()),
        _ => format!(
            "{place}: its server sends neither ETag nor Last-Modified: if another object of the same length \
             replaces it during reading, this goes unnoticed."
        ),
    };
    let _ = writeln!(io::stderr(), "{line}");
}

fn failure(error: &Error) -> Failure {
    let what_to_do = match &error.cause {
        Cause::Address(_) => "write http://HOST/PATH, https://HOST/PATH or s3://BUCKET/KEY",
        Cause::NotFound(_) => "check the URL",
        Cause::Denied(..) if error.is_s3() => {
            "check AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN and AWS_REGION"
        }
        Cause::Denied(..) => "put user and password into ~/.netrc (or $NETRC), or use a signed URL",
        Cause::NoCredentials => {
            "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE for one in ~/.aws/credentials, or \
             AWS_SKIP_SIGNATURE=true for a public bucket"
        }
        Cause::Credentials(_) if error.is_s3() => {
            "set AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_SESSION_TOKEN (\"aws configure export-credentials \
             --format env\" shows them)"
        }
        Cause::Credentials(_) => "check NETRC",
        Cause::NoRanges => "download the object, or use a server that supports Range",
        Cause::Changed(_) => "try again",
        Cause::Certificate(_) => {
            "install ca-certificates, or name the file with the server's certificate authority in SSL_CERT_FILE"
        }
        Cause::Unreachable(_) if error.is_s3() => "check AWS_ENDPOINT_URL and the network",
        Cause::Unreachable(_) => "check host, port and network",
        Cause::Status(refusal) if error.is_s3() && matches!(refusal.status, 301 | 307 | 400) => {
            "check AWS_REGION and AWS_ENDPOINT_URL"
        }
        Cause::TooShort(_) => "check the URL: this is not a volume",
        Cause::WrongRange(_) => "download the object, or ask the server's operator",
        Cause::Redirected(_) => "check the URL, or ask the server's operator",
        Cause::TimedOut(_) => "try again later, or with a longer --timeout",
        _ => "try again later",
    };
    Failure::new(Exit::Device, format!("Cannot open {error}; {what_to_do}."))
}
