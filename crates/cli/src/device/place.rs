//! Where an output goes, after no link that others could have put in its way.

use crate::say::failure::{Exit, Failure, Result};
use crate::say::transfer::cannot_write;
use keyway_volume::storage::{Place, Planted};
use std::io::{self, ErrorKind};
use std::path::Path;

/// The device or pipe that is there, after no link that others could have put in its way.
pub(crate) fn existing(path: &Path) -> Result<Place> {
    Place::find(path, true).map_err(|e| refused(path, &e))
}

/// The line for a place that an output cannot have.
pub(crate) fn refused(path: &Path, error: &io::Error) -> Failure {
    let path = path.display();
    if let Some(planted) = error.get_ref().and_then(|it| it.downcast_ref::<Planted>()) {
        return Failure::new(Exit::Device, format!("Cannot write {path}: {planted}."));
    }
    match error.kind() {
        ErrorKind::AlreadyExists => {
            Failure::new(Exit::Busy, format!("{path} exists already; --force replaces it."))
        }
        ErrorKind::NotFound => Failure::new(Exit::Device, format!("The directory of {path} does not exist.")),
        _ => cannot_write(&path, None, error),
    }
}
