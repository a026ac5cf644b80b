//! What GRUB does with a volume, following the rules of its source code.

use super::{Outcome, Tried};
use keyway_boot::loader::grub::{self, Judgement, Loader, Verdict, Version};
use keyway_volume::Storage;
use std::fmt;

/// A GRUB release whose behaviour is known; a distribution's own build may differ. See
/// [`Machine`](crate::Machine) for an example.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
#[non_exhaustive]
pub enum GrubVersion {
    V2_06,
    V2_12,
    V2_14,
}

impl GrubVersion {
    pub(super) const ALL: [Self; 3] = [Self::V2_06, Self::V2_12, Self::V2_14];

    /// Its name in the list of machines.
    pub(super) fn machine(self) -> &'static str {
        match self {
            Self::V2_06 => "grub-2.06",
            Self::V2_12 => "grub-2.12",
            Self::V2_14 => "grub-2.14",
        }
    }

    pub(super) fn release(self) -> Version {
        match self {
            Self::V2_06 => Version::V2_06,
            Self::V2_12 => Version::V2_12,
            Self::V2_14 => Version::V2_14,
        }
    }
}

impl fmt::Display for GrubVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.release().fmt(f)
    }
}

/// A rule of GRUB that applies to a volume. See [`Device::predict`](crate::Device::predict) for an
/// example.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding(pub(super) grub::Finding);

impl Finding {
    /// Its name, stable across versions of this library. See
    /// [`Device::predict`](crate::Device::predict) for an example.
    pub fn rule(&self) -> &'static str {
        self.0.rule.id
    }

    /// File and function in GRUB's source code. See [`Device::predict`](crate::Device::predict) for
    /// an example.
    pub fn source(&self) -> &'static str {
        self.0.rule.source
    }
}

/// Prints the end of a sentence that begins with "because".
impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// `data_len` is the length of the data device.
pub(super) fn judge(header: &dyn Storage, data_len: u64, version: GrubVersion) -> Judgement {
    let read = |bytes: &mut [u8], at: u64| header.read_at(bytes, at);
    Loader::new(version.release()).judge_header(header.len(), &read, data_len)
}

pub(super) fn keyslots(judgement: &Judgement) -> Vec<Tried> {
    judgement.slots.iter().map(tried).collect()
}

fn tried(slot: &grub::Slot) -> Tried {
    let outcome = match slot.verdict.clone() {
        Verdict::Opens => Outcome::Opens,
        Verdict::Cannot(finding) => Outcome::Cannot(Finding(finding)),
        Verdict::SaysInvalidPassphrase(finding) => Outcome::SaysInvalidPassphrase(Finding(finding)),
    };
    Tried { number: u32::try_from(slot.number).unwrap_or(u32::MAX), outcome, works: slot.works.clone() }
}
