//! From an unlocked volume to what a session keeps of it: the gate before its plaintext, and the public facts.

use super::Facts;
use super::gate::{Gate, Rebuild};
use crate::failure::Result;
use crate::hint;
use crate::plaintext::{Format, Unlocked};
use keyway_crypto::Cpu;
use keyway_volume::{Layout, Mapping, Storage, Volume};
use std::fs;
use std::path::Path;
use std::sync::Arc;

/// Puts the plaintext of `unlocked` behind a gate; the volume key is gone when this returns.
pub(crate) fn behind_gate(unlocked: Unlocked) -> Result<(Arc<Gate>, Facts)> {
    let mut facts = facts(&unlocked);
    let Unlocked { device, storage, layout, volume_key, format } = unlocked;
    let volume = Volume::new(Arc::clone(&storage), &layout, &volume_key, Cpu::detect());
    let volume = volume.map_err(|e| hint::on_volume(&device, &e))?;
    facts.size = volume.len();
    let rebuild: Option<Rebuild> = match format {
        Format::Luks { luks, .. } => Some(Box::new(move |key| {
            let failed = |e| hint::on_volume(&device, &e);
            keyway_volume::verify_volume_key(&luks, key).map_err(failed)?;
            let volume = Volume::new(Arc::clone(&storage), &layout, key, Cpu::detect()).map_err(failed)?;
            Ok(Arc::new(volume) as Arc<dyn Storage>)
        })),
        // Nothing tells a wrong key from the right one.
        Format::Plain => None,
    };
    Ok((Arc::new(Gate::new(Arc::new(volume), rebuild)), facts))
}

fn facts(unlocked: &Unlocked) -> Facts {
    let (cipher, sector_size) = cipher(&unlocked.layout);
    let (format, uuid) = match &unlocked.format {
        Format::Luks { luks, .. } => (format!("LUKS{}", luks.version()), luks.uuid().to_owned()),
        Format::Plain => ("PLAIN".to_owned(), String::new()),
    };
    Facts {
        device: absolute(&unlocked.device),
        format,
        uuid,
        cipher,
        sector_size,
        key_bits: 8 * unlocked.volume_key.len() as u64,
        offset: unlocked.layout.segments.first().map_or(0, |segment| segment.storage_offset),
        read_only: unlocked.storage.is_read_only(),
        ..Facts::default()
    }
}

/// The first encrypted segment's cipher and sector size.
fn cipher(layout: &Layout) -> (String, u64) {
    let found = layout.segments.iter().find_map(|segment| match &segment.mapping {
        Mapping::Crypt { spec, sector_size, .. } => Some((spec.to_string(), sector_size.bytes() as u64)),
        Mapping::Linear => None,
    });
    found.unwrap_or_default()
}

/// The session leaves the directory that it was started in; URLs stay as they are.
fn absolute(device: &Path) -> String {
    fs::canonicalize(device).unwrap_or_else(|_| device.to_owned()).display().to_string()
}
