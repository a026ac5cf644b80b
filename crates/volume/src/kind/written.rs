//! What all that write a header share: each part is on stable storage, and was read back, before the next one begins.

use crate::device::probe;
use crate::error::shared;
use crate::{Error, Refusal, Result, Storage};
use std::io;

/// Writes bytes, and reads them back before anything is done to the next ones.
///
/// # Errors
/// [`Error::Io`].
pub(super) fn put_and_read(storage: &dyn Storage, bytes: &[u8], at: u64) -> Result<()> {
    put(storage, bytes, at)?;
    let mut found = vec![0; bytes.len()];
    storage.read_at(&mut found, at).map_err(failed("reading back the header of"))?;
    match found == bytes {
        true => Ok(()),
        false => Err(failed("reading back the header of")(shared::other_than_written())),
    }
}

/// Writes bytes of a header, and puts them on stable storage.
///
/// # Errors
/// [`Error::Io`].
pub(super) fn put(storage: &dyn Storage, bytes: &[u8], at: u64) -> Result<()> {
    storage.write_at(bytes, at).map_err(failed("writing the header of"))?;
    flush(storage)
}

/// Puts what was written on stable storage.
///
/// # Errors
/// [`Error::Io`].
pub(super) fn flush(storage: &dyn Storage) -> Result<()> {
    storage.flush().map_err(failed("flushing"))
}

/// Wipes the signatures of what was there before.
///
/// # Errors
/// [`Error::Io`].
pub(super) fn wipe(storage: &dyn Storage) -> Result<()> {
    probe::wipe(storage).map_err(failed("wiping what was in the place of"))
}

/// Refuses what no write can be made sure of on, before the first one.
///
/// # Errors
/// [`Error::Refused`].
pub(super) fn check_flushes(storage: &dyn Storage) -> Result<()> {
    match storage.can_flush() {
        true => Ok(()),
        false => Err(Refusal::Unusable.because("it cannot be flushed: a power failure might lose data")),
    }
}

/// An error of what is done to the volume.
pub(super) fn failed(doing: &'static str) -> impl Fn(io::Error) -> Error {
    move |source| Error::Io { what: format!("{doing} the volume"), source }
}

/// What the format refuses is what the user asked for, not what a device holds.
pub(super) fn refused(kind: Refusal) -> impl Fn(keyway_format::Error) -> Error {
    move |error| kind.because(error.to_string())
}
