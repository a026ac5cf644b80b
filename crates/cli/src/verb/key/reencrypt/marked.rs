//! `--if-marked`: only a volume that waits for its first boot is re-encrypted.

use super::{Asked, State};
use crate::door::{Args, Opt, shared};
use crate::output::failure::{Exit, Failure, Result};
use crate::output::stdio;
use keyway::Header;
use keyway_volume::Access;
use keyway_volume::device::storage::Exclusive;

/// Whether the option was given. A mark asks for another volume key, and for nothing else.
pub(super) fn from_args(args: &Args) -> Result<bool> {
    let is_marked = args.given(&shared::IF_MARKED);
    match OTHER.iter().find(|option| is_marked && args.given(option)) {
        Some(other) => {
            let message = format!("Options --if-marked and --{} cannot be combined.", other.long);
            Err(Failure::new(Exit::Parameters, message))
        }
        None => Ok(is_marked),
    }
}

impl Asked {
    /// Whether nothing is to be done, for the volume waits for no first boot.
    pub(super) fn passes_by(&self, header: &Header) -> Result<bool> {
        if !self.if_marked || header.awaits_first_boot() {
            return Ok(false);
        }
        let device = self.target.device.display();
        stdio::verbose(
            self.target.manner,
            &format!("{device} waits for no first boot: nothing was changed."),
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

static OTHER: [&Opt; 5] =
    [&shared::ENCRYPT, &shared::NEW, &shared::DECRYPT, &shared::KEEP_KEY, &shared::ESTIMATE];
