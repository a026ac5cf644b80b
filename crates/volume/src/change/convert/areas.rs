//! Moves LUKS2 keyslot areas onto a grid, so that the other format finds room between them;
//! cryptsetup needs this, too.
//!
//! LUKS1's eight areas lie side by side from byte 4096 on, and cryptsetup converts by shifting all
//! of them by 28 KiB. Areas that are not aligned to that grid leave gaps too small for the unused
//! ones.

use crate::change::edit::{commit_luks2, luks2_parts, wipe_area, write_material};
use crate::{Error, Luks, Random, Refusal, Result};
use keyway_format::Bytes;
use keyway_format::luks1::SLOTS;
use keyway_format::luks2::{Area, Metadata};

/// Which keyslot's area goes where, in order: each target is free once the previous moves are made.
pub(super) struct Moves(Vec<(u32, Area)>);

impl Moves {
    /// Moves every keyslot's area into one of eight cells of its size, side by side from `origin`
    /// on. `None` when the cells cannot hold all keyslots, or do not fit before `end`.
    pub(super) fn to_grid(metadata: &Metadata, origin: u64, end: u64) -> Option<Self> {
        let slots = metadata.keyslots.iter();
        let mut areas: Vec<(u32, Area)> = slots.map(|(&number, slot)| (number, slot.area)).collect();
        let size = areas.first()?.1.size;
        if origin + SLOTS as u64 * size.0 > end {
            return None;
        }
        let start = metadata.header_size().keyslots_start().0;
        let last = metadata.header_and_keyslots_size().0;
        let cells = (0..SLOTS as u64).map(|cell| Area { offset: Bytes(origin + cell * size.0), size });
        let cells: Vec<Area> = cells.filter(|cell| cell.offset.0 >= start && cell.end().0 <= last).collect();
        let mut moves = Vec::new();
        while let Some(at) = areas.iter().position(|(_, area)| !cells.contains(area)) {
            let is_free = |cell: &&Area| {
                areas.iter().all(|(_, area)| area.end() <= cell.offset || cell.end() <= area.offset)
            };
            let cell = *cells.iter().find(is_free)?;
            areas[at].1 = cell;
            moves.push((areas[at].0, cell));
        }
        Some(Self(moves))
    }

    /// The metadata after the moves.
    pub(super) fn outcome(&self, metadata: &Metadata) -> Result<Metadata> {
        let mut outcome = metadata.clone();
        for (number, area) in &self.0 {
            place(&mut outcome, *number, *area)?;
        }
        Ok(outcome)
    }

    /// Makes the moves. The lock must be held. Each move writes the material to free space, then
    /// writes the metadata, then wipes the old area.
    pub(super) fn run(self, luks: &mut Luks, rng: &mut dyn Random) -> Result<()> {
        self.0.into_iter().try_for_each(|(number, area)| move_area(luks, number, area, rng))
    }
}

fn move_area(luks: &mut Luks, number: u32, to: Area, rng: &mut dyn Random) -> Result<()> {
    let (binary, mut metadata) = luks2_parts(luks)?;
    let storage = luks.storage().clone();
    let from = place(&mut metadata, number, to)?;
    let mut material = vec![0; from.size.0 as usize];
    storage
        .read_at(&mut material, from.offset.0)
        .map_err(|source| Error::Io { what: format!("reading the material of keyslot {number}"), source })?;
    write_material(&*storage, to.offset.0, &material)?;
    commit_luks2(luks, binary, &metadata, rng)?;
    wipe_area(&*storage, from.offset.0..from.end().0, rng)
}

/// Gives a keyslot another area; returns its old one.
fn place(metadata: &mut Metadata, number: u32, to: Area) -> Result<Area> {
    let slot = metadata.keyslots.get(&number).cloned();
    let mut slot =
        slot.ok_or_else(|| Refusal::ChangedMeanwhile.because(format!("keyslot {number} is gone")))?;
    let from = std::mem::replace(&mut slot.area, to);
    metadata.replace_keyslot(number, &slot)?;
    Ok(from)
}
