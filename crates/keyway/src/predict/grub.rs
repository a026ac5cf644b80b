//! What GRUB does with a volume, following the rules of its source code.

use super::{Outcome, Tried};
use keyway_boot::loader::grub::{self, Distribution, Judgement, Loader, Verdict, Version};
use keyway_crypto::kdf::speed::{self, KdfSpeed};
use keyway_volume::Storage;
use std::fmt;

/// A GRUB release whose behaviour is known. [`Machine::find`](crate::Machine::find) knows some distributions'
/// own builds, too. See [`Machine`](crate::Machine) for an example.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
#[non_exhaustive]
pub enum GrubVersion {
    V2_06,
    V2_12,
    V2_14,
}

impl GrubVersion {
    const ALL: [Self; 3] = [Self::V2_06, Self::V2_12, Self::V2_14];

    fn release(self) -> Version {
        match self {
            Self::V2_06 => Version::V2_06,
            Self::V2_12 => Version::V2_12,
            Self::V2_14 => Version::V2_14,
        }
    }
}

/// A release or a distribution's build, and how it was told to open volumes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Grub {
    version: Version,
    /// By `cryptomount -A`.
    accelerated: bool,
    distribution: Option<&'static Distribution>,
}

impl Grub {
    pub(super) const ACCELERATED: Self =
        Self { version: Version::V2_14, accelerated: true, distribution: None };

    pub(super) fn plain(version: GrubVersion) -> Self {
        Self { version: version.release(), accelerated: false, distribution: None }
    }

    fn of(distribution: &'static Distribution) -> Self {
        Self { version: distribution.version, accelerated: false, distribution: Some(distribution) }
    }

    pub(super) fn all() -> impl Iterator<Item = Self> {
        let releases = GrubVersion::ALL.into_iter().map(Self::plain).chain([Self::ACCELERATED]);
        releases.chain(Distribution::all().map(Self::of))
    }

    /// Its name in the list of machines.
    pub(super) fn machine(self) -> &'static str {
        self.distribution.map_or(self.speed().name, |it| it.name)
    }

    pub(super) fn speed(self) -> &'static KdfSpeed {
        match self.accelerated {
            true => &speed::GRUB_2_14_ACCEL,
            false => self.version.speed(),
        }
    }

    /// `data_len` is the length of the data device.
    pub(super) fn judge(self, header: &dyn Storage, data_len: u64) -> Judgement {
        let read = |bytes: &mut [u8], at: u64| header.read_at(bytes, at);
        let loader = self.distribution.map_or_else(|| Loader::new(self.version), Loader::of);
        loader.judge_header(header.len(), &read, data_len)
    }
}

impl fmt::Display for Grub {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.distribution {
            Some(it) => write!(f, "GRUB {} of {} in EFI firmware, the signed image", self.version, it.title),
            None if self.accelerated => write!(f, "GRUB {} in EFI firmware, by cryptomount -A", self.version),
            None => write!(f, "GRUB {} in firmware", self.version),
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
