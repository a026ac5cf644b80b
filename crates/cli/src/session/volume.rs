//! From an unlocked volume to what a session keeps of it: the gate in front of its plaintext, and
//! the public facts.

use crate::device::{self, explain};
use crate::output::failure::Result;
use crate::volume::{Format, Unlocked};
use keyway::storage::Storage;
use keyway_attach::session::{Facts, Gate, KeyDigest, Origin, Source};
use keyway_crypto::Secret;
use keyway_volume::reencrypt::{UnderWay, VolumeKeys};
use keyway_volume::{Keys, Layout, Rights};

/// Puts the plaintext of `unlocked` behind a gate; the volume key is wiped when this returns.
pub(crate) fn behind_gate(unlocked: Unlocked, rights: Rights) -> Result<(Gate, Facts)> {
    let mut facts = facts(&unlocked);
    let Unlocked { device, storage, layout, volume_key, second_key, format, holds_header, hold } = unlocked;
    let (declared_len, origin) = match format {
        Format::Luks { luks, .. } => (declared_len(&layout), Origin::Luks { luks, holds_header, hold }),
        Format::Other { .. } => (None, Origin::Other(KeyDigest::of(&volume_key)?)),
    };
    let source = Source { device, storage, layout, declared_len, origin };
    (facts.cipher, facts.sector_size) = source.encryption();
    let keys = Keys::new(&volume_key, second_key.as_ref().map(|second| &second.key));
    let gate = Gate::open(source, keys, rights).map_err(explain::session)?;
    facts.size = gate.len();
    facts.read_only = gate.is_read_only();
    facts.discards = gate.passes_discards();
    Ok((gate, facts))
}

/// The keys of the re-encryption in whose middle a volume is; `None` where it is in none.
pub(crate) fn keys_under_way(unlocked: &Unlocked) -> Result<Option<VolumeKeys>> {
    let Format::Luks { luks, .. } = &unlocked.format else { return Ok(None) };
    if UnderWay::of(luks.header())?.is_none() {
        return Ok(None);
    }
    let copy = |key: &Secret| Secret::copy_from(key.expose());
    let second = unlocked.second_key.as_ref().map(|second| copy(&second.key));
    Ok(Some(VolumeKeys::given(luks, copy(&unlocked.volume_key), second)?))
}

/// The size that a header gives its volume, unless that takes all of the device.
fn declared_len(layout: &Layout) -> Option<u64> {
    let last = layout.segments.last()?;
    last.length.map(|len| last.plaintext_start + len)
}

fn facts(unlocked: &Unlocked) -> Facts {
    let format = &unlocked.format;
    Facts {
        device: device::absolute(&unlocked.device).display().to_string(),
        format: format.name().to_owned(),
        uuid: format.uuid().unwrap_or_default().to_owned(),
        hash: format.hash().unwrap_or_default().to_owned(),
        key_bits: 8 * unlocked.volume_key.len() as u64,
        offset: unlocked.layout.segments.first().map_or(0, |segment| segment.storage_offset),
        ..Facts::default()
    }
}
