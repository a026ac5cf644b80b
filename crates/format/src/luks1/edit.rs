//! Creates and changes LUKS1 headers. Each change is made on a copy of the bytes, which replaces
//! the original only after it was parsed.

use super::layout::{KeyslotLayout, Payload};
use super::{Fields, HEADER_LEN, Header, Keyslot, MAGIC, SLOTS, SlotState, header_bytes, keyslot};
use crate::{Error, Sectors, af, text};
use alloc::format;
use alloc::vec::Vec;

/// The fields of a fresh header. Its eight keyslots are disabled.
#[derive(Debug, Clone, Copy)]
pub struct NewHeader<'a> {
    /// "aes".
    pub cipher_name: &'a str,
    /// "xts-plain64".
    pub cipher_mode: &'a str,
    /// "sha256"; written in lower case.
    pub hash_spec: &'a str,
    /// Volume key length in bytes.
    pub key_bytes: u32,
    /// Where the data starts.
    pub payload: Payload,
    /// UUID text.
    pub uuid: &'a str,
    /// First 20 bytes of PBKDF2(volume key).
    pub digest: [u8; 20],
    /// Salt of the digest.
    pub digest_salt: [u8; 32],
    /// Iterations of the digest.
    pub digest_iterations: u32,
}

/// A single fault that [`Header::repair`] repaired.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Repair {
    /// The cipher mode "ecb-…" became "ecb".
    CipherMode,
    /// The area of an unused slot was moved to its place in a fresh header.
    Offset {
        /// The keyslot.
        slot: usize,
        /// The old sector.
        from: Sectors,
        /// The new sector.
        to: Sectors,
    },
    /// The stripes of an unused slot were set to 4000.
    Stripes {
        /// The keyslot.
        slot: usize,
        /// The old number.
        from: u32,
    },
    /// An unused slot was disabled, and its salt and iterations wiped: its offset or stripes were
    /// wrong, or it contained a partition table's signature.
    Wiped {
        /// The keyslot.
        slot: usize,
    },
}

impl Header {
    /// Creates a fresh header with cryptsetup's layout.
    ///
    /// # Errors
    /// [`Error::Invalid`] when a name does not fit its field, or the
    /// payload lies among the keyslots.
    pub fn new(new: &NewHeader<'_>) -> Result<Self, Error> {
        let layout = KeyslotLayout::new(new.key_bytes);
        let payload = layout.payload(new.payload)?;
        let mut bytes = [0; HEADER_LEN];
        bytes[..6].copy_from_slice(&MAGIC);
        bytes[7] = 1;
        text::store(&mut bytes[8..40], new.cipher_name, "cipher name")?;
        text::store(&mut bytes[40..72], new.cipher_mode, "cipher mode")?;
        text::store(&mut bytes[72..104], &new.hash_spec.to_ascii_lowercase(), "hash")?;
        bytes[104..108].copy_from_slice(&(payload.0 as u32).to_be_bytes());
        bytes[108..112].copy_from_slice(&new.key_bytes.to_be_bytes());
        bytes[112..132].copy_from_slice(&new.digest);
        bytes[132..164].copy_from_slice(&new.digest_salt);
        bytes[164..168].copy_from_slice(&new.digest_iterations.to_be_bytes());
        text::store(&mut bytes[168..208], new.uuid, "UUID")?;
        for (slot, offset) in layout.offsets.into_iter().enumerate() {
            store_slot(&mut bytes, slot, &unused(offset))?;
        }
        Self::parse(&bytes)
    }

    /// Enables `slot` with a new salt and cost; the slot's area must already be written.
    pub fn enable_slot(&mut self, slot: usize, iterations: u32, salt: [u8; 32]) -> Result<(), Error> {
        let old = self.slot(slot)?;
        self.replace_slot(slot, &Keyslot { state: SlotState::Enabled, iterations, salt, ..old })
    }

    /// Disables `slot` and wipes its salt and iterations, as cryptsetup does; this does not touch
    /// the slot's area.
    pub fn disable_slot(&mut self, slot: usize) -> Result<(), Error> {
        let old = self.slot(slot)?;
        self.replace_slot(slot, &unused(old.offset))
    }

