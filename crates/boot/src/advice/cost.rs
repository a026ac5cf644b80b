//! The cost that lets one keyslot open in time.

use super::{Candidate, Change, Goal, Standing, after, in_turn, one};
use crate::attack::Least;
use crate::unlock_time::Work;
use keyway_crypto::Hash;
use keyway_crypto::kdf::least;
use keyway_format::interval::Interval;

/// What to do with the keyslot at this place, or why nothing helps it.
pub(super) fn advised(slots: &[Candidate], at: usize, goal: &Goal<'_>) -> Result<Change, String> {
    let number = slots[at].number;
    match slots[at].standing {
        Standing::Opens | Standing::OpensWithAnotherKdf => {}
        Standing::InVain => {
            return Err(format!("keyslot {number} does not open there, whatever its key derivation"));
        }
        Standing::NotTried => return Err(format!("keyslot {number} is not tried there")),
    }
    let waiting = change(slots, at, goal, Vec::new());
    if waiting.as_ref().is_ok_and(|change| change.cheap().is_none()) || goal.format == 1 {
        return waiting;
    }
    let skip = skippable(slots, at, goal);
    if skip.is_empty() {
        return waiting;
    }
    change(slots, at, goal, skip).or(waiting)
}

/// The keyslots before this one that take time and do not open in time themselves.
fn skippable(slots: &[Candidate], at: usize, goal: &Goal<'_>) -> Vec<u64> {
    let in_time = |number: u64| {
        let mut times = in_turn(slots, goal.rates);
        times.any(|(slot, seconds)| slot.number == number && seconds.low <= goal.within)
    };
    let before = slots[..at].iter().filter(|slot| one(slot, goal.rates).likely > 0.0);
    before.map(|slot| slot.number).filter(|number| !in_time(*number)).collect()
}

/// The change for the keyslot at this place when these before it are skipped.
fn change(slots: &[Candidate], at: usize, goal: &Goal<'_>, skip: Vec<u64>) -> Result<Change, String> {
    let slot = &slots[at];
    let before = slots[..at].iter().filter(|slot| !skip.contains(&slot.number));
    let waiting: Interval = before.map(|slot| one(slot, goal.rates)).sum();
    let fixed = after(slot, goal.rates);
    let budget = goal.within * MARGIN - (waiting + fixed).likely;
    let own = goal.rates.seconds(&slot.derive).filter(|_| slot.standing == Standing::Opens);
    let (cost, seconds) = match own.filter(|own| own.likely <= budget) {
        Some(own) => (None, own),
        None => {
            let cost = new_cost(slot, goal, budget).ok_or_else(|| too_little(slot, goal, waiting, fixed))?;
            let seconds = goal.rates.seconds(&cost).unwrap_or_default();
            (Some(cost), seconds)
        }
    };
    Ok(Change { slot: slot.number, cost, seconds: waiting + fixed + seconds, skip, later: Vec::new() })
}

/// The first of these that is not cheap to guess, else the first.
fn new_cost(slot: &Candidate, goal: &Goal<'_>, budget: f64) -> Option<Work> {
    let own_hash = match &slot.derive {
        Work::Pbkdf2 { hash, .. } if slot.standing == Standing::Opens => Some(hash.as_str()),
        _ => None,
    };
    // LUKS1 has one hash for everything.
    let header_hash = match &slot.digest {
        Work::Pbkdf2 { hash, .. } if goal.format == 1 => hash.as_str(),
        _ => HASH,
    };
    let hashes = own_hash.into_iter().chain([header_hash]);
    let costs = argon2(slot, goal, budget).into_iter();
    let costs = costs.chain(hashes.filter_map(|hash| pbkdf2(slot, goal, budget, hash)));
    let costs: Vec<Work> = costs.filter(|cost| !gives_away(slot, cost)).collect();
    let strong = costs.iter().find(|cost| Least::missed_by(cost).is_none());
    strong.or(costs.first()).cloned()
}

/// Whether Argon2 would become PBKDF2 that is cheap to guess.
fn gives_away(slot: &Candidate, cost: &Work) -> bool {
    let was_argon2 = matches!(slot.derive, Work::Argon2 { .. });
    was_argon2 && matches!(cost, Work::Pbkdf2 { .. }) && Least::missed_by(cost).is_some()
}

