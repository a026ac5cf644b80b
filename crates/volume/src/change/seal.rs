//! The [`Seal`] of a header made and removed.

use crate::change::edit::edit_luks2_as;
use crate::header::luks::Edit;
use crate::header::seal::{Blank, Seal, put};
use crate::keyslot::unlock::verify_volume_key;
use crate::{Header, Luks, Random, Refusal, Result};
use keyway_crypto::Secret;

/// Seals the current header of a volume, and replaces an existing seal, also one that does not hold:
/// the caller has shown somebody every difference ([`Seal::compare`]), and whether the old list was
/// genuine ([`Seal::is_made_with`]).
pub fn seal(
    luks: &mut Luks,
    volume_key: &Secret,
    data_len: u64,
    context: Option<&str>,
    rng: &mut dyn Random,
) -> Result<()> {
    check_sealable(luks)?;
    verify_volume_key(luks, volume_key)?;
    let blank = Blank::new(volume_key, context, rng)?;
    edit_luks2_as(luks, Edit::Seal, rng, |binary, metadata| {
        let seal = blank.seal(binary, metadata, data_len);
        put(metadata, Some(&seal))
    })
}

/// Removes the seal; returns whether there was one.
pub fn remove(luks: &mut Luks, rng: &mut dyn Random) -> Result<bool> {
    check_sealable(luks)?;
    let Header::Luks2 { metadata, .. } = luks.header() else { return Ok(false) };
    if Seal::count(metadata) == 0 {
        return Ok(false);
    }
    edit_luks2_as(luks, Edit::Seal, rng, |_, metadata| put(metadata, None)).map(|()| true)
}

/// Refuses LUKS1, which has no place for a seal.
pub fn check_sealable(luks: &Luks) -> Result<()> {
    match luks.header() {
        Header::Luks2 { .. } => Ok(()),
        Header::Luks1(_) => Err(Refusal::OnlyLuks2
            .because("A LUKS1 header has no room for a seal; convert it first with convert --type luks2")),
    }
}
