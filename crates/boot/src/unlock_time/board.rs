//! Machines whose rates others have published.

use super::{Argon2Rates, Rates};
use keyway_crypto::Hash;
use keyway_crypto::kdf::speed::{self, Beside, KdfSpeed};
use keyway_format::interval::Interval;

/// A machine with published rates under Linux.
#[derive(Debug)]
pub struct Board {
    /// The name on the command line.
    pub name: &'static str,
    /// The description.
    pub title: &'static str,
    /// The memory in KiB, where all boards of that name have the same.
    pub memory_kib: Option<u64>,
    /// How far from the figures other published ones are: slower, and faster.
    pbkdf2_range: (f64, f64),
    argon2_range: (f64, f64),
    speed: &'static KdfSpeed,
}

impl Board {
    /// Looks up a machine by name.
    pub fn find(name: &str) -> Option<&'static Self> {
        BOARDS.iter().find(|board| board.name.eq_ignore_ascii_case(name))
    }

    /// All known machines.
    pub fn all() -> impl Iterator<Item = &'static Self> {
        BOARDS.iter()
    }

    /// The machine's rates.
    pub fn rates(&self) -> Rates {
        debug_assert_eq!(self.speed.argon2_beside(), Beside::Nothing);
        let within = |rate, (down, up)| Interval::exact(rate).widened(down, up);
        let of_hash =
            |hash: Hash| Some((hash.name().to_owned(), within(self.speed.pbkdf2(hash)?, self.pbkdf2_range)));
        let pbkdf2 = self.speed.hashes().filter_map(of_hash).collect();
        let argon2 = self.speed.argon2(ANY_MEMORY).map(|rate| within(rate, self.argon2_range));
        let argon2 = argon2.map(Argon2Rates::of_any).unwrap_or_default();
        Rates { pbkdf2, argon2, each_slot: Interval::exact(0.05), ..Rates::default() }
    }
}

/// Those with published results of `cryptsetup benchmark`. docs/COST.md names the sources.
static BOARDS: &[Board] = &[
    Board {
        name: "pi3",
        title: "Raspberry Pi 3 (estimated by its AES rate from a Raspberry Pi 4's figures)",
        memory_kib: Some(1 << 20),
        pbkdf2_range: (0.67, 1.5),
        argon2_range: (0.5, 1.5),
        speed: &speed::PI3,
    },
    Board {
        name: "pi4",
        title: "Raspberry Pi 4 (cryptsetup's own figures there)",
        memory_kib: None,
        pbkdf2_range: (0.98, 2.7),
        argon2_range: (0.5, 1.3),
        speed: &speed::PI4,
    },
];

/// Published figures are of one amount of memory, and taken for all.
const ANY_MEMORY: u64 = 1 << 20;
