//! Keyslot areas: their bounds, and the placement of new ones.

use super::field::Node;
use super::header::HeaderSize;
use crate::{Bytes, Error, af};
use alloc::format;
use alloc::vec::Vec;

/// Areas start and end on multiples of this.
pub const AREA_ALIGNMENT: Bytes = Bytes(4096);

/// A keyslot's area, in bytes from the start of the header device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Area {
    /// Its first byte.
    pub offset: Bytes,
    /// Its length.
    pub size: Bytes,
}

impl Area {
    pub(super) fn read(node: &Node<'_>) -> Result<Self, Error> {
        node.string("type")?;
        let area = Self { offset: Bytes(node.uint64("offset")?), size: Bytes(node.uint64("size")?) };
        if area.size.0 == 0 {
            return Err(node.refuse("size", "is zero"));
        }
        if area.offset.0.checked_add(area.size.0).is_none() {
            return Err(node.refuse("size", "ends beyond 64 bits"));
        }
        Ok(area)
    }

    /// The first byte after the area.
    pub const fn end(self) -> Bytes {
        Bytes(self.offset.0.saturating_add(self.size.0))
    }

    /// Bytes that the split key of `key_size` bytes takes, in whole sectors.
    pub fn material_size(key_size: u32) -> Bytes {
        Bytes((u64::from(key_size) * u64::from(af::STRIPES)).next_multiple_of(512))
    }

    /// The size of a new area for a key of `key_size` bytes: its material, rounded up to a multiple
    /// of 4096 bytes.
    pub fn size_for(key_size: u32) -> Bytes {
        Bytes(Self::material_size(key_size).0.next_multiple_of(AREA_ALIGNMENT.0))
    }

    fn overlaps(self, other: Self) -> bool {
        self.offset < other.end() && other.offset < self.end()
    }
}

/// Refuses areas outside the keyslots area, and areas that overlap.
pub(super) fn check(areas: &[(u32, Area)], header: HeaderSize, keyslots_size: Bytes) -> Result<(), Error> {
    let (start, end) = (header.keyslots_start(), keyslots_end(header, keyslots_size));
    for (index, &(id, area)) in areas.iter().enumerate() {
        let place = format!("keyslots.{id}.area");
        if area.offset < start || area.end() > end {
            let why = format!(
                "bytes {} to {} are not within {} to {}",
                area.offset.0,
                area.end().0,
                start.0,
                end.0
            );
            return Err(Error::invalid(place, why));
        }
        if let Some((other, _)) = areas[..index].iter().find(|(_, before)| before.overlaps(area)) {
            return Err(Error::invalid(place, format!("overlaps keyslots.{other}.area")));
        }
    }
    Ok(())
}

/// The first gap of `size` bytes, searched as in cryptsetup: from the start, then after each area
/// in turn.
pub(super) fn first_gap(
    mut used: Vec<Area>,
    size: Bytes,
    header: HeaderSize,
    keyslots_size: Bytes,
) -> Option<Area> {
    used.sort_by_key(|area| area.offset);
    let mut offset = header.keyslots_start();
    for area in used {
        if area.offset.0.saturating_sub(offset.0) >= size.0 {
            break;
        }
        offset = area.end().max(offset).round_up(AREA_ALIGNMENT)?;
    }
    let gap = Area { offset, size };
    (gap.end() <= keyslots_end(header, keyslots_size)).then_some(gap)
}

/// The largest gap, of those of the same size the first.
pub(super) fn largest_gap(mut used: Vec<Area>, header: HeaderSize, keyslots_size: Bytes) -> Option<Area> {
    used.sort_by_key(|area| area.offset);
    let end = keyslots_end(header, keyslots_size);
    let ends = used.iter().map(|area| area.end());
    let starts = used.iter().map(|area| area.offset).chain([end]);
    let gaps = core::iter::once(header.keyslots_start()).chain(ends).zip(starts).filter_map(|(from, to)| {
        let offset = from.round_up(AREA_ALIGNMENT)?;
        let size = to.0.checked_sub(offset.0)? / AREA_ALIGNMENT.0 * AREA_ALIGNMENT.0;
        (size > 0).then_some(Area { offset, size: Bytes(size) })
    });
    gaps.fold(None, |best: Option<Area>, gap| Some(best.filter(|best| best.size >= gap.size).unwrap_or(gap)))
}

const fn keyslots_end(header: HeaderSize, keyslots_size: Bytes) -> Bytes {
    Bytes(header.keyslots_start().0.saturating_add(keyslots_size.0))
}
