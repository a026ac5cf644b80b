//! Passphrases and volume keys that an option names in the kernel's keyring, with cryptsetup's
//! messages (lib/keyslot_context.c).

use crate::output::failure::{Exit, Failure, Result};
use keyway_attach::Error;
use keyway_attach::dm::keyring::{Key, Kind};
use keyway_crypto::Secret;
use std::fmt::Display;

/// The passphrase in the key of type "user" with this description (`--key-description`).
pub(crate) fn passphrase(description: &str) -> Result<Secret> {
    read(Kind::User, description).map_err(|error| failed(&unreadable(&error)))
}

/// The volume key in the key that `--volume-key-keyring` names: a description, with `%user:` or
/// `%logon:` before it. No program can read a key of the latter type, nor cryptsetup.
pub(crate) fn volume_key(name: &str) -> Result<Secret> {
    let trouble = |why: String| failed(&format!("Failed to read volume key candidate from keyring: {why}."));
    let (kind, description) = match name.strip_prefix('%').map(|typed| typed.split_once(':')) {
        None => (Kind::User, name),
        Some(Some(("user", description))) => (Kind::User, description),
        Some(Some(("logon", description))) => (Kind::Logon, description),
        Some(_) => return Err(trouble(format!("{name} is not %user:DESCRIPTION"))),
    };
    read(kind, description).map_err(|error| trouble(error.to_string()))
}

fn read(kind: Kind, description: &str) -> keyway_attach::Result<Secret> {
    match Key::find(kind, description) {
        Err(Error::NotFound(_)) => Key::find_listed(kind, description)?.read(),
        found => found?.read(),
    }
}

/// Why the passphrase is not to be had.
pub(super) fn unreadable(error: &impl Display) -> String {
    format!("Failed to read passphrase from keyring: {error}.")
}

fn failed(line: &str) -> Failure {
    Failure::new(Exit::Parameters, line)
}
