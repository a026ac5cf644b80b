//! Which keyslot to give a different cost, so that it opens on a target within a given time; and
//! which keyslots to skip for that.
//!
//! Costs only fall, and stay with their function and hash where that is enough: nothing becomes
//! slower, except what waits for a keyslot that the target could not compute before, and that is
//! told ([`Change::later`]). A change stays above what is cheap to guess where any cost that meets the limit
//! does; Argon2 becomes cheaper Argon2 before it becomes PBKDF2, and never PBKDF2 that is cheap to guess. A keyslot that opens in time is
//! never skipped for another, and the keyslot that is changed is one that the target then opens.

mod cost;
#[cfg(test)]
mod tests;

use crate::attack::Least;
use crate::unlock_time::{Rates, Work};
use keyway_format::interval::Interval;

/// A keyslot; candidates are listed in the order in which the target tries them.
#[derive(Debug, Clone, PartialEq)]
pub struct Candidate {
    /// The keyslot's number.
    pub number: u64,
    /// The current key derivation.
    pub derive: Work,
    /// The digest computed after it.
    pub digest: Work,
    /// The length of the derived key.
    pub key_len: usize,
    /// What the target makes of it.
    pub standing: Standing,
}

/// What the target makes of a keyslot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    /// It opens, however long that takes.
    Opens,
    /// It would open, but for its key derivation, which the target does not compute.
    OpensWithAnotherKdf,
    /// It is tried in vain, whatever its key derivation: the time is spent.
    InVain,
    /// Nothing is computed for it: it is tried only when it is named, or the target cannot see it.
    NotTried,
}

/// What is asked for.
#[derive(Debug, Clone, Copy)]
pub struct Goal<'a> {
    /// How fast the target is.
    pub rates: &'a Rates,
    /// The seconds that opening may take there.
    pub within: f64,
    /// The only keyslot that may be changed.
    pub wanted: Option<u64>,
    /// The header's version: LUKS1 has one hash for everything, and no priorities.
    pub format: u8,
    /// The most memory that Argon2 may take there, in KiB.
    pub memory_kib: Option<u64>,
}

/// What to do.
#[derive(Debug, Clone, PartialEq)]
pub enum Advice {
    /// This keyslot opens in time already.
    Nothing {
        /// The keyslot's number.
        slot: u64,
        /// Seconds on the target, including all keyslots tried before it.
        seconds: Interval,
    },
    /// Change this keyslot, or only those before it.
    Change(Change),
    /// No allowed cost is fast enough.
    Impossible {
        /// Why.
        because: String,
    },
}

/// A change that meets the limit.
#[derive(Debug, Clone, PartialEq)]
pub struct Change {
    /// The keyslot's number.
    pub slot: u64,
    /// Its new cost; `None` if it may keep its own.
    pub cost: Option<Work>,
    /// Seconds on the target afterwards, including all keyslots tried before it.
    pub seconds: Interval,
    /// Keyslots to be marked as skipped, because they are tried before this one and take too long
    /// (LUKS2).
    pub skip: Vec<u64>,
    /// Keyslots that open later than before, because the target then computes this one before them:
    /// each with its seconds afterwards.
    pub later: Vec<(u64, Interval)>,
}

impl Change {
    /// The keyslots after the change.
    fn applied(&self, slots: &[Candidate]) -> Vec<Candidate> {
        let changed = |slot: &Candidate| match slot.number {
            number if number == self.slot => {
                let derive = self.cost.clone().unwrap_or_else(|| slot.derive.clone());
                Candidate { derive, standing: Standing::Opens, ..slot.clone() }
            }
            number if self.skip.contains(&number) => {
                Candidate { standing: Standing::NotTried, ..slot.clone() }
            }
            _ => slot.clone(),
        };
        slots.iter().map(changed).collect()
    }

    fn with_those_later(mut self, slots: &[Candidate], rates: &Rates) -> Self {
        let before: Vec<(&Candidate, Interval)> = in_turn(slots, rates).collect();
        let after = self.applied(slots);
        let later = in_turn(&after, rates).filter(|(slot, after)| {
            before.iter().any(|(known, before)| {
                known.number == slot.number && after.likely > before.likely * (1.0 + f64::EPSILON * 16.0)
            })
        });
        self.later = later.map(|(slot, seconds)| (slot.number, seconds)).collect();
        self
    }

