//! What a header says about its volume, for those who show it or decide by it. Nothing is locked,
//! unlocked or written; a header that could not be opened has facts too.
//!
//! `keyslot` lists the keyslots with the key derivations that opening them takes, `segment` the
//! data, `seal` the state of the seal, `concern` what deserves attention.

mod concern;
mod cure;
mod reencryption;
mod seal;
mod segment;

pub use crate::keyslot::derivation::{Derivation, Keyslot, keyslots, keyslots_in_turn};
pub use concern::Concern;
pub use reencryption::Reencryption;
pub use seal::SealState;
pub use segment::{Content, Segment};

use crate::reencrypt::rekey::FirstBoot;
use crate::{Header, Luks, Result};
use keyway_format::luks2::{BinaryHeader, Copy, Metadata};

/// A volume at a glance.
#[derive(Debug, Clone)]
pub struct Facts {
    /// 1 or 2.
    pub version: u8,
    /// The UUID as written in the header.
    pub uuid: String,
    /// LUKS2's label, if there is one.
    pub label: Option<String>,
    /// LUKS2's subsystem, if there is one.
    pub subsystem: Option<String>,
    /// The data, without what a reencryption keeps as a backup.
    pub segments: Vec<Segment>,
    /// The volume key's length; unknown for LUKS2 without keyslots.
    pub key_bits: Option<usize>,
    /// Whether the header is sound.
    pub copies: Copies,
    /// The activation flags that the header sets.
    pub flags: Vec<String>,
    /// Features that a program must know to open it.
    pub requirements: Vec<String>,
    /// The re-encryption that is under way; an error says why the header cannot mean what it says.
    pub reencryption: Result<Option<Reencryption>, String>,
    /// The keyslots in use, by number.
    pub keyslots: Vec<Keyslot>,
    /// The tokens, by number.
    pub tokens: Vec<Token>,
    /// Whether it waits for its first boot, to get a volume key of its own.
    pub awaits_first_boot: bool,
}

/// Whether a header is sound.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Copies {
    /// LUKS1 has one copy and no checksum.
    Single,
    /// Both copies are sound.
    Both {
        /// How often the header has been written.
        sequence_id: u64,
    },
    /// One copy is damaged, or older than the other.
    Damaged {
        /// How often the header has been written.
        sequence_id: u64,
        /// The copy that is not to be used.
        copy: Copy,
    },
}

/// A token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Token {
    /// Its number.
    pub number: u32,
    /// Its type.
    pub kind: String,
    /// The keyslots that it opens.
    pub keyslots: Vec<u32>,
}

impl Facts {
    /// The facts of the header that was read; `data_len` is the length of the data device.
    ///
    /// # Errors
    /// The header copies cannot be read again.
    pub fn of(luks: &Luks, data_len: u64) -> Result<Self> {
        let mut facts = Self {
            version: luks.version(),
            uuid: luks.uuid().to_owned(),
            label: None,
            subsystem: None,
            segments: segment::segments(luks.header(), data_len),
            key_bits: luks.header().volume_key_len().map(|bytes| bytes * 8),
            copies: Copies::Single,
            flags: Vec::new(),
            requirements: Vec::new(),
            reencryption: Reencryption::of(luks.header(), data_len),
            keyslots: keyslots(luks.header()),
            tokens: Vec::new(),
            awaits_first_boot: FirstBoot::of(luks.header()) == FirstBoot::Due,
        };
        if let Header::Luks2 { binary, metadata } = luks.header() {
            facts.add_luks2(binary, metadata, luks.damaged_copy()?);
        }
        Ok(facts)
    }

    fn add_luks2(&mut self, binary: &BinaryHeader, metadata: &Metadata, damaged: Option<Copy>) {
        let sequence_id = binary.sequence_id;
        self.copies = match damaged {
            Some(copy) => Copies::Damaged { sequence_id, copy },
            None => Copies::Both { sequence_id },
        };
        let if_set = |text: &String| (!text.is_empty()).then(|| text.clone());
        self.label = if_set(&binary.label);
        self.subsystem = if_set(&binary.subsystem);
        self.flags.clone_from(&metadata.config.flags);
        self.requirements.clone_from(&metadata.config.requirements);
        let token = |(&number, token): (&u32, &keyway_format::luks2::Token)| Token {
            number,
            kind: token.kind.clone(),
            keyslots: token.keyslots.clone(),
        };
        self.tokens = metadata.tokens.iter().map(token).collect();
    }
}

#[cfg(test)]
mod tests;
