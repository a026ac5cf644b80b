//! Label, subsystem, UUID, keyslot priorities and activation flags.

use crate::{Error, Luks, Random, Result};
use keyway_format::luks2::Priority;

/// Sets label and subsystem (LUKS2); `None` leaves one as it is.
pub fn set_label(
    luks: &mut Luks,
    label: Option<&str>,
    subsystem: Option<&str>,
    rng: &mut dyn Random,
) -> Result<()> {
    let _ = (luks, label, subsystem, rng);
    Err(Error::Refused("not built yet".into()))
}

/// Sets the UUID; a random one when `None`.
pub fn set_uuid(luks: &mut Luks, uuid: Option<&str>, rng: &mut dyn Random) -> Result<()> {
    let _ = (luks, uuid, rng);
    Err(Error::Refused("not built yet".into()))
}

/// Sets a keyslot's priority (LUKS2).
pub fn set_priority(luks: &mut Luks, keyslot: u32, priority: Priority, rng: &mut dyn Random) -> Result<()> {
    let _ = (luks, keyslot, priority, rng);
    Err(Error::Refused("not built yet".into()))
}

/// Replaces the activation flags ("allow-discards", …) that are kept in the header (LUKS2).
pub fn set_persistent_flags(luks: &mut Luks, flags: &[&str], rng: &mut dyn Random) -> Result<()> {
    let _ = (luks, flags, rng);
    Err(Error::Refused("not built yet".into()))
}
