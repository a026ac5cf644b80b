//! What Linux does with a header's keyslots.

use super::{Outcome, Tried};
use keyway_boot::unlock_time::Work;
use keyway_format::luks2::Priority;
use keyway_volume::Header;
use keyway_volume::trust::facts::{self, Keyslot};

/// The keyslots that open the data, in the order in which they are tried.
pub(super) fn keyslots(header: &Header) -> Vec<Tried> {
    facts::keyslots_in_turn(header).iter().map(tried).collect()
}

fn tried(keyslot: &Keyslot) -> Tried {
    let number = keyslot.number;
    if keyslot.priority == Priority::Ignore {
        return Tried { number, outcome: Outcome::NotTried, works: Vec::new() };
    }
    let derivations = keyslot.derivation.iter().chain(&keyslot.digest);
    let works = derivations.map(|it| Work::of_kdf(&it.kdf, it.len)).collect();
    Tried { number, outcome: Outcome::Opens, works }
}
