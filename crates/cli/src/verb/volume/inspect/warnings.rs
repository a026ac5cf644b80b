//! Facts about a volume that deserve attention.

use super::facts::{Facts, HeaderState, Keyslot};
use keyway_crypto::CipherSpec;
use keyway_format::luks2::{Copy, Kdf};
use keyway_volume::admission::{self, Rule};
use keyway_volume::{DataDevice, Luks, UnlockOptions};

/// One sentence each, most pressing first.
pub(super) fn of(facts: &Facts, device_len: u64) -> Vec<String> {
    let mut warnings = Vec::new();
    if let HeaderState::Damaged { copy, .. } = facts.header {
        let copy = if copy == Copy::Primary { "primary" } else { "secondary" };
        warnings.push(format!("The {copy} header copy is damaged; opening the volume repairs it."));
    }
    for name in &facts.requirements {
        warnings
            .push(format!("It requires \"{name}\", which this build does not know: it cannot be opened."));
    }
    warnings.extend(facts.segments.iter().flat_map(|s| segment(s, device_len)));
    if !facts.keyslots.iter().any(|k| !k.unbound && k.kdf.is_ok()) {
        warnings.push("No keyslot opens it: only the volume key does.".to_owned());
    }
    warnings.extend(facts.keyslots.iter().filter_map(|k| cheap(k, facts.version)));
    warnings.extend(facts.keyslots.iter().filter_map(expensive));
    warnings
}

/// Why opening the volume would be refused.
pub(super) fn of_admission(luks: &Luks, data: DataDevice) -> Vec<String> {
    let mut warnings: Vec<String> = admission::findings(luks, Some(data))
        .iter()
        // A truncated volume has a warning of its own.
        .filter(|found| !matches!(found.rule, Rule::BeyondDevice { .. } | Rule::NoRoom { .. }))
        .map(|found| format!("It is not opened: {found}."))
        .collect();
    let forged = admission::forged_keyslots(luks);
    warnings.extend(forged.iter().map(|(number, why)| format!("Keyslot {number} is not opened: {why}.")));
    warnings
}

fn segment(segment: &super::facts::Segment, device_len: u64) -> Vec<String> {
    let mut warnings = Vec::new();
    let end = segment.offset.saturating_add(segment.length);
    if end > device_len {
        warnings
            .push(format!("The data ends at byte {end}, the device at {device_len}: it has been truncated."));
    } else if segment.length == 0 {
        warnings.push("There is no room for data after the header.".to_owned());
    }
    if !segment.encrypted {
        return warnings;
    }
    let spec = segment.cipher.split(' ').next().unwrap_or_default();
    if let Err(why) = CipherSpec::parse(spec) {
        warnings.push(format!("This build cannot decrypt it: {why}."));
    }
    let mode = spec.split_once('-').map_or("", |(_, mode)| mode);
    if mode.starts_with("cbc-plain") {
        warnings
            .push(format!("{spec} lets an attacker recognise a file of their choice on disk; XTS does not."));
    }
    if mode.ends_with("-plain") && segment.length > PLAIN_IV_LIMIT {
        warnings.push("The IV \"plain\" repeats after 2 TiB.".to_owned());
    }
    warnings
}

/// A keyslot whose passphrase is cheaper to guess than OWASP's password storage guide recommends.
fn cheap(keyslot: &Keyslot, version: u8) -> Option<String> {
    let (cost, least) = match keyslot.kdf.as_ref().ok()? {
        Kdf::Pbkdf2 { hash, iterations, .. } => {
            let (_, least) = PBKDF2_LEAST.iter().find(|(name, _)| name == hash)?;
            if iterations >= least {
                return None;
            }
            (format!("{iterations} iterations"), format!("{least} iterations"))
        }
        Kdf::Argon2i { time, memory_kib, .. } | Kdf::Argon2id { time, memory_kib, .. } => {
            if u64::from(*time) * u64::from(*memory_kib) >= ARGON2_LEAST {
                return None;
            }
            (format!("{time} passes over {memory_kib} KiB"), "2 passes over 19 MiB".to_owned())
        }
    };
    let remedy = if version == 1 { "luksChangeKey" } else { "luksConvertKey" };
    Some(format!(
        "Keyslot {} is cheap to guess: {cost}, where at least {least} are recommended; {remedy} raises the cost.",
        keyslot.number
    ))
}

/// A keyslot that needs more memory than this machine has.
fn expensive(keyslot: &Keyslot) -> Option<String> {
    let (Kdf::Argon2i { memory_kib, .. } | Kdf::Argon2id { memory_kib, .. }) = keyslot.kdf.as_ref().ok()?
    else {
        return None;
    };
    let budget = UnlockOptions::default().memory_budget_kib;
    (u64::from(*memory_kib) > budget).then(|| {
        format!(
            "Keyslot {} needs {memory_kib} KiB of memory, more than half of what is available here; \
             --memory-budget {memory_kib}K allows it.",
            keyslot.number
        )
    })
}

/// OWASP Password Storage Cheat Sheet, PBKDF2.
const PBKDF2_LEAST: [(&str, u32); 3] = [("sha256", 600_000), ("sha512", 210_000), ("sha1", 1_300_000)];
/// OWASP Password Storage Cheat Sheet, Argon2id: KiB times passes.
const ARGON2_LEAST: u64 = 19 * 1024 * 2;
/// 2^32 sectors of 512 bytes.
const PLAIN_IV_LIMIT: u64 = 2 << 40;
