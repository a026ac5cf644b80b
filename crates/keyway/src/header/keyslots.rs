//! The description of a header's keyslots.

use crate::Kdf;
use keyway_format::luks2::{self, KeyslotKind};
use keyway_volume::{Header, KeyslotState, Luks};

/// A keyslot that is in use. See [`Header::keyslots`](crate::Header::keyslots) for an example.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Keyslot {
    /// Its number.
    pub number: u32,
    /// What it opens.
    pub state: KeyslotState,
    /// The function that turns its passphrase into a key, and the cost.
    pub kdf: Kdf,
    /// When unlocking tries it.
    pub priority: Priority,
    /// The cipher of its area; `None` where this build does not know it.
    pub cipher: Option<String>,
    /// Length of the key that it holds, in bits.
    pub key_bits: u32,
}

/// When unlocking tries a keyslot. See [`Header::keyslots`](crate::Header::keyslots) for an
/// example.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Priority {
    /// First.
    Prefer,
    /// After the preferred keyslots.
    Normal,
    /// Only when asked for by its number ([`Unlock::keyslot`](crate::Unlock::keyslot)).
    Ignore,
}

pub(super) fn keyslots(luks: &Luks) -> Vec<Keyslot> {
    let in_use = (0..=luks.last_keyslot()).filter(|number| luks.keyslot_state(*number) != KeyslotState::Free);
    in_use.filter_map(|number| keyslot(luks, number)).collect()
}

fn keyslot(luks: &Luks, number: u32) -> Option<Keyslot> {
    let state = luks.keyslot_state(number);
    Some(match luks.header() {
        Header::Luks1(header) => {
            let iterations = header.slots.get(number as usize)?.iterations;
            Keyslot {
                number,
                state,
                kdf: Kdf::Pbkdf2 { hash: header.hash_spec.clone(), iterations },
                priority: Priority::Normal,
                cipher: Some(header.cipher()),
                key_bits: header.key_bytes.saturating_mul(8),
            }
        }
        Header::Luks2 { metadata, .. } => {
            let slot = metadata.keyslots.get(&number)?;
            let (kdf, cipher) = match &slot.kind {
                KeyslotKind::Luks2 { kdf, area_cipher, .. } => (Kdf::of(kdf), Some(area_cipher.clone())),
                KeyslotKind::Other(kind) => (Kdf::Unknown(kind.clone()), None),
            };
            let priority = match slot.priority {
                luks2::Priority::Prefer => Priority::Prefer,
                luks2::Priority::Normal => Priority::Normal,
                luks2::Priority::Ignore => Priority::Ignore,
            };
            Keyslot { number, state, kdf, priority, cipher, key_bits: slot.key_size.saturating_mul(8) }
        }
    })
}
