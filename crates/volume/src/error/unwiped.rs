//! Key material that outlived its keyslot.

use std::fmt;
use std::io;
use std::ops::Range;

/// Key material that could not be overwritten.
#[derive(Debug)]
pub struct Unwiped {
    /// Whose it is.
    pub keyslot: u32,
    /// Where it is on the storage, in bytes.
    pub places: Vec<Range<u64>>,
    /// The first reason.
    pub source: io::Error,
}

impl fmt::Display for Unwiped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let place = |bytes: &Range<u64>| format!("bytes {} to {}", bytes.start, bytes.end - 1);
        let places: Vec<String> = self.places.iter().map(place).collect();
        write!(f, "keyslot {} ({}: {})", self.keyslot, places.join(", "), self.source)
    }
}
