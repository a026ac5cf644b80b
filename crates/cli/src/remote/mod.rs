//! Devices that are objects behind HTTP: `http://`, `https://` and `s3://` operands, which can be read and never written.

#[cfg(feature = "remote")]
mod object;

use crate::failure::{Exit, Failure, Result};
use keyway_volume::{Access, Storage};
use std::sync::Arc;

/// Whether an operand names an object.
pub(crate) fn is_url(spec: &str) -> bool {
    spec.split_once("://").is_some_and(|(scheme, _)| matches!(scheme, "http" | "https" | "s3"))
}

/// Opens the object at `url`; refuses whoever means to write before anything else is asked.
pub(crate) fn storage(url: &str, access: Access) -> Result<Arc<dyn Storage>> {
    match access {
        Access::Write => {
            let place = without_secrets(url);
            let message = format!(
                "Cannot write to {place}: objects behind HTTP are read-only; change the file itself, or reach it by NBD."
            );
            Err(Failure::new(Exit::Parameters, message))
        }
        Access::Read | Access::Probe => open(url),
    }
}

#[cfg(feature = "remote")]
use object::open;

#[cfg(not(feature = "remote"))]
fn open(url: &str) -> Result<Arc<dyn Storage>> {
    let place = without_secrets(url);
    let message = format!("Cannot open {place}: this keyway was built without the feature \"remote\".");
    Err(Failure::new(Exit::Device, message))
}

/// A URL without the password in front of its host and without its query, which may hold a signature.
fn without_secrets(url: &str) -> String {
    let url = url.split(['?', '#']).next().unwrap_or_default();
    let (scheme, rest) = url.split_once("://").unwrap_or_default();
    let (host, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
    let host = host.rsplit('@').next().unwrap_or_default();
    format!("{scheme}://{host}{path}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_are_told_from_paths() {
        for spec in ["http://h/d", "https://h/d", "s3://b/k"] {
            assert!(is_url(spec), "{spec}");
        }
        for spec in ["disk.img", "/dev/sda", "nbd://h/d", "./http:/x", "HTTP", "://"] {
            assert!(!is_url(spec), "{spec}");
        }
    }

    #[test]
    fn secrets_are_left_out() {
        let url = "https://user:secret@host:81/a/b@c.img?signature=secret#x";
        assert_eq!(without_secrets(url), "https://host:81/a/b@c.img");
    }
}