    /// The same header with other keyslots: for converting from LUKS2, whose areas can be anywhere.
    ///
    /// # Errors
    /// [`Error::Invalid`] when areas overlap, or are in the header or after the start of the
    /// payload.
    pub fn with_slots(&self, slots: &[Keyslot; SLOTS]) -> Result<Self, Error> {
        let mut bytes = self.bytes;
        for (number, slot) in slots.iter().enumerate() {
            store_slot(&mut bytes, number, slot)?;
        }
        Self::parse(&bytes)
    }

    /// Replaces the UUID's text.
    pub fn set_uuid(&mut self, uuid: &str) -> Result<(), Error> {
        let mut bytes = self.bytes;
        text::store(&mut bytes[168..208], uuid, "UUID")?;
        self.adopt(bytes)
    }

    /// Makes the repairs of cryptsetup's `repair`: unused slots with impossible areas, "ecb-…"
    /// modes, a partition table's signature in slot 6. Enabled slots are never changed.
    ///
    /// # Errors
    /// As [`Header::parse`], for what cannot be repaired.
    pub fn repair(bytes: &[u8]) -> Result<(Self, Vec<Repair>), Error> {
        let mut bytes = header_bytes(bytes)?;
        let fields = Fields::read(&bytes)?;
        if ![16, 32, 64].contains(&fields.key_bytes) {
            return Err(Error::invalid(
                "key length",
                format!("{} bytes is not a usual size", fields.key_bytes),
            ));
        }
        let layout = KeyslotLayout::new(fields.key_bytes);
        let mut repairs = Vec::new();
        if fields.cipher_mode.starts_with("ecb-") {
            text::store(&mut bytes[40..72], "ecb", "cipher mode")?;
            repairs.push(Repair::CipherMode);
        }
        for (slot, old) in fields.slots.iter().enumerate().filter(|(_, old)| old.state != SlotState::Enabled)
        {
            let found = faults(slot, old, layout.offsets[slot], bytes[510..512] == [0x55, 0xaa]);
            if !found.is_empty() {
                store_slot(&mut bytes, slot, &unused(layout.offsets[slot]))?;
                repairs.extend(found);
            }
        }
        Ok((Self::parse(&bytes)?, repairs))
    }

    fn slot(&self, slot: usize) -> Result<Keyslot, Error> {
        let missing =
            || Error::invalid(format!("keyslot {slot}"), format!("LUKS1 has keyslots 0 to {}", SLOTS - 1));
        self.slots.get(slot).cloned().ok_or_else(missing)
    }

    fn replace_slot(&mut self, slot: usize, new: &Keyslot) -> Result<(), Error> {
        let mut bytes = self.bytes;
        store_slot(&mut bytes, slot, new)?;
        self.adopt(bytes)
    }

    fn adopt(&mut self, bytes: [u8; HEADER_LEN]) -> Result<(), Error> {
        *self = Self::parse(&bytes)?;
        Ok(())
    }
}

/// The faults of an unused slot, ending with [`Repair::Wiped`] if there are any.
fn faults(slot: usize, old: &Keyslot, offset: Sectors, partition_signature: bool) -> Vec<Repair> {
    let mut found = Vec::new();
    if old.offset != offset {
        found.push(Repair::Offset { slot, from: old.offset, to: offset });
    }
    if old.stripes != af::STRIPES {
        found.push(Repair::Stripes { slot, from: old.stripes });
    }
    if !found.is_empty() || (slot == 6 && partition_signature) {
        found.push(Repair::Wiped { slot });
    }
    found
}

fn unused(offset: Sectors) -> Keyslot {
    Keyslot { state: SlotState::Disabled, iterations: 0, salt: [0; 32], offset, stripes: af::STRIPES }
}

fn store_slot(bytes: &mut [u8; HEADER_LEN], slot: usize, new: &Keyslot) -> Result<(), Error> {
    let at = keyslot::offset(slot);
    bytes[at..at + keyslot::LEN].copy_from_slice(&new.to_bytes()?);
    Ok(())
}
