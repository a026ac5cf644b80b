//! How long keyslots take under Linux: on this machine as measured, on a board by its published
//! rates.

use super::{Outcome, PredictedKeyslot, Prediction, seconds};
use crate::Header;
use keyway_boot::unlock_time::{Board, Work};
use keyway_format::luks1::SlotState;
use keyway_format::luks2::{self, DigestKind, Kdf, KeyslotKind, Metadata, Priority};
use keyway_volume::{Header as Bytes, Luks, UnlockOptions};
use std::time::Duration;

/// Without a board: on this machine.
pub(super) fn predict(header: &Header, board: Option<&Board>) -> Prediction {
    let threads = UnlockOptions::default().threads;
    let (mut keyslots, mut waited) = (Vec::new(), Some(Duration::ZERO));
    for keyslot in keyslots_of(&header.luks) {
        let time = match board {
            None => header.unlock_time(keyslot.number, threads).ok(),
            Some(board) => keyslot.on(board),
        };
        let outcome = if keyslot.ignored { Outcome::NotTried } else { Outcome::Opens };
        if !keyslot.ignored {
            waited = waited.zip(time).map(|(before, time)| before.saturating_add(time));
        }
        keyslots.push(PredictedKeyslot { number: keyslot.number, outcome, time, in_turn: waited });
    }
    Prediction { keyslots, refused: None, notes: Vec::new(), modules: Vec::new() }
}

/// The computations until a keyslot has opened.
struct Keyslot {
    number: u32,
    ignored: bool,
    preferred: bool,
    works: [Work; 2],
}

impl Keyslot {
    fn on(&self, board: &Board) -> Option<Duration> {
        let rates = board.rates();
        seconds(rates.total(&self.works)? + rates.each_slot)
    }
}

/// The keyslots that open the data, in the order in which they are tried.
fn keyslots_of(luks: &Luks) -> Vec<Keyslot> {
    match luks.header() {
        Bytes::Luks1(header) => {
            let digest =
                Work::pbkdf2(&header.hash_spec, header.digest_iterations.into(), header.digest.len());
            let enabled =
                header.slots.iter().enumerate().filter(|(_, slot)| slot.state == SlotState::Enabled);
            let keyslot = |(number, slot): (usize, &keyway_format::luks1::Keyslot)| {
                let derive =
                    Work::pbkdf2(&header.hash_spec, slot.iterations.into(), header.key_bytes as usize);
                let works = [derive, digest.clone()];
                Keyslot { number: number as u32, ignored: false, preferred: false, works }
            };
            enabled.map(keyslot).collect()
        }
        Bytes::Luks2 { metadata, .. } => {
            let bound = metadata.keyslots.iter().filter(|(number, _)| !metadata.is_unbound(**number));
            let mut keyslots: Vec<_> =
                bound.filter_map(|(number, slot)| luks2_keyslot(metadata, *number, slot)).collect();
            keyslots.sort_by_key(|keyslot| !keyslot.preferred);
            keyslots
        }
    }
}

fn luks2_keyslot(metadata: &Metadata, number: u32, slot: &luks2::Keyslot) -> Option<Keyslot> {
    let KeyslotKind::Luks2 { kdf, area_key_size, .. } = &slot.kind else { return None };
    let derive = match kdf {
        Kdf::Pbkdf2 { hash, iterations, .. } => {
            Work::pbkdf2(hash, (*iterations).into(), *area_key_size as usize)
        }
        Kdf::Argon2i { time, memory_kib, lanes, .. } | Kdf::Argon2id { time, memory_kib, lanes, .. } => {
            let (time, memory_kib, lanes) = ((*time).into(), (*memory_kib).into(), (*lanes).into());
            Work::Argon2 { time, memory_kib, lanes }
        }
    };
    let digest = metadata.digest_of_keyslot(number).and_then(|id| metadata.digests.get(&id));
    let digest = match digest.map(|digest| &digest.kind) {
        Some(DigestKind::Pbkdf2 { hash, iterations, value, .. }) => {
            Work::pbkdf2(hash, (*iterations).into(), value.len())
        }
        _ => Work::pbkdf2("sha256", 0, 32),
    };
    let (ignored, preferred) = (slot.priority == Priority::Ignore, slot.priority == Priority::Prefer);
    Some(Keyslot { number, ignored, preferred, works: [derive, digest] })
}
