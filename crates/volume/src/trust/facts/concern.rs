//! Facts about a volume that deserve attention.

use super::{Content, Copies, Facts, Keyslot, Segment};
use crate::trust::admission::{self, Finding, Rule};
use crate::{DataDevice, Luks, UnlockOptions};
use keyway_crypto::kdf::least;
use keyway_crypto::{CipherSpec, Hash};
use keyway_format::luks2::reencryption::is_requirement;
use keyway_format::luks2::{Copy, Kdf};
use std::ops::Range;

/// A fact that deserves attention.
#[derive(Debug, Clone, PartialEq)]
pub enum Concern {
    /// Opening it would be refused.
    NotOpened(Finding),
    /// A keyslot that is not tried, and why.
    NotTried(u32, String),
    /// A header copy that opening the volume would repair.
    DamagedCopy(Copy),
    /// What it says of a re-encryption cannot be.
    ImpossibleReencryption(String),
    /// The bytes that were being written when a re-encryption was cut off are lost.
    LostZone(Range<u64>),
    /// It requires a feature that this build does not know.
    Requires(String),
    /// The device ends before the data does.
    Truncated {
        /// Where the data ends, in bytes.
        end: u64,
        /// Where the device ends.
        device_len: u64,
    },
    /// The device ends where the data starts.
    NoRoom,
    /// A cipher that this build does not have.
    UnknownCipher(keyway_crypto::Error),
    /// CBC with IVs that anybody can compute: content of an attacker's choice can be recognised.
    Watermarks {
        /// As the header names it.
        cipher: String,
    },
    /// More data than the 32-bit IV "plain" has values for.
    RepeatedIv,
    /// No keyslot opens the data.
    NoKeyslot,
    /// A keyslot whose passphrase is cheaper to guess than OWASP's password storage guide
    /// recommends.
    Cheap {
        /// Its number.
        keyslot: u32,
        /// Its key derivation.
        kdf: Kdf,
        /// The iterations that are recommended for PBKDF2 with its hash.
        least_iterations: Option<u32>,
    },
    /// A keyslot that needs more memory than this machine allows by default.
    Expensive {
        /// Its number.
        keyslot: u32,
        /// The memory that it needs.
        memory_kib: u32,
    },
    /// More data under one XTS key than IEEE 1619-2025 advises (1 TiB).
    LongUnderOneKey {
        /// Bytes.
        len: u64,
        /// Also more than it allows (256 TiB).
        is_beyond_all: bool,
    },
    /// Encryption sectors of 512 bytes on a device that has sectors of 4096.
    SmallSectors,
}

impl Concern {
    /// The concerns about a volume, the most pressing first.
    pub fn all(facts: &Facts, luks: &Luks, data: DataDevice) -> Vec<Self> {
        let mut found = of_admission(luks, data);
        if let Copies::Damaged { copy, .. } = facts.copies {
            found.push(Self::DamagedCopy(copy));
        }
        match &facts.reencryption {
            Ok(None) => found.extend(facts.requirements.iter().cloned().map(Self::Requires)),
            Ok(Some(under_way)) => {
                let lost = under_way.hot_zone.clone().filter(|_| !under_way.is_recoverable);
                found.extend(lost.map(Self::LostZone));
                let others = facts.requirements.iter().filter(|name| !is_requirement(name));
                found.extend(others.cloned().map(Self::Requires));
            }
            Err(why) => found.push(Self::ImpossibleReencryption(why.clone())),
        }
        found.extend(facts.segments.iter().flat_map(|segment| of_segment(segment, data.len)));
        if !facts.keyslots.iter().any(|keyslot| !keyslot.unbound && keyslot.derivation.is_ok()) {
            found.push(Self::NoKeyslot);
        }
        found.extend(facts.keyslots.iter().filter_map(cheap));
        found.extend(facts.keyslots.iter().filter_map(expensive));
        found
    }
}

/// Why opening the volume would be refused.
fn of_admission(luks: &Luks, data: DataDevice) -> Vec<Concern> {
    let findings = admission::findings(luks, Some(data)).into_iter();
    // A truncated volume is a concern of its own.
    let findings =
        findings.filter(|found| !matches!(found.rule, Rule::BeyondDevice { .. } | Rule::NoRoom { .. }));
    let forged = admission::forged_keyslots(luks).into_iter();
    findings.map(Concern::NotOpened).chain(forged.map(|(n, why)| Concern::NotTried(n, why))).collect()
}

fn of_segment(segment: &Segment, device_len: u64) -> Vec<Concern> {
    let mut found = Vec::new();
    let end = segment.offset.saturating_add(segment.len);
    if end > device_len {
        found.push(Concern::Truncated { end, device_len });
    } else if segment.len == 0 {
        found.push(Concern::NoRoom);
    }
    let Content::Encrypted { cipher, .. } = &segment.content else { return found };
    if let Err(why) = CipherSpec::parse(cipher) {
        found.push(Concern::UnknownCipher(why));
    }
    let mode = cipher.split_once('-').map_or("", |(_, mode)| mode);
    if mode.starts_with("cbc-plain") {
        found.push(Concern::Watermarks { cipher: cipher.clone() });
    }
    if mode.ends_with("-plain") && segment.len > PLAIN_IV_LIMIT {
        found.push(Concern::RepeatedIv);
    }
    found
}

fn cheap(keyslot: &Keyslot) -> Option<Concern> {
    let kdf = &keyslot.derivation.as_ref().ok()?.kdf;
    let least_iterations = match kdf {
        Kdf::Pbkdf2 { hash, iterations, .. } => {
            let least = Hash::find(hash).and_then(least::pbkdf2)?;
            (*iterations < least).then_some(Some(least))?
        }
        Kdf::Argon2i { time, memory_kib, .. } | Kdf::Argon2id { time, memory_kib, .. } => {
            (u64::from(*time) * u64::from(*memory_kib) < least::ARGON2).then_some(None)?
        }
    };
    Some(Concern::Cheap { keyslot: keyslot.number, kdf: kdf.clone(), least_iterations })
}

fn expensive(keyslot: &Keyslot) -> Option<Concern> {
    let kdf = &keyslot.derivation.as_ref().ok()?.kdf;
    let (Kdf::Argon2i { memory_kib, .. } | Kdf::Argon2id { memory_kib, .. }) = kdf else { return None };
    let (keyslot, memory_kib) = (keyslot.number, *memory_kib);
    let budget = UnlockOptions::default().memory_budget_kib;
    (u64::from(memory_kib) > budget).then_some(Concern::Expensive { keyslot, memory_kib })
}

/// 2^32 sectors of 512 bytes.
const PLAIN_IV_LIMIT: u64 = 2 << 40;
