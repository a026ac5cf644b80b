//! Why a mapping stays as it is, in cryptsetup's words.

use super::keyring::{cause, front_end};
use super::{no_header, no_mapper, suspended};
use crate::output::failure::{Exit, Failure};
use crate::output::sentence;
use keyway::{ErrorKind, Unchanged};
use std::error::Error;

/// Why it stays, if that is what the error says.
pub(crate) fn why(error: &keyway::Error) -> Option<&Unchanged> {
    cause(error)
}

/// An error of the mapping `name`.
pub(crate) fn explain(name: &str, error: &keyway::Error) -> Failure {
    match why(error) {
        Some(Unchanged::Suspended) => suspended(name),
        Some(Unchanged::NoHeader) => no_header(name),
        Some(Unchanged::Failed { step, source }) => {
            let message = format!("Failed to {step} device {name}: {source}.");
            Failure::new(front_end(source).exit(), message)
        }
        Some(other) => refused(sentence::sentence(&other.to_string())),
        // The library asked sysfs: this user may not ask the kernel.
        None if *error.kind() == ErrorKind::PermissionDenied && error.source().is_none() => no_mapper(error),
        None => front_end(error),
    }
}

/// A refusal in these words.
pub(crate) fn refused(line: String) -> Failure {
    Failure::new(Exit::Parameters, line)
}
