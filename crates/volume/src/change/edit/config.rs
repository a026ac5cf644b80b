//! Label, subsystem, UUID, keyslot priorities and activation flags.

use super::edit_luks2;
use crate::header::luks::Edit;
use crate::header::luks1_disk;
use crate::header::seal::Renewal;
use crate::random::{parse_uuid, random_uuid};
use crate::{Header, Luks, Random, Refusal, Result};
use keyway_format::luks2::{BinaryHeader, Metadata, PERSISTENT_FLAGS, Priority};

/// Sets label and subsystem (LUKS2); `None` leaves the value unchanged. The volume key is used to
/// renew the header's seal, here and below.
pub fn set_label(
    luks: &mut Luks,
    label: Option<&str>,
    subsystem: Option<&str>,
    renewal: Option<Renewal<'_>>,
    rng: &mut dyn Random,
) -> Result<()> {
    edit_sealed(luks, renewal, rng, |binary, _| {
        if let Some(label) = label {
            binary.set_label(label)?;
        }
        if let Some(subsystem) = subsystem {
            binary.set_subsystem(subsystem)?;
        }
        Ok(())
    })
}

/// Sets the UUID; a random one when `None`.
pub fn set_uuid(
    luks: &mut Luks,
    uuid: Option<&str>,
    renewal: Option<Renewal<'_>>,
    rng: &mut dyn Random,
) -> Result<()> {
    let uuid = uuid.map_or_else(|| random_uuid(rng), parse_uuid)?;
    let Header::Luks1(old) = luks.header() else {
        return edit_sealed(luks, renewal, rng, |binary, _| Ok(binary.set_uuid(&uuid)?));
    };
    let (old, mut new) = (old.clone(), old.clone());
    new.set_uuid(&uuid)?;
    let lock = luks.lock_for(Edit::Change)?;
    luks1_disk::write_changes(&**luks.storage(), &old.to_bytes(), &new.to_bytes())?;
    luks.set_header(Header::Luks1(new));
    drop(lock);
    Ok(())
}

/// Sets a keyslot's priority (LUKS2).
pub fn set_priority(luks: &mut Luks, keyslot: u32, priority: Priority, rng: &mut dyn Random) -> Result<()> {
    edit_luks2(luks, rng, |_, metadata| match metadata.keyslots.contains_key(&keyslot) {
        true => Ok(metadata.set_priority(keyslot, priority)?),
        false => Err(super::keyslots::not_active(keyslot)),
    })
}

/// Replaces the activation flags ("allow-discards", …) that are stored in the header (LUKS2).
pub fn set_persistent_flags(
    luks: &mut Luks,
    flags: &[&str],
    renewal: Option<Renewal<'_>>,
    rng: &mut dyn Random,
) -> Result<()> {
    if let Some(unknown) = flags.iter().find(|flag| !PERSISTENT_FLAGS.contains(flag)) {
        return Err(Refusal::UnknownFlag.because(format!("activation flag \"{unknown}\" is unknown")));
    }
    edit_sealed(luks, renewal, rng, |_, metadata| Ok(metadata.set_flags(flags)?))
}

/// Changes what a seal covers, and renews the seal in the same write where the key is known.
fn edit_sealed(
    luks: &mut Luks,
    renewal: Option<Renewal<'_>>,
    rng: &mut dyn Random,
    change: impl FnOnce(&mut BinaryHeader, &mut Metadata) -> Result<()>,
) -> Result<()> {
    let old = luks.header().clone();
    edit_luks2(luks, rng, |binary, metadata| {
        change(binary, metadata)?;
        Ok(renewal.map_or(Ok(()), |renewal| renewal.renew(&old, binary, metadata))?)
    })
}
