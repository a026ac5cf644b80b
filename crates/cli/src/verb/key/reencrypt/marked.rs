//! `--if-marked`: only a volume that waits for its first boot is re-encrypted.

use super::{Asked, State};
use crate::output::failure::Result;
use crate::output::stdio;
use keyway::storage::Exclusive;
use keyway::{Access, Header};

impl Asked {
    /// Whether nothing is to be done, for the volume waits for no first boot.
    pub(super) fn passes_by(&self, header: &Header) -> Result<bool> {
        if !self.if_marked || header.awaits_first_boot() {
            return Ok(false);
        }
        let device = self.target.device.display();
        stdio::verbose(
            self.target.manner,
            &format!("{device} is not marked for a first boot: nothing was changed."),
        )?;
        Ok(true)
    }

    /// The same of what is on a device.
    pub(super) fn passes_by_device(&self, state: &State, data: &Exclusive) -> Result<bool> {
        match state {
            State::NotLuks => Ok(false),
            _ if !self.if_marked => Ok(false),
            _ => self.passes_by(&self.device(data, Access::Write)?.header()?),
        }
    }
}
