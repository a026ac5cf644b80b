//! Where an output goes. Links that another user could have planted are not followed.

use crate::output::failure::{Exit, Failure, Result};
use crate::output::transfer::cannot_write;
use keyway::storage::{Place, Planted};
use std::fmt::Display;
use std::io::{self, ErrorKind};
use std::path::Path;

/// The device or pipe at `path`. Links that another user could have planted are not followed.
pub(crate) fn existing(path: &Path) -> Result<Place> {
    Place::find(path, true).map_err(|e| refused(path, &e))
}

/// Whether others may have put there what is not written to.
pub(crate) fn is_planted(error: &io::Error) -> bool {
    error.get_ref().is_some_and(|it| it.is::<Planted>())
}

/// The line for a file that is not replaced without being told.
pub(crate) fn is_there(path: impl Display) -> String {
    format!("{path} already exists; --force replaces it.")
}

/// The line for a place where an output cannot go.
pub(crate) fn refused(path: &Path, error: &io::Error) -> Failure {
    let path = path.display();
    if let Some(planted) = error.get_ref().and_then(|it| it.downcast_ref::<Planted>()) {
        return Failure::new(Exit::Device, format!("Cannot write {path}: {planted}."));
    }
    match error.kind() {
        ErrorKind::AlreadyExists => Failure::new(Exit::Busy, is_there(path)),
        ErrorKind::NotFound => Failure::new(Exit::Device, format!("The directory of {path} does not exist.")),
        _ => cannot_write(&path, None, error),
    }
}
