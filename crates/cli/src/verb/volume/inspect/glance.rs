//! What `inspect` shows: the facts about a volume, with the times of this machine.

use crate::device::Target;
use keyway::facts::{Concern, Content, Facts, SealState, Segment};
use keyway::kdf_cost;
use keyway_crypto::CipherSpec;
use keyway_format::interval::Interval;

/// A volume at a glance.
pub(super) struct Glance {
    pub(super) device: String,
    pub(super) facts: Facts,
    /// Seconds that each keyslot takes to open on this machine; `None` if that cannot be measured.
    pub(super) times: Vec<Option<Interval>>,
    pub(super) seal: SealState,
    pub(super) concerns: Vec<Concern>,
    /// What goes on with a re-encryption that is under way.
    pub(super) resume: String,
}

impl Glance {
    /// Measures how long the keyslots take.
    pub(super) fn measured(target: &Target, facts: Facts, seal: SealState, concerns: Vec<Concern>) -> Self {
        let device = target.device.display().to_string();
        let header = target.header.as_ref().map(|header| format!("--header {} ", header.display()));
        let resume = format!("keyway reencrypt --resume-only {}{device}", header.unwrap_or_default());
        let mut times = kdf_cost::unlock_times(None);
        let times = facts.keyslots.iter().map(|keyslot| times.of_keyslot(keyslot)).collect();
        Self { device, facts, times, seal, concerns, resume }
    }

    /// The cipher of the first encrypted segment in words: "AES-256 in XTS mode".
    pub(super) fn cipher_in_words(&self) -> Option<String> {
        let cipher = self.facts.segments.iter().find_map(|segment| match &segment.content {
            Content::Encrypted { cipher, .. } => Some(cipher),
            Content::Linear | Content::Other(_) => None,
        });
        let spec = CipherSpec::parse(cipher?).ok()?;
        let (name, mode) = (spec.cipher_name(), spec.mode_name());
        let mode = mode.split('-').next().unwrap_or_default().to_ascii_uppercase();
        let bits = self.facts.key_bits.map(|bits| if mode == "XTS" { bits / 2 } else { bits });
        let bits = bits.map(|bits| format!("-{bits}")).unwrap_or_default();
        let name = if name.len() <= 4 { name.to_ascii_uppercase() } else { capital(&name) };
        Some(if mode.is_empty() { format!("{name}{bits}") } else { format!("{name}{bits} in {mode} mode") })
    }
}

/// "aes-xts-plain64", or what the segment holds if it is not encrypted.
pub(super) fn content(segment: &Segment) -> String {
    match &segment.content {
        Content::Encrypted { cipher, integrity: None } => cipher.clone(),
        Content::Encrypted { cipher, integrity: Some(tags) } => format!("{cipher} with {tags}"),
        Content::Linear => "not encrypted".to_owned(),
        Content::Other(kind) => format!("of type {kind}"),
    }
}

pub(super) fn is_encrypted(segment: &Segment) -> bool {
    matches!(segment.content, Content::Encrypted { .. })
}

fn capital(word: &str) -> String {
    let mut letters = word.chars();
    letters.next().map(|c| c.to_ascii_uppercase()).into_iter().chain(letters).collect()
}
