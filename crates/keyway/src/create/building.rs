//! A volume between its plan and its header.
#![cfg_attr(not(feature = "parts"), expect(unreachable_pub, reason = "public with the feature `parts`"))]

use super::Additions;
use crate::{Error, ErrorKind, Result};
use keyway_crypto::Secret;
use keyway_volume::data::build::{Build, Content, Target};
use keyway_volume::device::stream::{self, Meter, Moved};
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
    /// Encrypts the content into its place; `meter` counts its bytes and can stop it. See
    /// [`Create::begin`](crate::Create::begin) for an example.
    ///
    /// # Errors
    /// The first failure of either side.
    pub fn fill(
        &self,
        content: Content<'_>,
        options: stream::Options,
        meter: &Meter,
    ) -> Result<Moved, stream::Failure> {
        self.build.fill(content, options, meter)
    }

    /// The zeros that follow `length` bytes of content, up to the end of a sector. See
    /// [`Create::begin`](crate::Create::begin) for an example.
    #[cfg(feature = "parts")]
    pub fn padding(&self, length: u64) -> u64 {
        self.build.padding(length)
    }

    /// Writes the header, after `length` bytes of content: only now is there a volume. See
    /// [`Create::begin`](crate::Create::begin) for an example.
    ///
    /// # Errors
    /// [`ErrorKind::NoContent`] for no content at all; writing fails.
    pub fn finish(self, length: u64) -> Result<()> {
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
