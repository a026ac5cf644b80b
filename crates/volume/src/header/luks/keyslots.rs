//! The state of a header's keyslots.

use super::{Header, Luks};
use keyway_format::luks1::{SLOTS, SlotState};
use keyway_format::luks2::{Digest, MAX_OBJECTS};

/// The state of a keyslot number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeyslotState {
    /// Not in use.
    Free,
    /// It holds a key to the data.
    Bound,
    /// It holds a key that opens no data (LUKS2).
    Unbound,
    /// LUKS1: neither enabled nor disabled, after a torn write. The keyslot opens nothing, and can
    /// be killed.
    Damaged,
}

impl KeyslotState {
    /// Whether a passphrase opens it.
    pub fn is_active(self) -> bool {
        matches!(self, Self::Bound | Self::Unbound)
    }
}

impl Luks {
    /// The state of keyslot `number`.
    pub fn keyslot_state(&self, number: u32) -> KeyslotState {
        match self.header() {
            Header::Luks1(header) => match header.slots.get(number as usize).map(|slot| slot.state) {
                Some(SlotState::Enabled) => KeyslotState::Bound,
                Some(SlotState::Damaged(_)) => KeyslotState::Damaged,
                Some(SlotState::Disabled) | None => KeyslotState::Free,
            },
            Header::Luks2 { metadata, .. } => {
                let binds =
                    |digest: &Digest| digest.keyslots.contains(&number) && !digest.segments.is_empty();
                match metadata.keyslots.contains_key(&number) {
                    false => KeyslotState::Free,
                    true if metadata.digests.values().any(binds) => KeyslotState::Bound,
                    true => KeyslotState::Unbound,
                }
            }
        }
    }

    /// The highest possible keyslot number: 7 or 31.
    pub fn last_keyslot(&self) -> u32 {
        match self.header() {
            Header::Luks1(_) => SLOTS as u32 - 1,
            Header::Luks2 { .. } => MAX_OBJECTS - 1,
        }
    }

    /// The numbers of all keyslots that a passphrase opens, including those that open no data.
    pub fn active_keyslots(&self) -> Vec<u32> {
        (0..=self.last_keyslot()).filter(|number| self.keyslot_state(*number).is_active()).collect()
    }

    /// The numbers of all keyslots that open the data.
    pub fn bound_keyslots(&self) -> Vec<u32> {
        let is_bound = |number: &u32| self.keyslot_state(*number) == KeyslotState::Bound;
        (0..=self.last_keyslot()).filter(is_bound).collect()
    }
}
