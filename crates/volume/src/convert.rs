//! LUKS1 to LUKS2 and back, in place.

use crate::{Error, Luks, Random, Result};

/// Turns a LUKS1 header into LUKS2.
pub fn to_luks2(luks: &mut Luks, rng: &mut dyn Random) -> Result<()> {
    let _ = (luks, rng);
    Err(Error::Refused("not built yet".into()))
}

/// Turns a LUKS2 header into LUKS1; refused when LUKS1 cannot express it.
pub fn to_luks1(luks: &mut Luks, rng: &mut dyn Random) -> Result<()> {
    let _ = (luks, rng);
    Err(Error::Refused("not built yet".into()))
}
