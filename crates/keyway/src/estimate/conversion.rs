//! What turning a volume of another kind into LUKS2 would take, as far as that is known without its key.

use super::Estimate;
use crate::error::At;
use crate::{Create, Device, Kind, Reencrypt, Result};
use keyway_volume::kind::Convertible;
use keyway_volume::reencrypt::{Plan, Planned, Setting};
use keyway_volume::{Access, Locking, Luks};
use std::sync::Arc;

impl Device {
    /// What [`Admitted::begin_conversion`](crate::Admitted::begin_conversion) would do with a volume of this `kind`, and how long that would take. Nobody is
    /// asked for a key: for VeraCrypt's it is planned for an outer volume as that makes it, and its cipher for the likeliest.
    /// `create` and `how` are as there, `limit` is in bytes a second. Nothing is written, and no file is made.
    ///
    /// ```
    /// # use keyway::*;
    /// # use std::sync::Arc;
    /// # let device = Device::from_storage(Arc::new(storage::Memory::zeroed(2 << 20)));
    /// let create = Create::luks2().header("disk.header");
    /// let estimate = device.estimate_conversion(&Tcrypt::new(), &create, &Reencrypt::new(), None)?;
    /// let moved = device.len() - (256 << 10);
    /// assert_eq!((estimate.amounts.left, estimate.amounts.protection), (moved, moved));
    /// # Ok::<(), keyway::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`ErrorKind::Refused`](crate::ErrorKind::Refused) for what can be refused without the key: other kinds, hidden
    /// volumes, encrypted systems, a device without room for one; [`ErrorKind::Exists`](crate::ErrorKind::Exists) for the
    /// header's file; the device cannot be read.
    pub fn estimate_conversion(
        &self,
        kind: &dyn Kind,
        create: &Create,
        how: &Reencrypt,
        limit: Option<u64>,
    ) -> Result<Estimate> {
        self.estimate_kind(kind.described(), create, how, limit)
    }

    pub(crate) fn estimate_kind(
        &self,
        kind: &dyn keyway_volume::kind::Kind,
        create: &Create,
        how: &Reencrypt,
        limit: Option<u64>,
    ) -> Result<Estimate> {
        let place = self.place();
        how.check_conversion().at(place)?;
        let Convertible { layouts, key_len } = kind.convertible(&self.data()).at(place)?;
        let at_header = create.header_location().unwrap_or(place);
        let header = create.header_in_memory(self.len()).at(at_header)?;
        let luks = Luks::open_with(Arc::clone(&header), Access::Probe, Locking::Disabled).at(at_header)?;
        let terms = self.terms(how, false);
        let planned = Planned::Convert { layouts: &layouts };
        let plan = Plan::new(&luks, planned, &terms, self.len()).at(place)?;
        let [old_bits, new_bits] =
            [key_len, luks.header().volume_key_len().unwrap_or(key_len)].map(|len| 8 * len as u32);
        let estimate = self.measured(plan, &Setting { old_bits, new_bits, limit })?;
        Ok(Estimate { header_len: Some(header.len()), ..estimate })
    }
}
