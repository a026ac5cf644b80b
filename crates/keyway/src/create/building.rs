//! A volume between its plan and its header.
#![cfg_attr(not(feature = "parts"), expect(unreachable_pub, reason = "public with the feature `parts`"))]

use super::Seal;
use crate::{Error, ErrorKind, Result};
use keyway_crypto::Secret;
use keyway_volume::build::{Build, Content};
use keyway_volume::stream::{self, Meter, Moved};
use keyway_volume::{Random, Storage};
use std::sync::Arc;

/// A volume that has its key and its place, but not yet its content: from
/// [`Create::begin`](crate::Create::begin) (feature `parts`); see there for an example.
pub struct Building<'a> {
    build: Build<'a>,
    storage: Arc<dyn Storage>,
    volume_key: Secret,
    random: Box<dyn Random>,
    seal: Option<Seal>,
}

impl<'a> Building<'a> {
    pub(super) fn new(
        build: Build<'a>,
        storage: Arc<dyn Storage>,
        (volume_key, random): (Secret, Box<dyn Random>),
        seal: Option<Seal>,
    ) -> Self {
        Self { build, storage, volume_key, random, seal }
    }

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

    /// Writes the header, after `length` bytes of content: only now is there a volume. See
    /// [`Create::begin`](crate::Create::begin) for an example.
    ///
    /// # Errors
    /// [`ErrorKind::NoContent`] for no content at all; writing fails.
    pub fn finish(self, length: u64) -> Result<()> {
        let Self { build, storage, volume_key, mut random, seal } = self;
        if length == 0 {
            return Err(Error::new(ErrorKind::NoContent));
        }
        build.settle(length)?;
        build.write_header(&mut *random)?;
        match seal {
            Some(seal) => {
                let len = storage.len();
                seal.put_on(storage, &volume_key, len, &mut *random)
            }
            None => Ok(()),
        }
    }
}
