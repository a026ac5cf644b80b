//! From an unlocked volume to what a session keeps of it: the gate in front of its plaintext, and
//! the public facts.

use super::Facts;
use super::gate::Gate;
use super::source::{Check, Source};
use crate::say::failure::Result;
use crate::volume::{Format, Unlocked};
use keyway_volume::{Layout, Mapping, Storage};
use std::fs;
use std::path::Path;
use std::sync::Arc;

/// What a door permits.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Rights {
    /// Whether writes are refused.
    pub(crate) read_only: bool,
    /// Whether discards reach the device.
    pub(crate) discards: bool,
}

/// Puts the plaintext of `unlocked` behind a gate; the volume key is wiped when this returns.
pub(crate) fn behind_gate(unlocked: Unlocked, rights: Rights) -> Result<(Arc<Gate>, Facts)> {
    let mut facts = facts(&unlocked);
    let Unlocked { device, storage, layout, volume_key, format } = unlocked;
    let check = match format {
        Format::Luks { luks, .. } => Check::Luks(luks),
        Format::Plain { .. } => Check::of_key(&volume_key)?,
    };
    let gate = Gate::open(Source { device, storage, layout, check }, &volume_key)?;
    if rights.read_only {
        gate.make_read_only();
    }
    gate.pass_discards(rights.discards);
    facts.size = gate.len();
    facts.read_only = gate.is_read_only();
    facts.discards = rights.discards;
    Ok((Arc::new(gate), facts))
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
