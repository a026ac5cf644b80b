//! What is written to a header only after it was shown to the caller: a repair, or a backup that is
//! restored.

use crate::error::At;
use crate::{Location, Result};
use keyway_volume::{backup, repair};
use std::fmt;

/// What is damaged in a header and can be repaired with certainty: from
/// [`Device::repair`](crate::Device::repair); see there for an example.
pub struct Repair {
    prepared: repair::Repair,
    place: Location,
}

impl Repair {
    pub(crate) fn new(prepared: repair::Repair, place: &Location) -> Self {
        Self { prepared, place: place.clone() }
    }

    /// The changes, one line each; none where nothing is wrong. See
    /// [`Device::repair`](crate::Device::repair) for an example.
    pub fn changes(&self) -> &[String] {
        self.prepared.changes()
    }

    /// Writes the changes, under the header's lock. See [`Device::repair`](crate::Device::repair)
    /// for an example.
    ///
    /// # Errors
    /// The header has changed meanwhile; writing fails.
    pub fn run(self) -> Result<()> {
        self.prepared.run().at(&self.place)
    }
}

impl fmt::Debug for Repair {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Repair").field("changes", &self.changes()).finish_non_exhaustive()
    }
}

/// A header backup that fits its device and has not been written yet: from
/// [`Device::restore_header`](crate::Device::restore_header).
pub struct Restore {
    prepared: backup::Restore,
    place: Location,
}

impl Restore {
    pub(crate) fn new(prepared: backup::Restore, place: &Location) -> Self {
        Self { prepared, place: place.clone() }
    }

    /// What a person should confirm, one line each. See [`Header::backup`](crate::Header::backup)
    /// for an example.
    pub fn warnings(&self) -> Vec<String> {
        self.prepared.warnings().iter().map(|warning| warning.of(&self.place).to_string()).collect()
    }

    /// Whether the backup has another volume key than the same volume's header has now: it was
    /// re-encrypted since, and nothing on it could be read. See
    /// [`Header::backup`](crate::Header::backup) for an example.
    pub fn loses_key(&self) -> bool {
        self.prepared.warnings().contains(&backup::Warning::OtherVolumeKey)
    }

    /// Whether the device's header is sealed and the backup is not: the backup may be an attempt to
    /// remove the seal. See [`Header::backup`](crate::Header::backup) for an example.
    pub fn loses_seal(&self) -> bool {
        self.prepared.loses_seal()
    }

    /// Writes the backup, under the header's lock, in an order that survives a kill: after an
    /// interruption, running it again completes it. See [`Header::backup`](crate::Header::backup)
    /// for an example.
    ///
    /// # Errors
    /// Writing fails.
    pub fn run(self) -> Result<()> {
        self.prepared.run().at(&self.place)
    }
}

impl fmt::Debug for Restore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Restore").field("place", &self.place).finish_non_exhaustive()
    }
}