    /// The recommended cost that the new one is below of: the passphrase is then cheap to guess.
    pub fn cheap(&self) -> Option<Least> {
        self.cost.as_ref().and_then(Least::missed_by)
    }

    /// The seconds on the target if the new cost were the recommended one that it is below of.
    pub fn at_least(&self, rates: &Rates) -> Option<Interval> {
        let cost = self.cost.as_ref()?;
        let own = rates.seconds(cost)?;
        let least = match (cost, self.cheap()?) {
            (Work::Pbkdf2 { hash, blocks, .. }, Least::Iterations(least)) => {
                Work::Pbkdf2 { hash: hash.clone(), iterations: least.into(), blocks: *blocks }
            }
            (Work::Argon2 { memory_kib, lanes, .. }, Least::KibPasses(least)) => {
                Work::Argon2 { time: least.div_ceil(*memory_kib), memory_kib: *memory_kib, lanes: *lanes }
            }
            _ => return None,
        };
        let more = rates.seconds(&least)?.likely / own.likely;
        Some(self.seconds + own.times(more - 1.0))
    }
}

/// What to do so that a keyslot opens in time.
pub fn advise(slots: &[Candidate], goal: &Goal<'_>) -> Advice {
    if let Some(ready) = ready(slots, goal) {
        return ready;
    }
    let considered = |slot: &Candidate| match goal.wanted {
        Some(number) => slot.number == number,
        None => matches!(slot.standing, Standing::Opens | Standing::OpensWithAnotherKdf),
    };
    let (mut changes, mut because) = (Vec::new(), None);
    for at in (0..slots.len()).filter(|at| considered(&slots[*at])) {
        match cost::advised(slots, at, goal) {
            Ok(change) => changes.push(change.with_those_later(slots, goal.rates)),
            Err(why) => because = because.or(Some(why)),
        }
    }
    let worst = |change: &Change| (change.cheap().is_some(), change.later.len(), change.skip.len());
    let best = changes.into_iter().min_by_key(worst);
    match (best, because) {
        (Some(change), _) => Advice::Change(change),
        (None, Some(because)) => Advice::Impossible { because },
        (None, None) if goal.wanted.is_some() => {
            Advice::Impossible { because: "there is no such keyslot".to_owned() }
        }
        (None, None) => {
            Advice::Impossible { because: "no keyslot opens there, whatever its key derivation".to_owned() }
        }
    }
}

/// The keyslots that the target opens, but not in time, each with its seconds in its turn.
pub fn too_slow(slots: &[Candidate], goal: &Goal<'_>) -> Vec<(u64, Interval)> {
    let slow = in_turn(slots, goal.rates).filter(|(_, seconds)| seconds.likely > goal.within);
    slow.map(|(slot, seconds)| (slot.number, seconds)).collect()
}

/// The first keyslot that already opens in time.
fn ready(slots: &[Candidate], goal: &Goal<'_>) -> Option<Advice> {
    let mut wanted =
        in_turn(slots, goal.rates).filter(|(slot, _)| goal.wanted.is_none_or(|it| slot.number == it));
    let (slot, seconds) = wanted.find(|(_, seconds)| seconds.likely <= goal.within)?;
    Some(Advice::Nothing { slot: slot.number, seconds })
}

/// The keyslots that open, each with the seconds until it has, if they are known.
fn in_turn<'a>(slots: &'a [Candidate], rates: &Rates) -> impl Iterator<Item = (&'a Candidate, Interval)> {
    let mut sum = Interval::default();
    slots.iter().filter_map(move |slot| {
        sum = sum + one(slot, rates);
        let known = slot.standing == Standing::Opens && rates.seconds(&slot.derive).is_some();
        known.then_some((slot, sum))
    })
}

/// The seconds needed to try one keyslot, as far as they are known; anything that the target cannot
/// compute takes no time.
fn one(slot: &Candidate, rates: &Rates) -> Interval {
    match slot.standing {
        Standing::NotTried | Standing::OpensWithAnotherKdf => Interval::default(),
        Standing::Opens | Standing::InVain => {
            rates.seconds(&slot.derive).unwrap_or_default() + after(slot, rates)
        }
    }
}

/// What trying a keyslot takes besides its derivation.
fn after(slot: &Candidate, rates: &Rates) -> Interval {
    rates.seconds(&slot.digest).unwrap_or_default() + rates.each_slot
}
