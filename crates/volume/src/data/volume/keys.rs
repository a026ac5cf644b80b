//! The keys of a volume: one, or two while a re-encryption replaces one by the other.

use crate::{Error, MappedSegment, Result};
use keyway_crypto::Secret;

/// The keys of a volume's segments.
#[derive(Clone, Copy)]
pub struct Keys<'a> {
    first: &'a Secret,
    second: Option<&'a Secret>,
}

impl<'a> Keys<'a> {
    /// The volume key; and the one for the segments that have the second key.
    pub fn new(first: &'a Secret, second: Option<&'a Secret>) -> Self {
        Self { first, second }
    }

    /// The volume key.
    pub fn first(&self) -> &'a Secret {
        self.first
    }

    /// The one for the segments that have the second key.
    pub fn second(&self) -> Option<&'a Secret> {
        self.second
    }

    /// The key of a segment.
    ///
    /// # Errors
    /// [`Error::WrongVolumeKey`] if the segment has the second key, and there is none.
    pub(crate) fn of(&self, segment: &MappedSegment) -> Result<&'a Secret> {
        match segment.second_key {
            false => Ok(self.first),
            true => self.second.ok_or(Error::WrongVolumeKey),
        }
    }
}

impl<'a> From<&'a Secret> for Keys<'a> {
    fn from(only: &'a Secret) -> Self {
        Self::new(only, None)
    }
}
