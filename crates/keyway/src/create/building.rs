//! A volume between its plan and its header.
#![cfg_attr(not(feature = "parts"), expect(unreachable_pub, reason = "public with the feature `parts`"))]

use super::Additions;
use crate::{Error, ErrorKind, Result};
use keyway_crypto::Secret;
use keyway_volume::data::build::{Build, Content, Target};
use keyway_volume::device::stream::{self, Meter};
use keyway_volume::{Locking, Random, Storage};
use std::sync::Arc;

/// A volume that has its key and its place, but not yet its content: from
/// [`Create::begin`](crate::Create::begin) (feature `parts`); see there for an example.
pub struct Building<'a> {
    pub(super) build: Build<'a>,
    pub(super) target: Target<'a>,
    pub(super) volume_key: Secret,
    pub(super) random: Box<dyn Random>,
    pub(super) additions: Additions,
}

impl Building<'_> {
    /// Encrypts the content into its place, then writes the header: only now is there a volume. `meter` counts
    /// the content's bytes and can stop it. See [`Create::begin`](crate::Create::begin) for an example.
    ///
    /// # Errors
    /// [`NotBuilt::Moving`] for the first failure of either side; [`ErrorKind::NoContent`] for no content at all;
    /// the header cannot be written.
    pub fn complete(
        self,
        content: Content<'_>,
        options: stream::Options,
        meter: &Meter,
    ) -> Result<Built, NotBuilt> {
        let moved = self.build.fill(content, options, meter).map_err(NotBuilt::Moving)?;
        let (length, holes) = (moved.length, moved.holes);
        let padding = self.build.padding(length);
        self.finish(length).map_err(NotBuilt::Other)?;
        Ok(Built { length, holes, padding })
    }

    /// Writes the header, after `length` bytes of content.
    fn finish(self, length: u64) -> Result<()> {
        let Self { build, target, volume_key, mut random, additions } = self;
        if length == 0 {
            return Err(Error::new(ErrorKind::NoContent));
        }
        build.settle(length)?;
        build.write_header(&mut *random)?;
        let (storage, locking) = match target {
            // Nobody else can see it yet.
            Target::New(new) => (Arc::clone(new.file()) as Arc<dyn Storage>, Locking::Disabled),
            Target::Existing(storage) => (Arc::clone(storage), Locking::default()),
        };
        let len = storage.len();
        additions.put_on(storage, locking, &volume_key, len, &mut *random)
    }
}

/// What is in a new volume, in bytes: from [`Building::complete`]. See [`Create::begin`](crate::Create::begin) for an
/// example.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
#[cfg_attr(not(feature = "parts"), allow(dead_code))]
pub struct Built {
    /// The content, with the room that was asked for after it.
    pub length: u64,
    /// The part of it that was holes, left unwritten.
    pub holes: u64,
    /// Zeros after it, up to the end of a sector.
    pub padding: u64,
}

/// Why there is no new volume: from [`Building::complete`].
#[derive(Debug)]
#[non_exhaustive]
pub enum NotBuilt {
    /// The content could not be read to its end, or not be written: the failure tells which, and where.
    Moving(stream::Failure),
    /// Anything else.
    Other(Error),
}

impl From<Error> for NotBuilt {
    fn from(error: Error) -> Self {
        Self::Other(error)
    }
}

impl From<keyway_volume::Error> for NotBuilt {
    fn from(error: keyway_volume::Error) -> Self {
        Self::Other(error.into())
    }
}

impl From<NotBuilt> for Error {
    fn from(why: NotBuilt) -> Self {
        match why {
            NotBuilt::Moving(failure) => failure.into(),
            NotBuilt::Other(error) => error,
        }
    }
}
