//! Whether a device can hold what a re-encryption does to it.

use crate::{Refusal, Result};
use keyway_crypto::Hash;
use keyway_format::luks2::reencryption::{END, MovedResilience, Resilience, State};
use keyway_format::luks2::{Area, Reencryption, SegmentSize};

/// The length of the volume in bytes: as the header says, or to the end of a device of `device_len`
/// bytes, where a part of a sector is not part of the volume.
///
/// # Errors
/// [`Refusal::Geometry`], with the figure.
pub(crate) fn volume_len(what: &Reencryption, state: &State, device_len: u64) -> Result<u64> {
    let refuse = |why: String| Err(Refusal::Geometry.because(why));
    let start = what.old.segment.offset.0.max(what.new.segment.offset.0);
    let known = match (state.total, what.old.segment.size) {
        (END, SegmentSize::Fixed(size)) => Some(size.0),
        (END, SegmentSize::Dynamic) => None,
        (total, _) => Some(total),
    };
    let len = match known {
        Some(len) => len,
        None => match device_len.checked_sub(start) {
            Some(len) => len,
            None => {
                return refuse(format!(
                    "the data starts at byte {start}, but the device ends at {device_len}"
                ));
            }
        },
    };
    let sector = u64::from(what.sector_size());
    let len = if known.is_none() { len - len % sector } else { len };
    if len == 0 || !len.is_multiple_of(sector) {
        return refuse(format!(
            "{len} bytes of data are not a multiple of the sector size of {sector} bytes"
        ));
    }
    let moved =
        what.moved.as_ref().map_or(0, |moved| moved.segment.offset.0.saturating_add(what.moved_len()));
    let old = what.old.segment.offset.0.saturating_add(len);
    // The first part of what is encrypted lies behind the rest, which is read below where it is written.
    let needs = old.max(what.new.segment.offset.0.saturating_add(len)).max(moved);
    if needs > device_len {
        return Err(crate::Error::TooShort { needs, has: device_len });
    }
    let done = state.done.end.min(state.total);
    if state.done.start > len
        || (done != END && done > len)
        || state.hot.as_ref().is_some_and(|hot| hot.end > len)
    {
        return refuse(format!("its segments end after the {len} bytes of data"));
    }
    Ok(len)
}

/// Refuses a device that ends inside a sector, where it is the device that says how long the volume is: that may be a
/// sector of which a part was cut off, or one that was never there. `len` is the volume's without it.
pub(crate) fn check_whole_sectors(
    what: &Reencryption,
    state: &State,
    len: u64,
    device_len: u64,
) -> Result<()> {
    let start = what.old.segment.offset.0.max(what.new.segment.offset.0);
    let rest = device_len.saturating_sub(start) - len;
    let is_open = state.total == END && what.old.segment.size == SegmentSize::Dynamic;
    if !is_open || rest == 0 {
        return Ok(());
    }
    let sector = what.sector_size();
    Err(Refusal::Geometry.because(format!(
        "the device ends inside a sector of {sector} bytes: restore the device's length or, if the volume is \
         not open, leave out its last {rest} bytes with --device-size {len}. Nothing was changed"
    )))
}

/// Refuses data over the header that describes it: `header_end` is where header and keyslots end
/// when they are on the data device, or 0.
pub(crate) fn check_header_stays(what: &Reencryption, header_end: u64) -> Result<()> {
    let (moved, new) = (what.moved_len(), what.new.segment.offset.0);
    // A volume that is shorter than its header has moved as a whole.
    let first = match what.old.segment.size {
        SegmentSize::Fixed(size) if what.moved.is_some() && size.0 <= moved => new,
        _ => what.old.segment.offset.0.saturating_add(moved).min(new),
    };
    if first < header_end {
        return Err(Refusal::Geometry.because(format!(
            "the data would start at byte {first}, over the header, which ends at {header_end}"
        )));
    }
    Ok(())
}

/// The largest hot zone that can be protected, in bytes.
///
/// # Errors
/// A hash that this build does not know.
pub(crate) fn largest_zone(what: &Reencryption) -> Result<u64> {
    Ok(match &what.resilience {
        Resilience::None => MOST,
        Resilience::Journal => what.area.size.0,
        Resilience::Checksum(checksum) => checksummed(what.area, &checksum.hash, checksum.block)?,
        Resilience::DataShift { shift, .. } => shift.0,
    }
    .min(MOST))
}

/// Makes sure that the part that was moved can be protected when it is decrypted in place.
pub(crate) fn check_moved_fits(what: &Reencryption) -> Result<()> {
    let Resilience::DataShift { moved, .. } = &what.resilience else { return Ok(()) };
    let room = match moved {
        MovedResilience::DataShift => return Ok(()),
        MovedResilience::Journal => what.area.size.0,
        MovedResilience::Checksum(checksum) => checksummed(what.area, &checksum.hash, checksum.block)?,
    };
    let needs = what.moved_len();
    if needs > room {
        return Err(Refusal::NoRoom.because(format!(
            "Moved segment too large. Requested size {needs}, available space for: {room}."
        )));
    }
    Ok(())
}

/// Refuses a state between whose parts a sector would be divided.
pub(crate) fn check_borders(what: &Reencryption, state: &State) -> Result<()> {
    let unit = u64::from(what.sector_size());
    let borders = [state.done.start, state.done.end, what.moved_len()];
    let hot = state.hot.iter().flat_map(|hot| [hot.start, hot.end]);
    match borders.into_iter().chain(hot).find(|at| *at < state.total && !at.is_multiple_of(unit)) {
        Some(at) => Err(Refusal::Geometry
            .because(format!("a segment ends at byte {at}, inside a sector of {unit} bytes"))),
        None => Ok(()),
    }
}

/// Refuses a hot zone that nothing can have protected.
pub(crate) fn check_hot_zone(what: &Reencryption, state: &State) -> Result<()> {
    let Some(hot) = &state.hot else { return Ok(()) };
    let (len, most) = (hot.end - hot.start, largest_zone(what)?);
    if hot.start >= what.moved_len() && len > most {
        return Err(Refusal::Geometry
            .because(format!("its hot zone has {len} bytes, but at most {most} can be protected")));
    }
    Ok(())
}

fn checksummed(area: Area, hash: &str, block: u32) -> Result<u64> {
    let len = Hash::parse(hash)?.output_len().max(1) as u64;
    Ok((area.size.0 / len).saturating_mul(block.into()))
}

/// No hot zone is larger, as in cryptsetup.
const MOST: u64 = 1 << 30;
