//! Devices that are objects behind HTTP: `http://`, `https://` and `s3://` operands, which are
//! read-only.

#[cfg(feature = "remote")]
mod object;

use crate::output::failure::{Exit, Failure, Result};
use keyway::Access;
use keyway::storage::Storage;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Whether an operand names an object.
pub(crate) fn is_url(spec: &str) -> bool {
    let scheme = spec.split_once("://").map(|(scheme, _)| scheme.to_ascii_lowercase());
    scheme.is_some_and(|scheme| matches!(scheme.as_str(), "http" | "https" | "s3"))
}

/// Sets how long servers may send nothing, for the whole process.
pub(crate) fn set_timeout(seconds: Option<u64>) {
    if let Some(seconds) = seconds.filter(|seconds| *seconds > 0) {
        TIMEOUT.store(seconds, Ordering::Relaxed);
    }
}

/// The timeout set by [`set_timeout`].
pub(crate) fn wanted_timeout() -> Option<Duration> {
    let seconds = TIMEOUT.load(Ordering::Relaxed);
    (seconds > 0).then(|| Duration::from_secs(seconds))
}

/// In seconds; 0 if none was set.
static TIMEOUT: AtomicU64 = AtomicU64::new(0);

/// Opens the object at `url`; refuses access for writing before anything else is done.
pub(crate) fn storage(url: &str, access: Access) -> Result<Arc<dyn Storage>> {
    match access {
        Access::Write => {
            let message = format!(
                "Cannot write to {url}: HTTP and S3 objects are read-only; change the file itself, or access it over NBD."
            );
            Err(Failure::new(Exit::Parameters, message))
        }
        Access::Read | Access::Probe => open(url),
    }
}

#[cfg(feature = "remote")]
pub(crate) use object::is_failure;
#[cfg(feature = "remote")]
use object::open;

/// Whether the error says that an object could not be read; it then names the object.
#[cfg(not(feature = "remote"))]
pub(crate) fn is_failure(_: &std::io::Error) -> bool {
    false
}

#[cfg(not(feature = "remote"))]
fn open(url: &str) -> Result<Arc<dyn Storage>> {
    let message = format!("Cannot open {url}: this keyway was built without the feature \"remote\".");
    Err(Failure::new(Exit::Device, message))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_are_told_from_paths() {
        for spec in ["http://h/d", "https://h/d", "s3://b/k", "HTTPS://h/d"] {
            assert!(is_url(spec), "{spec}");
        }
        for spec in ["disk.img", "/dev/sda", "nbd://h/d", "./http:/x", "HTTP", "://"] {
            assert!(!is_url(spec), "{spec}");
        }
    }
}
