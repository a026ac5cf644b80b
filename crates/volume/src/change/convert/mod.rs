//! Converts LUKS1 to LUKS2 and back, in place; the device has a valid header at any time.
//!
//! Key material stays where it is, except for a LUKS1 keyslot in the place of LUKS2's header
//! copies: its material is first copied to an unused slot's area. Then the new header is written
//! around the old one, so that the old header is valid until one last small write, and the new one
//! after it.

mod areas;
mod to_luks1;
mod to_luks2;

pub use to_luks1::to_luks1;
pub(crate) use to_luks2::segment as data_segment;
pub use to_luks2::to_luks2;

use crate::{Error, Refusal, Result, Storage};
use std::ops::Range;

/// Writes a piece of a header and waits until it is on stable storage.
fn write(storage: &dyn Storage, bytes: &[u8], range: Range<usize>) -> Result<()> {
    let io = |doing: &str, source| Error::Io {
        what: format!("{doing} the converted header at offset {}", range.start),
        source,
    };
    let piece = &bytes[range.clone()];
    storage.write_at(piece, range.start as u64).map_err(|source| io("writing", source))?;
    storage.flush().map_err(|source| io("flushing", source))
}

fn refused(why: impl Into<String>) -> Error {
    Refusal::NotConvertible.because(why)
}
