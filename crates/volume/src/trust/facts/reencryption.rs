//! A re-encryption that is under way.

use crate::Header;
use crate::UnderWay;
use keyway_format::luks2::reencryption::Resilience;
use std::ops::Range;

/// A re-encryption that is under way, and how far it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reencryption {
    /// "reencrypt", "encrypt", "decrypt".
    pub mode: &'static str,
    /// "forward", "backward".
    pub direction: &'static str,
    /// "checksum", "journal", "none", "datashift" …
    pub resilience: &'static str,
    /// The version of the requirement that declares it: 1, 2 or 3.
    pub version: u8,
    /// Bytes of plaintext that are done.
    pub done: u64,
    /// Bytes of plaintext; `None` where the device does not fit.
    pub len: Option<u64>,
    /// The bytes that were being written when it was cut off.
    pub hot_zone: Option<Range<u64>>,
    /// Whether these can be recovered.
    pub is_recoverable: bool,
}

impl Reencryption {
    /// The programs that can go on with it: cryptsetup takes each version since another release. One of
    /// version 1 has to be repaired first (CVE-2021-4122).
    pub fn who_goes_on(&self) -> Vec<&'static str> {
        match self.version {
            _ if !self.is_recoverable => Vec::new(),
            1 => vec!["after repair: keyway", "after repair: cryptsetup 2.4.3 or newer"],
            2 => vec!["keyway", "cryptsetup 2.4.3 or newer"],
            _ => vec!["keyway", "cryptsetup 2.5.0 or newer"],
        }
    }

    /// What the header says of one on a data device of so many bytes; why that cannot be, in words.
    pub(super) fn of(header: &Header, data_len: u64) -> Result<Option<Self>, String> {
        let found = UnderWay::of(header).map_err(|why| why.to_string())?;
        Ok(found.map(|found| {
            let (what, len) = (found.what(), found.len_on(data_len));
            Self {
                mode: what.mode.name(),
                direction: what.direction.name(),
                resilience: what.resilience.name(),
                version: what.version,
                done: found.done(len.unwrap_or(data_len)),
                len,
                hot_zone: found.hot_zone().cloned(),
                is_recoverable: found.hot_zone().is_none() || what.resilience != Resilience::None,
            }
        }))
    }
}
