//! What GRUB does with a volume, following the rules of its source code.

use super::{Outcome, PredictedKeyslot, Prediction, seconds};
use keyway_boot::loader::grub::{self, Disk, Judgement, Loader, Verdict, Version};
use keyway_boot::unlock_time::{Place, Rates, Work, Yardstick};
use keyway_crypto::Hash;
use keyway_format::luks2::Kdf;
use keyway_volume::{Storage, UnlockTimes};
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

    fn release(self) -> Version {
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
pub struct Finding(grub::Finding);

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
pub(super) fn predict(header: &dyn Storage, data_len: u64, version: GrubVersion) -> Prediction {
    let read = |offset: u64, len: usize| {
        offset.checked_add(len as u64).filter(|end| *end <= header.len())?;
        let mut bytes = vec![0; len];
        header.read_at(&mut bytes, offset).ok().map(|()| bytes)
    };
    let judgement = Loader::new(version.release()).judge(&Disk::new(&read, data_len));
    let rates = rates(&judgement, version.release());
    let keyslots = judgement.slots.iter().map(|slot| keyslot(slot, &judgement, &rates)).collect();
    Prediction {
        keyslots,
        refused: judgement.refused.map(Finding),
        notes: judgement.notes.into_iter().map(Finding).collect(),
        modules: judgement.modules,
    }
}

fn keyslot(slot: &grub::Slot, judgement: &Judgement, rates: &Rates) -> PredictedKeyslot {
    let total = |works: Vec<&Work>| {
        let each = rates.each_slot * works.len() as f64 / 2.0;
        rates.total(works).and_then(|sum| seconds(sum + each))
    };
    PredictedKeyslot {
        number: u32::try_from(slot.number).unwrap_or(u32::MAX),
        outcome: match slot.verdict.clone() {
            Verdict::Opens => Outcome::Opens,
            Verdict::Cannot(finding) => Outcome::Cannot(Finding(finding)),
            Verdict::SaysInvalidPassphrase(finding) => Outcome::SaysInvalidPassphrase(Finding(finding)),
        },
        time: total(slot.works.iter().collect()),
        in_turn: total(judgement.works_until(slot.number)),
    }
}

/// The speed of GRUB in firmware, on a CPU like this one.
fn rates(judgement: &Judgement, version: Version) -> Rates {
    // The best of three, so that the load of other programs does not count.
    let once = |_| {
        UnlockTimes::new(1)
            .of_pbkdf2(Hash::Sha512, SAMPLE, 64)
            .map_or(0.0, |time| f64::from(SAMPLE) / time.as_secs_f64())
    };
    let sha512 = (0..3).map(once).fold(0.0, f64::max);
    let mut times = UnlockTimes::new(1);
    let argon2 = judgement.slots.iter().flat_map(|slot| &slot.works).filter_map(|work| match work {
        Work::Argon2 { time, memory_kib, .. } => {
            let (time, memory_kib) = (*time as u32, *memory_kib as u32);
            let kdf = Kdf::Argon2id { time, memory_kib, lanes: 1, salt: Vec::new() };
            let took = times.of_kdf(&kdf, 64).ok()?.as_secs_f64().max(1e-9);
            Some(f64::from(time) * f64::from(memory_kib) / took)
        }
        Work::Pbkdf2 { .. } => None,
    });
    let argon2_one_lane = argon2.reduce(f64::min);
    Yardstick { sha512, argon2_one_lane }.grub(version, Place::Firmware)
}

const SAMPLE: u32 = 100_000;
