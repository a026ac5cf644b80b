//! From an unlocked volume to what a session keeps of it: the gate in front of its plaintext, and
//! the public facts.

use crate::device::explain;
use crate::say::failure::Result;
use crate::volume::{Format, Unlocked};
use keyway_attach::session::{Facts, Gate, KeyCheck, KeyDigest, Source};
use keyway_crypto::Secret;
use keyway_volume::{Layout, Luks, Mapping, Rights, Storage};
use std::fs;
use std::path::Path;

/// Puts the plaintext of `unlocked` behind a gate; the volume key is wiped when this returns.
pub(crate) fn behind_gate(unlocked: Unlocked, rights: Rights) -> Result<(Gate, Facts)> {
    let mut facts = facts(&unlocked);
    let Unlocked { device, storage, layout, volume_key, format } = unlocked;
    let (declared_len, check): (_, Box<dyn KeyCheck>) = match format {
        Format::Luks { luks, .. } => (declared_len(&layout), Box::new(HeaderDigest(luks))),
        Format::Plain { .. } => (None, Box::new(KeyDigest::of(&volume_key)?)),
    };
    let source = Source { device, storage, layout, declared_len, check };
    let gate = Gate::open(source, &volume_key, rights).map_err(explain::session)?;
    facts.size = gate.len();
    facts.read_only = gate.is_read_only();
    facts.discards = gate.passes_discards();
    Ok((gate, facts))
}

/// The size that a header gives its volume, unless that takes all of the device.
fn declared_len(layout: &Layout) -> Option<u64> {
    let last = layout.segments.last()?;
    last.length.map(|len| last.plaintext_start + len)
}

/// The volume key is recognised by the header's digest.
struct HeaderDigest(Box<Luks>);

impl KeyCheck for HeaderDigest {
    fn check(&self, key: &Secret) -> keyway_volume::Result<()> {
        keyway_volume::verify_volume_key(&self.0, key).map(drop)
    }
}

fn facts(unlocked: &Unlocked) -> Facts {
    let (cipher, sector_size) = cipher(&unlocked.layout);
    let (format, uuid, hash) = match &unlocked.format {
        Format::Luks { luks, .. } => {
            (format!("LUKS{}", luks.version()), luks.uuid().to_owned(), String::new())
        }
        Format::Plain { hash } => ("PLAIN".to_owned(), String::new(), hash.clone().unwrap_or_default()),
    };
    Facts {
        device: absolute(&unlocked.device),
        format,
        uuid,
        cipher,
        hash,
        sector_size,
        key_bits: 8 * unlocked.volume_key.len() as u64,
        offset: unlocked.layout.segments.first().map_or(0, |segment| segment.storage_offset),
        ..Facts::default()
    }
}

/// The cipher and sector size of the first encrypted segment.
fn cipher(layout: &Layout) -> (String, u64) {
    let found = layout.segments.iter().find_map(|segment| match &segment.mapping {
        Mapping::Crypt { spec, sector_size, .. } => Some((spec.to_string(), sector_size.bytes() as u64)),
        Mapping::Linear => None,
    });
    found.unwrap_or_default()
}

/// The path made absolute, because the session leaves the directory that it was started in; URLs
/// stay as they are.
fn absolute(device: &Path) -> String {
    fs::canonicalize(device).unwrap_or_else(|_| device.to_owned()).display().to_string()
}
