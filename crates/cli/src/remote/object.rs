//! Objects as storage: opened once in a process; their errors become a line that says what to do.

use crate::failure::{Exit, Failure, Result};
use keyway_remote::{Cause, Error, Object, Options};
use keyway_volume::Storage;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};

/// Opens the object at `url`. A header and the data behind it are one object, of one version and with one cache.
pub(crate) fn open(url: &str) -> Result<Arc<dyn Storage>> {
    static OPENED: Mutex<Option<HashMap<String, Weak<Object>>>> = Mutex::new(None);
    let mut opened = OPENED.lock().unwrap_or_else(PoisonError::into_inner);
    let opened = opened.get_or_insert_default();
    if let Some(object) = opened.get(url).and_then(Weak::upgrade) {
        return Ok(object);
    }
    let object = Arc::new(Object::open(url, &Options::default()).map_err(|e| failure(&e))?);
    opened.insert(url.to_owned(), Arc::downgrade(&object));
    Ok(object)
}

fn failure(error: &Error) -> Failure {
    let what_to_do = match &error.cause {
        Cause::Address(_) => "write http://HOST/PATH, https://HOST/PATH or s3://BUCKET/KEY",
        Cause::NotFound => "check the URL",
        Cause::Denied(_) if error.is_s3() => {
            "check AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN and AWS_REGION"
        }
        Cause::Denied(_) => "put user and password into the URL, or use one that is signed",
        Cause::NoCredentials => {
            "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_SKIP_SIGNATURE=true for a public bucket"
        }
        Cause::NoRanges => "download the object, or use a server that supports Range",
        Cause::Changed => "try again",
        Cause::Certificate(_) => {
            "install ca-certificates, or name the file with the server's certificate authority in SSL_CERT_FILE"
        }
        Cause::Unreachable(_) if error.is_s3() => "check AWS_ENDPOINT_URL and the network",
        Cause::Unreachable(_) => "check host, port and network",
        Cause::Status(301 | 307 | 400, _) if error.is_s3() => "check AWS_REGION and AWS_ENDPOINT_URL",
        _ => "try again later",
    };
    Failure::new(Exit::Device, format!("Cannot open {error}; {what_to_do}."))
}
