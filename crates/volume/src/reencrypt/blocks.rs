//! Larger encryption sectors: what a volume holds may count in smaller blocks, and could not be mounted
//! from them any more ("bad block size 1024").

use super::metadata;
use crate::device::probe;
use crate::header::layout::Mapping;
use crate::{Layout, Luks, MappedSegment, Result, Storage, Volume};
use keyway_crypto::{Cpu, Secret};
use std::sync::Arc;

/// What a volume holds that counts in blocks smaller than `sector` bytes: its name in blkid, and its block
/// size. `key` is the volume's; no re-encryption is under way.
///
/// # Errors
/// A header that contradicts itself or its device; the device's.
pub fn smaller_blocks(
    luks: &Luks,
    data: Arc<dyn Storage>,
    key: &Secret,
    sector: u32,
) -> Result<Option<(&'static str, u32)>> {
    let layout = Layout::of_luks2(metadata(luks)?)?;
    Ok(probe::too_small_for(&Volume::new(data, &layout, key, Cpu::detect())?, sector))
}

/// As [`smaller_blocks`], of plaintext that begins at byte `offset` of the device.
///
/// # Errors
/// Those of [`smaller_blocks`].
pub fn smaller_blocks_of_plaintext(
    data: Arc<dyn Storage>,
    offset: u64,
    sector: u32,
) -> Result<Option<(&'static str, u32)>> {
    let plaintext = plaintext(data, offset, None)?;
    Ok(probe::too_small_for(&plaintext, sector))
}

/// The device from byte `offset` on, as it is; `len` is the part of it that is data, if that is not all.
pub(super) fn plaintext(data: Arc<dyn Storage>, offset: u64, len: Option<u64>) -> Result<Volume> {
    let segment = MappedSegment {
        plaintext_start: 0,
        length: len,
        storage_offset: offset,
        mapping: Mapping::Linear,
        second_key: false,
    };
    let layout = Layout::new(vec![segment]);
    Volume::new(data, &layout, &Secret::zeroed(0), Cpu::detect())
}