/// Cheaper Argon2 for a keyslot that has Argon2: fewer passes first, because memory is what
/// attackers pay for.
fn argon2(slot: &Candidate, goal: &Goal<'_>, budget: f64) -> Option<Work> {
    let Work::Argon2 { time, memory_kib, lanes } = slot.derive else { return None };
    let lanes = lanes.min(MOST_LANES);
    let most = memory_kib.min(goal.memory_kib.unwrap_or(u64::MAX));
    let kib_passes = budget * goal.rates.argon2.at(memory_kib)?.likely;
    let memory = (kib_passes / LEAST_PASSES as f64).min(most as f64);
    let memory_kib = match memory as u64 {
        kib if kib >= 1 << 20 => kib >> 10 << 10,
        kib => kib,
    };
    if memory_kib < (8 * lanes).max(LEAST_KIB) {
        return None;
    }
    let passes = ((kib_passes / memory_kib as f64) as u64).clamp(LEAST_PASSES, time.max(LEAST_PASSES));
    Some(Work::Argon2 { time: passes, memory_kib, lanes })
}

/// PBKDF2, with no more iterations than a keyslot of the same hash has; and where the margin is all that
/// is missing for what is recommended, that.
fn pbkdf2(slot: &Candidate, goal: &Goal<'_>, budget: f64, hash: &str) -> Option<Work> {
    let once = goal.rates.seconds(&Work::pbkdf2(hash, 1, slot.key_len))?.likely;
    let fits = (budget / once / 1000.0).floor() * 1000.0;
    let most = match &slot.derive {
        Work::Pbkdf2 { hash: own, iterations, .. } if own.eq_ignore_ascii_case(hash) => *iterations,
        _ => u32::MAX.into(),
    };
    let least = Hash::find(hash).and_then(least::pbkdf2).map_or(0.0, f64::from);
    let in_time = (budget + goal.within * (1.0 - MARGIN)) / once >= least;
    let fits = if fits < least && in_time { least } else { fits };
    let iterations = fits.min(most as f64);
    (iterations >= LEAST_ITERATIONS).then(|| Work::pbkdf2(hash, iterations as u64, slot.key_len))
}

/// Why no cost is low enough.
fn too_little(slot: &Candidate, goal: &Goal<'_>, waiting: Interval, fixed: Interval) -> String {
    let limit = goal.within * MARGIN;
    let digest = goal.rates.seconds(&slot.digest).unwrap_or_default();
    match &slot.digest {
        Work::Pbkdf2 { hash, iterations, .. }
            if fixed.likely > limit / 2.0 && fixed.likely >= waiting.likely =>
        {
            format!(
                "the digest that checks the volume key alone takes {:.1} s there ({iterations} iterations of {hash}); \
                 it was set when the volume was made, and no keyslot's cost changes it",
                digest.likely
            )
        }
        _ if waiting.likely > limit / 2.0 => {
            format!("the keyslots tried before keyslot {} alone take {:.1} s", slot.number, waiting.likely)
        }
        _ => given_away(slot, goal, waiting + fixed).unwrap_or_else(|| {
            format!(
                "no permitted cost is low enough, or the target's speed is not known: PBKDF2 takes at least \
             {LEAST_ITERATIONS} iterations, Argon2 {LEAST_PASSES} passes"
            )
        }),
    }
}

/// What PBKDF2 there would be if it were not too cheap to guess to be put in Argon2's place, and what it needs instead.
fn given_away(slot: &Candidate, goal: &Goal<'_>, rest: Interval) -> Option<String> {
    let cost =
        pbkdf2(slot, goal, goal.within * MARGIN - rest.likely, HASH).filter(|cost| gives_away(slot, cost))?;
    let (Work::Pbkdf2 { iterations, .. }, Least::Iterations(least)) = (&cost, Least::missed_by(&cost)?)
    else {
        return None;
    };
    let needed = rest + goal.rates.seconds(&Work::pbkdf2(HASH, least.into(), slot.key_len))?;
    Some(format!(
        "without Argon2 there is time for {iterations} iterations of PBKDF2 with {HASH} at most, which are cheap to \
         guess: {least} are recommended, and take {:.1} s there",
        needed.likely
    ))
}

/// SHA-512 makes a 64-byte key in one block, and is the hash that suits graphics cards least.
const HASH: &str = "sha512";
/// The part of the time that is used: the rest allows for a slightly slower machine than stated.
const MARGIN: f64 = 0.9;
/// PBKDF2's fewest iterations, Argon2's fewest passes, least memory and most lanes, as in
/// cryptsetup.
const LEAST_ITERATIONS: f64 = 1000.0;
const LEAST_PASSES: u64 = 4;
const LEAST_KIB: u64 = 32;
const MOST_LANES: u64 = 4;
