//! Which keyslot to give a different cost, so that it opens on a target within a given time; and
//! which keyslots to skip for that.

use crate::unlock_time::{Rates, Work};

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
    /// Whether the target can open the keyslot as it is, however long that takes.
    pub opens: bool,
    /// Whether the target computes anything for it: boot loaders skip some keyslots.
    pub tried: bool,
}

/// What to do.
#[derive(Debug, Clone, PartialEq)]
pub enum Advice {
    /// This keyslot opens in time already.
    Nothing {
        /// The keyslot's number.
        slot: u64,
        /// Seconds on the target, including all keyslots tried before it.
        seconds: f64,
    },
    /// Give this keyslot PBKDF2 with this number of iterations.
    Recost {
        /// The keyslot's number.
        slot: u64,
        /// The hash for PBKDF2.
        hash: String,
        /// The number of iterations.
        iterations: u64,
        /// The resulting time on the target, in seconds.
        seconds: f64,
        /// Keyslots to be marked as skipped, because they are tried before this one and take too
        /// long (LUKS2).
        skip: Vec<u64>,
    },
    /// No allowed cost is fast enough.
    Impossible {
        /// Why.
        because: String,
    },
}

/// What to do so that a keyslot (`wanted`, or the best one) opens within so many seconds. `hash` is
/// used for new costs; `can_skip` tells whether keyslots can be marked as skipped.
pub fn advise(
    slots: &[Candidate],
    wanted: Option<u64>,
    rates: &Rates,
    within: f64,
    hash: &str,
    can_skip: bool,
) -> Advice {
    if let Some(ready) = ready(slots, wanted, rates, within) {
        return ready;
    }
    let Some(at) = slots.iter().position(|slot| wanted.map_or(slot.tried, |number| slot.number == number))
    else {
        return Advice::Impossible { because: "there is no such keyslot".to_owned() };
    };
    let slot = &slots[at];
    let before: Vec<&Candidate> = slots[..at].iter().filter(|slot| slot.tried).collect();
    let earlier: f64 = before.iter().map(|slot| one(slot, rates)).sum();
    let fixed = rates.seconds(&slot.digest).unwrap_or(0.0) + rates.each_slot;
    let skip = can_skip && !before.is_empty() && earlier > within / 2.0;
    let waiting = if skip { 0.0 } else { earlier };
    let budget = within * MARGIN - fixed - waiting;
    let once = rates.seconds(&Work::pbkdf2(hash, 1, slot.key_len));
    let Some(iterations) = once.map(|once| (budget / once / 1000.0).floor() * 1000.0).filter(|n| *n >= LEAST)
    else {
        let because = match once {
            None => format!("the target's rate for PBKDF2 with {hash} is not known"),
            Some(_) if waiting > fixed => {
                format!("the keyslots tried before keyslot {} alone take {waiting:.1} s", slot.number)
            }
            Some(_) => format!("fewer than {LEAST} iterations are not allowed, and they take longer"),
        };
        return Advice::Impossible { because };
    };
    let iterations = iterations.min(f64::from(u32::MAX)) as u64;
    let seconds = waiting + fixed + once.unwrap_or(0.0) * iterations as f64;
    let skip = if skip { before.iter().map(|slot| slot.number).collect() } else { Vec::new() };
    Advice::Recost { slot: slot.number, hash: hash.to_owned(), iterations, seconds, skip }
}

/// The first keyslot that already opens in time.
fn ready(slots: &[Candidate], wanted: Option<u64>, rates: &Rates, within: f64) -> Option<Advice> {
    let mut seconds = 0.0;
    for slot in slots.iter().filter(|slot| slot.tried) {
        seconds += one(slot, rates);
        let known = rates.seconds(&slot.derive).is_some();
        if known && slot.opens && wanted.is_none_or(|number| slot.number == number) && seconds <= within {
            return Some(Advice::Nothing { slot: slot.number, seconds });
        }
    }
    None
}

/// The seconds needed to try one keyslot, as far as they are known; anything that the target cannot
/// compute takes no time.
fn one(slot: &Candidate, rates: &Rates) -> f64 {
    let seconds = |work| rates.seconds(work).unwrap_or(0.0);
    seconds(&slot.derive) + seconds(&slot.digest) + rates.each_slot
}

/// The part of the time that is used: the rest allows for a slightly slower machine than stated.
const MARGIN: f64 = 0.9;
/// PBKDF2's minimum number of iterations, as in cryptsetup.
const LEAST: f64 = 1000.0;

#[cfg(test)]
mod tests {
    use super::*;

    fn slot(number: u64, iterations: u64) -> Candidate {
        Candidate {
            number,
            derive: Work::pbkdf2("sha512", iterations, 64),
            digest: Work::pbkdf2("sha256", 1000, 32),
            key_len: 64,
            opens: true,
            tried: true,
        }
    }

    fn rates() -> Rates {
        Rates {
            pbkdf2: vec![("sha512".into(), 100_000.0), ("sha256".into(), 200_000.0)],
            argon2: None,
            each_slot: 0.0,
        }
    }

    #[test]
    fn what_is_quick_enough_stays() {
        let slots = [slot(0, 200_000), slot(1, 10_000)];
        let Advice::Nothing { slot: 0, seconds } = advise(&slots, None, &rates(), 4.0, "sha512", true) else {
            panic!()
        };
        assert!((2.0..2.01).contains(&seconds));
        let Advice::Nothing { slot: 1, seconds } = advise(&slots, Some(1), &rates(), 4.0, "sha512", true)
        else {
            panic!()
        };
        assert!((2.1..2.12).contains(&seconds));
    }

    #[test]
    fn a_new_cost_fits_the_time() {
        let slots = [slot(0, 2_612_730)];
        let advice = advise(&slots, None, &rates(), 4.0, "sha512", true);
        let Advice::Recost { slot: 0, iterations, seconds, skip, .. } = advice else { panic!("{advice:?}") };
        assert!((350_000..=360_000).contains(&iterations) && seconds <= 4.0 && skip.is_empty());
    }

    #[test]
    fn what_is_tried_before_is_skipped_or_in_the_way() {
        let slots = [slot(0, 2_612_730), slot(1, 2_612_730)];
        let advice = advise(&slots, Some(1), &rates(), 4.0, "sha512", true);
        assert!(matches!(&advice, Advice::Recost { slot: 1, skip, .. } if *skip == [0]), "{advice:?}");
        let advice = advise(&slots, Some(1), &rates(), 4.0, "sha512", false);
        assert!(
            matches!(&advice, Advice::Impossible { because } if because.contains("26.1 s")),
            "{advice:?}"
        );
        assert!(matches!(advise(&slots, Some(9), &rates(), 4.0, "sha512", true), Advice::Impossible { .. }));
        assert!(matches!(advise(&slots, None, &rates(), 4.0, "sm3", true), Advice::Impossible { .. }));
        assert!(matches!(advise(&slots, None, &rates(), 0.001, "sha512", true), Advice::Impossible { .. }));
    }
}
