//! The data area that a header describes, on the data's device.

use super::Place;
use crate::{Layout, MappedSegment, Mapping, Refusal, Result};
use keyway_crypto::{Cascade, CipherSpec, Secret, SectorSize};
use keyway_format::tcrypt::{Cipher, DataArea, Header, Position, SECTOR};
use keyway_format::{Bytes, Sectors};
use std::ops::Range;

/// The area as one segment, on a device of `data_len` bytes.
pub(super) fn layout(area: DataArea, cipher: &Cipher, place: Place, data_len: u64) -> Result<Layout> {
    let area = match place {
        Place::System { partition: Some(start) } => part_of(area, start, data_len)?,
        _ => area,
    };
    let mapping = match cipher.dm_crypt() {
        Some(spec) => Mapping::Crypt {
            spec: CipherSpec::parse(&spec)?,
            sector_size: SectorSize::S512,
            iv_tweak: area.first,
            iv_large_sectors: false,
        },
        None => Mapping::Chain { ciphers: cipher.chain.into(), mode: cipher.mode, iv_tweak: area.first },
    };
    let segment = MappedSegment {
        plaintext_start: 0,
        length: area.len.map(|len| len.0),
        storage_offset: area.offset.0,
        mapping,
        second_key: false,
    };
    let layout = Layout::new(vec![segment]);
    layout.check_fits(data_len)?;
    Ok(layout)
}

/// The plaintext of the outer volume where the hidden one is, with its header if that is behind it.
pub(super) fn hidden(
    outer: &Layout,
    area: DataArea,
    position: Position,
    data_len: u64,
) -> Result<Range<u64>> {
    let around = outer.segments.first().expect("a volume is one segment");
    let end = around.storage_offset + around.length.unwrap_or(data_len - around.storage_offset);
    let from = area.offset.0;
    let to = match (position, area.len) {
        // Its header follows it (TrueCrypt 5 and earlier).
        (Position::OldHidden, _) | (_, None) => end,
        (_, Some(len)) => from.saturating_add(len.0),
    };
    if from < around.storage_offset || from >= to || to > end {
        return Err(Refusal::Geometry.because(format!(
            "the hidden volume is bytes {from} to {to} of the device, and the outer one bytes {} to {end}",
            around.storage_offset
        )));
    }
    Ok(from - around.storage_offset..to - around.storage_offset)
}

/// The key of [`layout`]'s mapping.
pub(super) fn volume_key(header: &Header, cipher: &Cipher) -> Result<Secret> {
    if cipher.dm_crypt().is_some() {
        return Ok(cipher.volume_key(header.keys())?);
    }
    let len = Cascade::key_len(cipher.chain, cipher.mode)?;
    Ok(Secret::copy_from(&header.keys().expose()[..len]))
}

/// The area's part that is a partition: IVs go on counting from the start of the disk.
fn part_of(area: DataArea, start: Sectors, data_len: u64) -> Result<DataArea> {
    let len = data_len / SECTOR * SECTOR;
    let start = start.0.saturating_mul(SECTOR);
    let (from, end) = (area.offset.0, area.len.map_or(u64::MAX, |len| area.offset.0 + len.0));
    if start < from || start.saturating_add(len) > end {
        return Err(Refusal::Geometry.because(format!(
            "the partition is bytes {start} to {} of its disk, which is encrypted from byte {from} to {end}",
            start.saturating_add(len)
        )));
    }
    Ok(DataArea { offset: Bytes(0), len: Some(Bytes(len)), first: start / SECTOR })
}
