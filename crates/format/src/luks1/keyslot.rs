//! One of the eight keyslot descriptors (48 bytes, big-endian).
//!
//! | offset | length | field                                    |
//! |--------|--------|------------------------------------------|
//! | 0      | 4      | active: 0x00ac71f3, or 0x0000dead        |
//! | 4      | 4      | PBKDF2 iterations                        |
//! | 8      | 32     | PBKDF2 salt                              |
//! | 40     | 4      | first sector of the key material         |
//! | 44     | 4      | AF stripes, 4000                         |

use super::layout::area_sectors;
use crate::{Error, Sectors, af};
use alloc::format;

pub(super) const LEN: usize = 48;
const ENABLED: u32 = 0x00ac_71f3;
const DISABLED: u32 = 0x0000_dead;
/// The first possible sector: the header itself takes the first two.
const FIRST_SECTOR: Sectors = Sectors(2);

/// One keyslot descriptor.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Keyslot {
    /// Enabled, disabled, or neither (a torn write): a damaged slot opens nothing, but the header
    /// stays valid.
    pub state: SlotState,
    /// PBKDF2 iterations.
    pub iterations: u32,
    /// PBKDF2 salt.
    pub salt: [u8; 32],
    /// Start of the key material.
    pub offset: Sectors,
    /// AF stripes (4000).
    pub stripes: u32,
}

/// The meaning of a keyslot's `active` word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SlotState {
    /// It holds the volume key.
    Enabled,
    /// It holds nothing.
    Disabled,
    /// The word is neither of the two values; holds the word.
    Damaged(u32),
}

/// Where the descriptor of `slot` starts in the header.
pub(super) const fn offset(slot: usize) -> usize {
    208 + slot * LEN
}

impl Keyslot {
    pub(super) fn read(bytes: &[u8; LEN]) -> Self {
        let mut salt = [0; 32];
        salt.copy_from_slice(&bytes[8..40]);
        Self {
            state: SlotState::from_word(be32(bytes, 0)),
            iterations: be32(bytes, 4),
            salt,
            offset: Sectors(be32(bytes, 40).into()),
            stripes: be32(bytes, 44),
        }
    }

    pub(super) fn to_bytes(&self) -> Result<[u8; LEN], Error> {
        let offset =
            u32::try_from(self.offset.0).map_err(|_| Error::invalid("keyslot offset", "exceeds 32 bits"))?;
        let mut bytes = [0; LEN];
        bytes[0..4].copy_from_slice(&self.state.word().to_be_bytes());
        bytes[4..8].copy_from_slice(&self.iterations.to_be_bytes());
        bytes[8..40].copy_from_slice(&self.salt);
        bytes[40..44].copy_from_slice(&offset.to_be_bytes());
        bytes[44..48].copy_from_slice(&self.stripes.to_be_bytes());
        Ok(bytes)
    }

    /// Checks the rules for a single slot, used or not: cryptsetup refuses a header that breaks
    /// them.
    pub(super) fn check(&self, number: usize, key_bytes: u32, payload: Sectors) -> Result<(), Error> {
        let refuse = |why| Err(Error::invalid(format!("keyslot {number}"), why));
        if self.stripes != af::STRIPES {
            return refuse(format!("{} stripes, not {}", self.stripes, af::STRIPES));
        }
        if self.offset < FIRST_SECTOR {
            return refuse(format!("area at sector {} lies in the header", self.offset.0));
        }
        let end = self.offset.0 + area_sectors(key_bytes).0;
        if end > u64::from(u32::MAX) {
            return refuse(format!("area at sector {} ends beyond 32 bits", self.offset.0));
        }
        if payload.0 != 0 && payload.0 < end {
            return refuse(format!(
                "area at sector {} ends at {end}, after the payload at {}",
                self.offset.0, payload.0
            ));
        }
        if self.state == SlotState::Enabled && self.iterations == 0 {
            return refuse("zero iterations".into());
        }
        Ok(())
    }
}

impl SlotState {
    fn from_word(word: u32) -> Self {
        match word {
            ENABLED => Self::Enabled,
            DISABLED => Self::Disabled,
            other => Self::Damaged(other),
        }
    }

    fn word(self) -> u32 {
        match self {
            Self::Enabled => ENABLED,
            Self::Disabled => DISABLED,
            Self::Damaged(word) => word,
        }
    }
}

fn be32(bytes: &[u8; LEN], at: usize) -> u32 {
    u32::from_be_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}
