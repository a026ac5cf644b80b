//! Open kernel mappings, whichever program made them: finding them by name, reading their table,
//! and cryptsetup's messages if there is none.

mod flags;
mod header;
mod keyring;
mod unchanged;

pub(crate) use flags::{GivenFlags, option_of, shown};
pub(crate) use header::{Reopening, no_header};
pub(crate) use keyring::{KeyLink, not_mapped};
pub(crate) use unchanged::{explain, refused, why};

use crate::device::sessions;
use crate::output::failure::{Exit, Failure, Result};
use keyway::{ErrorKind, Mapping};
use keyway_attach::session::Session;
use std::ffi::OsString;

/// What is open under a name.
pub(crate) enum Open {
    /// A mapping of the kernel's.
    Kernel(Mapping),
    /// A session: a process of the user's.
    Session(Session),
}

/// What is open under `name`, which may be the path of a mapping's block device; kernel mappings
/// take precedence.
pub(crate) fn find(name: &str) -> Result<Option<Open>> {
    match find_mapping(name)? {
        Some(mapping) => Ok(Some(Open::Kernel(mapping))),
        // Scripts name a volume by the path that dm-crypt would have given it.
        None => {
            let name = name.strip_prefix("/dev/mapper/").unwrap_or(name);
            Ok(sessions::registry().find(name).map(Open::Session))
        }
    }
}

/// As [`find`], for commands that need an open volume.
pub(crate) fn find_active(name: &str) -> Result<Open> {
    find(name)?.ok_or_else(|| not_active(name))
}

/// The mapping of this name, or at this path.
pub(crate) fn find_mapping(name: &str) -> Result<Option<Mapping>> {
    Mapping::look_up(name).map_err(|error| explain(name, &error))
}

/// Fails with cryptsetup's message where there is no device-mapper for this user.
pub(crate) fn check_mapper() -> Result<()> {
    Mapping::check_available().map_err(|error| no_mapper(&error))
}

/// The operand that names a mapping, as text.
pub(crate) fn name(operand: Option<&OsString>) -> Result<String> {
    let name = operand.and_then(|name| name.to_str()).map(str::to_owned);
    name.ok_or_else(|| Failure::new(Exit::Parameters, "The name of a mapping must be valid UTF-8."))
}

/// cryptsetup's message for a name under which nothing is open.
pub(crate) fn not_active(name: &str) -> Failure {
    Failure::new(Exit::Device, format!("Device {name} is not active."))
}

/// The line for an operation that is impossible while the volume is suspended.
pub(crate) fn suspended(name: &str) -> Failure {
    let message = format!("Volume {name} is suspended; luksResume resumes it.");
    Failure::new(Exit::Parameters, message)
}

fn no_mapper(error: &keyway::Error) -> Failure {
    match error.kind() {
        ErrorKind::PermissionDenied => {
            Failure::denied(Exit::Parameters, "Cannot initialize device-mapper, running as non-root user.")
        }
        _ => {
            Failure::new(Exit::Parameters, "Cannot initialize device-mapper. Is dm_mod kernel module loaded?")
        }
    }
}
