//! The keyslots of a header, and the key derivations that opening each of them takes: of the key
//! that decrypts its area, and of the digest that verifies the volume key.

use crate::Header;
use keyway_format::luks1::{self, SlotState};
use keyway_format::luks2::{DigestKind, Kdf, KeyslotKind, Metadata, Priority};

/// A keyslot in use.
#[derive(Debug, Clone, PartialEq)]
pub struct Keyslot {
    /// Its number.
    pub number: u32,
    /// When it is tried.
    pub priority: Priority,
    /// It holds a key that opens no data.
    pub unbound: bool,
    /// From the passphrase to the key of its area; the type of a keyslot that this build does not
    /// know.
    pub derivation: Result<Derivation, String>,
    /// From the volume key to its digest; `None` if there is none of a known kind.
    pub digest: Option<Derivation>,
}

/// A key derivation and its cost.
#[derive(Debug, Clone, PartialEq)]
pub struct Derivation {
    /// The function and its cost; for LUKS1 and for digests without the salt.
    pub kdf: Kdf,
    /// The bytes that are derived.
    pub len: usize,
}

impl Derivation {
    fn pbkdf2(hash: &str, iterations: u32, len: usize) -> Self {
        Self { kdf: Kdf::Pbkdf2 { hash: hash.to_owned(), iterations, salt: Vec::new() }, len }
    }
}

/// All keyslots in use, by number.
pub fn keyslots(header: &Header) -> Vec<Keyslot> {
    match header {
        Header::Luks1(header) => of_luks1(header),
        Header::Luks2 { metadata, .. } => metadata.keyslots.keys().map(|&n| of_luks2(metadata, n)).collect(),
    }
}

/// The keyslots that may open the data, in the order in which they are tried under Linux. Those of
/// priority "ignore" are tried only when they are named.
pub fn keyslots_in_turn(header: &Header) -> Vec<Keyslot> {
    let mut found = keyslots(header);
    found.retain(|keyslot| !keyslot.unbound && keyslot.derivation.is_ok());
    found.sort_by_key(|keyslot| keyslot.priority != Priority::Prefer);
    found
}

fn of_luks1(header: &luks1::Header) -> Vec<Keyslot> {
    let derive = |iterations, len| Derivation::pbkdf2(&header.hash_spec, iterations, len);
    let enabled = header.slots.iter().enumerate().filter(|(_, slot)| slot.state == SlotState::Enabled);
    let keyslot = |(number, slot): (usize, &luks1::Keyslot)| Keyslot {
        number: number as u32,
        priority: Priority::Normal,
        unbound: false,
        derivation: Ok(derive(slot.iterations, header.key_bytes as usize)),
        digest: Some(derive(header.digest_iterations, header.digest.len())),
    };
    enabled.map(keyslot).collect()
}

fn of_luks2(metadata: &Metadata, number: u32) -> Keyslot {
    let slot = &metadata.keyslots[&number];
    let derivation = match &slot.kind {
        KeyslotKind::Luks2 { kdf, area_key_size, .. } => {
            Ok(Derivation { kdf: kdf.clone(), len: *area_key_size as usize })
        }
        KeyslotKind::Other(kind) => Err(kind.clone()),
    };
    let digest = metadata.digest_of_keyslot(number).and_then(|id| metadata.digests.get(&id));
    let digest = match digest.map(|digest| &digest.kind) {
        Some(DigestKind::Pbkdf2 { hash, iterations, value, .. }) => {
            Some(Derivation::pbkdf2(hash, *iterations, value.len()))
        }
        _ => None,
    };
    let unbound = metadata.is_unbound(number);
    Keyslot { number, priority: slot.priority, unbound, derivation, digest }
}
