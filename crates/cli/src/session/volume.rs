//! From an unlocked volume to what a session keeps of it: the suspendable device in front of its plaintext, and
//! the public facts.

use crate::device::{self, explain};
use crate::output::failure::Result;
use crate::volume::Unlocked;
use keyway::Parts;
use keyway::parts::{Layout, UnderWay, VolumeKeys};
use keyway::storage::Storage;
use keyway_attach::session::{Facts, KeyDigest, Origin, Source, SuspendableDevice};
use keyway_crypto::Secret;
use keyway_volume::{Keys, Rights};

/// Puts the plaintext of `unlocked` behind a suspendable device; the volume key is wiped when this returns.
pub(crate) fn suspendable(unlocked: Unlocked, rights: Rights) -> Result<(SuspendableDevice, Facts)> {
    let mut facts = facts(&unlocked);
    let Unlocked { device, parts, hash: _ } = unlocked;
    let Parts { data, layout, volume_key, second_key, header, holds_header, hold, .. } = parts;
    let (declared_len, origin) = match header.map(Box::new) {
        Some(luks) => (declared_len(&layout), Origin::Luks { luks, holds_header, hold }),
        None => (None, Origin::Other(KeyDigest::of(&volume_key)?)),
    };
    let source = Source { device, storage: data, layout, declared_len, origin };
    (facts.cipher, facts.sector_size) = source.encryption();
    let keys = Keys::new(&volume_key, second_key.as_ref().map(|second| &second.key));
    let device = SuspendableDevice::open(source, keys, rights).map_err(explain::session)?;
    facts.size = device.len();
    facts.read_only = device.is_read_only();
    facts.discards = device.passes_discards();
    Ok((device, facts))
}

/// The keys of the re-encryption in whose middle a volume is; `None` where it is in none.
pub(crate) fn keys_under_way(unlocked: &Unlocked) -> Result<Option<VolumeKeys>> {
    let parts = &unlocked.parts;
    let Some(luks) = &parts.header else { return Ok(None) };
    if UnderWay::of(luks.header())?.is_none() {
        return Ok(None);
    }
    let copy = |key: &Secret| Secret::copy_from(key.expose());
    let second = parts.second_key.as_ref().map(|second| copy(&second.key));
    Ok(Some(VolumeKeys::given(luks, copy(&parts.volume_key), second)?))
}

/// The size that a header gives its volume, unless that takes all of the device.
fn declared_len(layout: &Layout) -> Option<u64> {
    let last = layout.segments.last()?;
    last.length.map(|len| last.plaintext_start + len)
}

fn facts(unlocked: &Unlocked) -> Facts {
    let Unlocked { device, parts, hash } = unlocked;
    Facts {
        device: device::absolute(device).display().to_string(),
        format: parts.kind.to_owned(),
        uuid: parts.uuid.clone().unwrap_or_default(),
        hash: hash.clone().unwrap_or_default(),
        key_bits: 8 * parts.volume_key.len() as u64,
        offset: parts.layout.segments.first().map_or(0, |segment| segment.storage_offset),
        ..Facts::default()
    }
}
