//! What deserves attention, in words.

use crate::output::cure;
use keyway::facts::{Concern, Facts};
use keyway_format::luks2::{Copy, Kdf};

/// What may be a danger: one sentence each, the most pressing first.
pub(super) fn warnings(facts: &Facts, concerns: &[Concern]) -> Vec<String> {
    let dangers = concerns.iter().filter(|concern| !concern.is_remark());
    dangers.map(|concern| sentence(facts, concern)).collect()
}

/// What is worth knowing.
pub(super) fn remarks(facts: &Facts, concerns: &[Concern]) -> Vec<String> {
    let remarks = concerns.iter().filter(|concern| concern.is_remark());
    remarks.map(|concern| sentence(facts, concern)).collect()
}

fn sentence(facts: &Facts, concern: &Concern) -> String {
    match concern {
        Concern::NotOpened(finding) => format!("It is not opened: {finding}."),
        Concern::NotTried(number, why) => format!("Keyslot {number} is not opened: {why}."),
        Concern::DamagedCopy(copy) => {
            let copy = if *copy == Copy::Primary { "primary" } else { "secondary" };
            format!("The {copy} header copy is damaged; opening the volume repairs it.")
        }
        Concern::ImpossibleReencryption(why) => {
            format!("It is not opened: its reencryption metadata is inconsistent: {why}.")
        }
        Concern::LostZone(lost) => format!(
            "Bytes {} to {} were being written when the reencryption was interrupted, and nothing was kept to \
             recover them from: it can be neither opened nor resumed.",
            lost.start, lost.end
        ),
        Concern::Requires(name) => {
            format!("It requires \"{name}\", which this build does not know: it cannot be opened.")
        }
        Concern::Truncated { end, device_len } => {
            format!("The data ends at byte {end}, the device at {device_len}: it has been truncated.")
        }
        Concern::NoRoom => "There is no room for data after the header.".to_owned(),
        Concern::UnknownCipher(why) => format!("This build cannot decrypt it: {why}."),
        Concern::Watermarks { cipher } => {
            format!("{cipher} lets an attacker recognise a file of their choice on disk; XTS does not.")
        }
        Concern::RepeatedIv => "The IV \"plain\" repeats after 2 TiB.".to_owned(),
        Concern::NoKeyslot => "No keyslot opens it: only the volume key does.".to_owned(),
        Concern::Cheap { keyslot, kdf, least_iterations } => {
            cheap(facts.version, *keyslot, kdf, *least_iterations)
        }
        Concern::Expensive { keyslot, memory_kib } => format!(
            "Keyslot {keyslot} needs {memory_kib} KiB of memory, more than half of what is available here; \
             --memory-budget {memory_kib}K allows it."
        ),
        Concern::LongUnderOneKey { .. } | Concern::SmallSectors => {
            cure::sentence(concern).unwrap_or_default()
        }
    }
}

fn cheap(version: u8, keyslot: u32, kdf: &Kdf, least_iterations: Option<u32>) -> String {
    let cost = match kdf {
        Kdf::Pbkdf2 { iterations, .. } => format!("{iterations} iterations"),
        Kdf::Argon2i { time, memory_kib, .. } | Kdf::Argon2id { time, memory_kib, .. } => {
            format!("{time} passes over {memory_kib} KiB")
        }
    };
    let least = match least_iterations {
        Some(least) => format!("{least} iterations"),
        None => "2 passes over 19 MiB".to_owned(),
    };
    let remedy = if version == 1 { "luksChangeKey" } else { "luksConvertKey" };
    format!(
        "Keyslot {keyslot} is cheap to guess: {cost}, where at least {least} are recommended; {remedy} raises the cost."
    )
}
