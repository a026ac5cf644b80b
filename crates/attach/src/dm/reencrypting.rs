//! A mapping whose volume is re-encrypted while it is in use: its requests are held back during a
//! step, and it is mapped as it is afterwards.
//!
//! The table for afterwards is loaded before a request is held back, so that little can fail while
//! they wait. Whoever drives this must not need the mapping meanwhile: its memory is locked.

use super::crypt::Features;
use super::volume::{self, Below, KeyPlace, Places};
use super::{Flags, Mapper, Suspend, Target};
use crate::Error;
use keyway_volume::reencrypt::Mapped;
use keyway_volume::{Layout, OsRandom};
use std::fmt;
use std::ops::Range;

/// The re-encryption of a mapping's volume.
pub struct Reencrypting {
    /// The kernel's device-mapper.
    pub mapper: Mapper,
    /// The mapping.
    pub name: String,
    /// What goes on.
    pub mapped: Mapped,
    /// The device below, and dm-crypt's options.
    pub below: Below,
    /// How tables are loaded.
    pub flags: Flags,
    /// What this kernel's dm-crypt can do.
    pub features: Features,
    /// Keys may be passed through the kernel's keyring.
    pub keyring: bool,
    /// The volume's UUID.
    pub uuid: String,
    /// The digests of the volume key and of the one that replaces it.
    pub digests: (u32, Option<u32>),
}

/// Why a step failed.
#[derive(Debug)]
pub enum Fault {
    /// The kernel refused.
    Kernel(Error),
    /// The volume.
    Volume(keyway_volume::Error),
    /// The kernel refused a table after a step: the mapping stays suspended, for the table that it has
    /// would read noise.
    Suspended(Error),
}

impl Reencrypting {
    /// Maps the volume as it is now, and lets requests through: it may have been suspended in the
    /// middle of a step.
    ///
    /// # Errors
    /// [`Fault`]
    pub fn settle(&self) -> Result<(), Fault> {
        self.load(&self.mapped.layout()?, None)?;
        Ok(self.mapper.resume(&self.name, self.flags)?)
    }

    /// Re-encrypts one zone; whether it was the last.
    ///
    /// # Errors
    /// [`Fault`]; requests to a zone whose bytes are in doubt fail from then on, all others pass.
    pub fn step(&mut self) -> Result<bool, Fault> {
        self.load(&self.mapped.next_layout()?, None)?;
        let how = Suspend { no_flush: false, skip_lockfs: true };
        if let Err(error) = self.mapper.suspend(&self.name, how) {
            let _ = self.mapper.clear(&self.name);
            return Err(error.into());
        }
        let stepped = self.mapped.step(&mut OsRandom);
        if stepped.is_err() {
            let layout = self.mapped.layout().map_err(Fault::from);
            layout.and_then(|layout| self.load(&layout, self.mapped.doubtful())).map_err(Fault::suspended)?;
        }
        self.mapper.resume(&self.name, self.flags).map_err(Fault::Suspended)?;
        Ok(stepped?)
    }

    /// Loads the table of a layout, without the zone that nobody may read.
    fn load(&self, layout: &Layout, without: Option<Range<u64>>) -> Result<(), Fault> {
        let keys = self.mapped.keys()?;
        let place =
            |key, digest| KeyPlace::find(self.keyring, key, Some((&self.uuid, digest)), &self.features);
        let first_digest = match keys.second() {
            Some(_) => self.digests.0,
            // All is done: the new key is the only one.
            None => self.digests.1.unwrap_or(self.digests.0),
        };
        let first = place(keys.first(), first_digest)?;
        let second = keys.second().zip(self.digests.1).map(|(key, digest)| place(key, digest)).transpose()?;
        let places = Places { first: &first, second: second.as_ref().or(Some(&first)) };
        let mut table = volume::table(layout, places, &self.below)?;
        for (target, segment) in table.iter_mut().zip(&layout.segments) {
            if without.as_ref().is_some_and(|zone| zone.contains(&segment.plaintext_start)) {
                *target = Target::error(target.start, target.length);
            }
        }
        // The keys stay in the keyring until the kernel has read them.
        Ok(self.mapper.reload(&self.name, &table, self.flags)?)
    }
}

impl Fault {
    fn suspended(self) -> Self {
        match self {
            Self::Kernel(error) => Self::Suspended(error),
            other => other,
        }
    }
}

impl From<Error> for Fault {
    fn from(error: Error) -> Self {
        Self::Kernel(error)
    }
}

impl From<keyway_volume::Error> for Fault {
    fn from(error: keyway_volume::Error) -> Self {
        Self::Volume(error)
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Kernel(error) => error.fmt(f),
            Self::Volume(error) => error.fmt(f),
            Self::Suspended(error) => write!(f, "{error}; the mapping stays suspended"),
        }
    }
}
