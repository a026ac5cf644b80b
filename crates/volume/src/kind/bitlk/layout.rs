//! Where the plaintext is, as cryptsetup maps it (lib/bitlk, `_activate`).
//!
//! ```text
//! plaintext   first sectors │ data …  │ zeros    │ data …  │ zeros          │ … │ not encrypted
//! device      boot sector … │ data …  │ metadata │ data …  │ first sectors  │ … │ as it is
//!                   └─ read from where they were moved to ──────┘
//! ```
//!
//! A sector's IV is its number on the device, also that of a moved one; volumes with sectors of 4096 bytes number these.

use super::state::Extent;
use super::{Header, cipher_spec};
use crate::{Error, Layout, MappedSegment, Mapping, Refusal, Result};
use keyway_crypto::SectorSize;
use keyway_format::Bytes;
use keyway_format::bitlk::METADATA_LEN;
use std::ops::Range;

/// The layout on a device of `device_len` bytes.
///
/// # Errors
/// The volume cannot be opened; what its metadata say is not within the device, or overlaps.
pub(super) fn layout(header: &Header, extent: Extent, device_len: u64) -> Result<Layout> {
    let sector = header.boot.sector_size.0;
    let end = device_len - device_len % sector;
    let moved = header.metadata.boot_sectors;
    let moved = moved.ok_or_else(|| refused("the metadata do not locate its first sectors".into()))?;
    let copies = copies(header)?.map(|at| (at.0, METADATA_LEN as u64, "a copy of the metadata"));
    let [one, two, three] = copies;
    let first_sectors = (moved.offset.0, moved.len.0, "the first sectors");
    let hidden = hidden([one, two, three, first_sectors], moved.len.0, sector, end)?;
    let mapping = Mapping::Crypt {
        spec: cipher_spec(header)?,
        sector_size: SectorSize::new(sector as u32)?,
        iv_tweak: 0,
        iv_large_sectors: sector != SectorSize::S512.bytes() as u64,
    };
    let boundary = match extent {
        Extent::All => end,
        Extent::Until(byte) if byte.is_multiple_of(sector) => byte.min(end),
        Extent::Until(byte) => {
            return Err(refused(format!("it is encrypted up to byte {byte}, in the middle of a sector")));
        }
    };
    let mut segments = Segments::new(mapping, boundary);
    segments.map(0..moved.len.0, moved.offset.0);
    segments.map_around(moved.len.0, hidden, end);
    Ok(Layout::new(segments.into_list()))
}

/// Where the copies of the metadata are. They say so themselves: nobody vouches for the boot sector.
pub(super) fn copies(header: &Header) -> Result<[Bytes; 3]> {
    let (own, boot) = (header.metadata.copies, header.copies.each_ref().map(|(at, _)| *at));
    if own == boot {
        return Ok(own);
    }
    let [own, boot] = [own, boot].map(|[one, two, three]| format!("{}, {} and {}", one.0, two.0, three.0));
    Err(refused(format!("its metadata place their copies at bytes {own}, its boot sector at {boot}")))
}

/// What reads as zeros, by place, behind the `first` bytes of the volume: areas by their start, length and name.
///
/// # Errors
/// One is not within the first `end` bytes of the device, not in whole sectors, or overlaps another.
pub(super) fn hidden<const N: usize>(
    areas: [(u64, u64, &str); N],
    first: u64,
    sector: u64,
    end: u64,
) -> Result<[Range<u64>; N]> {
    for (at, len, what) in areas {
        if at.checked_add(len).is_none_or(|area_end| area_end > end) || len == 0 {
            return Err(refused(format!("{what}: {len} bytes at byte {at} are not within its {end} bytes")));
        }
        if !at.is_multiple_of(sector) || !len.is_multiple_of(sector) {
            return Err(refused(format!(
                "{what}: {len} bytes at byte {at} are not whole sectors of {sector}"
            )));
        }
    }
    let mut hidden = areas.map(|(at, len, _)| at..at + len);
    hidden.sort_by_key(|area| area.start);
    let before = std::iter::once(&(0..first)).chain(&hidden).map(|area| area.end).collect::<Vec<_>>();
    for (area, end_before) in hidden.iter().zip(before) {
        if area.start < end_before {
            return Err(refused(format!(
                "the area at byte {} overlaps the one that ends at byte {end_before}",
                area.start
            )));
        }
    }
    Ok(hidden)
}

/// Segments in the making.
pub(super) struct Segments {
    list: Vec<MappedSegment>,
    mapping: Mapping,
    /// The first byte of the device that is not encrypted.
    boundary: u64,
}

impl Segments {
    /// Encrypted so up to the boundary.
    pub(super) fn new(mapping: Mapping, boundary: u64) -> Self {
        Self { list: Vec::new(), mapping, boundary }
    }

    /// All of them.
    pub(super) fn into_list(self) -> Vec<MappedSegment> {
        self.list
    }

    /// Maps what is from `at` to `end` to its own place, but for the hidden areas there.
    pub(super) fn map_around<const N: usize>(&mut self, mut at: u64, hidden: [Range<u64>; N], end: u64) {
        for area in hidden {
            self.map(at..area.start, at);
            self.push(area.clone(), area.start, Mapping::Zero);
            at = area.end;
        }
        self.map(at..end, at);
    }

    /// Maps a range of the plaintext to the device from `storage` on, encrypted up to the boundary.
    pub(super) fn map(&mut self, plain: Range<u64>, storage: u64) {
        let encrypted = self.boundary.saturating_sub(storage).min(plain.end - plain.start);
        let (head, tail) = (plain.start..plain.start + encrypted, plain.start + encrypted..plain.end);
        let mut mapping = self.mapping.clone();
        if let Mapping::Crypt { iv_tweak, .. } = &mut mapping {
            *iv_tweak = storage / SectorSize::S512.bytes() as u64;
        }
        self.push(head, storage, mapping);
        self.push(tail, storage + encrypted, Mapping::Linear);
    }

    /// Adds a segment.
    pub(super) fn push(&mut self, plain: Range<u64>, storage_offset: u64, mapping: Mapping) {
        if !plain.is_empty() {
            let length = Some(plain.end - plain.start);
            let plaintext_start = plain.start;
            self.list.push(MappedSegment {
                plaintext_start,
                length,
                storage_offset,
                mapping,
                second_key: false,
            });
        }
    }
}

pub(super) fn refused(why: String) -> Error {
    Refusal::Geometry.because(format!("the BitLocker volume cannot be mapped: {why}"))
}
