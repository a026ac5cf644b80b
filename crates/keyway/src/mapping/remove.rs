//! Mappings go: at once, or when nobody uses them any more.

use super::{Mapping, Unchanged};
use crate::error::At;
use crate::{Error, Result};
use keyway_attach::dm::Mapper;
use keyway_volume::device::in_use::holder_of_device;
use std::collections::BTreeSet;

impl Mapping {
    /// Removes the mapping, and those of a chain's other ciphers below it: the kernel forgets the key. Programs that
    /// are ending get five seconds. See [`Admitted::map`](crate::Admitted::map) for an example.
    ///
    /// # Errors
    /// [`ErrorKind::InUse`](crate::ErrorKind::InUse) while it is open or mounted;
    /// [`ErrorKind::Refused`](crate::ErrorKind::Refused) where another program made it. The source is [`Unchanged`].
    pub fn remove(self) -> Result<()> {
        let now = self.ours_now()?;
        // Waiting does not remove another mapping on top of it.
        match now.info.device.has_holders() {
            true => Err(now.in_use()),
            false => now.unmap(false),
        }
    }

    /// As [`Mapping::remove`]; if it is in use, it is removed as soon as its last user closes it. Returns it where it
    /// is still there.
    ///
    /// ```no_run
    /// # use keyway::*;
    /// if let Some(mapping) = Mapping::find("home")?.remove_when_unused()? {
    ///     println!("{} is still in use", mapping.name());
    ///     mapping.keep()?;
    /// }
    /// # Ok::<(), keyway::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`Mapping::remove`].
    pub fn remove_when_unused(self) -> Result<Option<Self>> {
        self.ours_now()?.unmap(true)?;
        let left = Mapper::open().and_then(|mapper| mapper.status(self.name()));
        Ok(left.ok().filter(|info| self.is_still(info)).map(|info| Self { info }))
    }

    /// Takes [`Mapping::remove_when_unused`] back; see there for an example.
    ///
    /// # Errors
    /// [`ErrorKind::Refused`](crate::ErrorKind::Refused) where nothing is to be taken back, or another program made it.
    pub fn keep(&self) -> Result<()> {
        let now = self.ours_now()?;
        let mapper = Mapper::open().at(&self.name())?;
        mapper.cancel_deferred(self.name()).at(&self.name())?;
        // Those below a chain's are deferred with it.
        mapper.lower(&now.info).iter().for_each(|lower| drop(mapper.cancel_deferred(&lower.info.name)));
        Ok(())
    }

    fn unmap(&self, deferred: bool) -> Result<()> {
        let mapper = Mapper::open().at(&self.name())?;
        mapper.unmap(self.name(), deferred).map_err(|error| match error {
            keyway_attach::Error::Busy(_) if mapper.status(self.name()).is_ok() => self.in_use(),
            error => Error::from(error).at(&self.name()),
        })
    }

    fn in_use(&self) -> Error {
        let device = self.info.device;
        let by = holder_of_device(device.major, device.minor).map(|holder| holder.to_string());
        Error::from(Unchanged::InUse { by }).at(&self.name())
    }

    /// It as it is now. Refuses a logical volume, a multipath device, a snapshot: these must be removed by the program
    /// that made them. A dm-crypt mapping without a UUID was made by hand, and is removed as cryptsetup does.
    fn ours_now(&self) -> Result<Self> {
        let now = self.now()?;
        let uuid = &now.info.uuid;
        if now.is_of_volume() {
            return Ok(now);
        }
        let table = Mapper::open().and_then(|mapper| mapper.table(self.name(), false)).unwrap_or_default();
        let targets: BTreeSet<String> = table.into_iter().map(|target| target.kind).collect();
        if uuid.is_empty() && targets.iter().eq(["crypt"]) {
            return Ok(now);
        }
        let foreign = Unchanged::Foreign { uuid: uuid.clone(), targets: targets.into_iter().collect() };
        Err(Error::from(foreign).at(&self.name()))
    }
}
