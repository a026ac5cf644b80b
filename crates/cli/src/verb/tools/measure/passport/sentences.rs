//! What the passport says in sentences, for text and page alike.

use super::advised::Advised;
use super::facts::{Keyslot, Passport};
use super::words::{derivation, dollars, large};
use crate::output::figures::{busy, grouped, seconds, span};
use crate::output::size::human;
use keyway_boot::advice::{Advice, Change};
use keyway_boot::attack::Least;
use keyway_boot::unlock_time::Work;
use keyway_format::interval::Within;

/// What the user should know beside the keyslots' own rows.
pub(super) fn notes(passport: &Passport) -> Vec<String> {
    let mut notes: Vec<String> = passport.notes.iter().map(|note| format!("{}.", note.because)).collect();
    notes.extend(passport.cures.iter().cloned());
    notes.extend(busy(passport.interference));
    notes
}

/// Why Argon2 has no room on the target.
pub(super) fn does_not_fit(passport: &Passport, slot: &Keyslot) -> String {
    let needs = match slot.derive {
        Work::Argon2 { memory_kib, .. } => human(memory_kib * 1024),
        Work::Pbkdf2 { .. } | Work::Stretching { .. } => String::new(),
    };
    let has = passport.memory_kib.map_or(String::new(), |kib| human(kib * 1024));
    format!("does not fit: it needs {needs} of memory, and the target has {has} for everything")
}

/// The advice, a sentence each.
pub(super) fn advice(passport: &Passport, advised: &Advised) -> Vec<String> {
    let mut sentences = Vec::new();
    let by = by(passport);
    match &advised.advice {
        Advice::Impossible { because } => sentences.push(format!("It cannot be done: {because}.")),
        Advice::Nothing { slot, seconds } => {
            sentences.push(format!("Keyslot {slot} opens in {}{by} as it is.", span(*seconds)));
        }
        Advice::Change(change) => {
            sentences.push(changed(change, by));
            sentences.extend(change.cost.as_ref().map(|_| search(advised, change)));
        }
    }
    if advised.certainty.is_uncertain() {
        sentences.push(uncertain(passport, advised));
    }
    if let Advice::Change(change) = &advised.advice {
        if !change.skip.is_empty() {
            sentences.push(format!("{} then opens only when it is named.", keyslots(&change.skip)));
        }
        let later = change.later.iter();
        sentences.extend(later.map(|(number, time)| {
            format!(
                "Keyslot {number} then opens in {}{by}: keyslot {} is tried before it.",
                span(*time),
                change.slot
            )
        }));
    }
    sentences.extend(too_slow(advised, by));
    sentences
}

/// Whose seconds the advice is about, where two programs may open the volume: the slower one's.
fn by(passport: &Passport) -> &'static str {
    let two = passport.slots.iter().any(|slot| slot.by_cryptsetup.is_some());
    if two { " with cryptsetup" } else { "" }
}

fn changed(change: &Change, by: &str) -> String {
    let (slot, time) = (change.slot, format!("{}{by}", span(change.seconds)));
    match &change.cost {
        Some(cost) => {
            let variant = if matches!(cost, Work::Argon2 { .. }) { "argon2id" } else { "pbkdf2" };
            format!("Keyslot {slot} with {} opens in {time}.", derivation(cost, variant))
        }
        None => {
            let skipped = keyslots(&change.skip);
            format!("Keyslot {slot} opens in {time} as it is, if {} is not tried before it.", lower(&skipped))
        }
    }
}

/// The cost of the search before and after, in one line; and the word, if it is deserved.
fn search(advised: &Advised, change: &Change) -> String {
    let [before, after] = advised.search.map(|cost| match cost {
        Some(cost) => dollars(cost.dollars),
        None => "an unknown price (no published rates)".to_owned(),
    });
    let factor = advised.cheaper().map(|cheaper| format!(": {}", strength(cheaper))).unwrap_or_default();
    let cheap = match change.cheap() {
        Some(least) => {
            let why = advised.at_least.map(|time| format!(", which take {} there", seconds(time.likely)));
            format!(
                " That is cheap to guess: at least {} are recommended{}.",
                recommended(least),
                why.unwrap_or_default()
            )
        }
        None => String::new(),
    };
    format!("Finding its passphrase costs {before} before and {after} after{factor}.{cheap}")
}

fn recommended(least: Least) -> String {
    match least {
        Least::Iterations(least) => format!("{} iterations", grouped(least.into())),
        Least::KibPasses(_) => least.to_string(),
    }
}

/// How the change affects the search, and what would compensate for it.
fn strength(cheaper: f64) -> String {
    let bits = cheaper.log2();
    if bits <= 0.0 {
        return format!("{} times more expensive", large(1.0 / cheaper));
    }
    let more = |count: f64, one: &str| match count.ceil() as u64 {
        1 => format!("one more {one}"),
        many => format!("{many} more {one}s"),
    };
    format!(
        "{} times cheaper, {bits:.1} bits, which {} or {} compensate for",
        large(cheaper),
        more(bits / 36_f64.log2(), "random letter"),
        more(bits / 7776_f64.log2(), "diceware word")
    )
}

fn uncertain(passport: &Passport, advised: &Advised) -> String {
    let within = seconds(passport.within.unwrap_or_default());
    let what = match (&advised.advice, advised.certainty) {
        (Advice::Change(_), Within::Hardly) => "it may open in time as it is",
        (Advice::Change(_), _) => "it may take longer after the change",
        _ => "it may take longer",
    };
    format!("{within} is within the uncertainty of these times: {what}.")
}

/// The keyslots that this advice leaves too slow.
fn too_slow(advised: &Advised, by: &str) -> Option<String> {
    let changed = match &advised.advice {
        Advice::Change(change) => Some(change),
        _ => None,
    };
    let stays = |number: u64| changed.is_none_or(|it| it.slot != number && !it.skip.contains(&number));
    let left: Vec<String> = advised
        .too_slow
        .iter()
        .filter(|(number, _)| stays(*number))
        .map(|(number, time)| format!("keyslot {number} ({})", span(*time)))
        .collect();
    (!left.is_empty())
        .then(|| format!("Too slow as they are{by}: {}. --key-slot asks about one.", left.join("; ")))
}

/// "Keyslots 0, 2".
fn keyslots(numbers: &[u64]) -> String {
    let list: Vec<String> = numbers.iter().map(u64::to_string).collect();
    format!("Keyslot{} {}", if list.len() == 1 { "" } else { "s" }, list.join(", "))
}

fn lower(text: &str) -> String {
    text.replacen('K', "k", 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use keyway_boot::attack::{Hardware, cost};
    use keyway_format::interval::Interval;

    fn advised(from: Work, to: Work) -> Advised {
        let hardware = Hardware::find("rtx4090").unwrap();
        let price = |work: &Work| cost(work, hardware, 51.7, 0.7);
        let search = [price(&from), price(&to)];
        let seconds = Interval { low: 3.3, likely: 3.6, high: 4.3 };
        let change = Change { slot: 1, cost: Some(to), seconds, skip: vec![0], later: Vec::new() };
        let too_slow =
            vec![(0, Interval::exact(20.0)), (1, Interval::exact(41.0)), (2, Interval::exact(60.0))];
        let certainty = seconds.within(4.0);
        let at_least = change.cheap().map(|_| Interval::exact(5.0));
        let advice = Advice::Change(change);
        Advised { advice, search, at_least, certainty, too_slow, commands: Vec::new() }
    }

    /// Before and after in one line, and the word.
    #[test]
    fn what_weakens_is_said_with_its_cost() {
        let argon2 = Work::Argon2 { time: 4, memory_kib: 1 << 20, lanes: 4 };
        let found = advised(argon2, Work::pbkdf2("sha512", 150_000, 64));
        let Advice::Change(change) = &found.advice else { unreachable!() };
        let said = search(&found, change);
        assert!(
            said.starts_with("Finding its passphrase costs $") && said.contains(" before and $"),
            "{said}"
        );
        assert!(
            said.contains("times cheaper")
                && said.ends_with(
                    "cheap to guess: at least 210,000 iterations are recommended, which take 5.0 s there."
                ),
            "{said}"
        );
        assert!(!said.contains('\n'));
        let strong = advised(Work::pbkdf2("sha512", 900_000, 64), Work::pbkdf2("sha512", 300_000, 64));
        let Advice::Change(change) = &strong.advice else { unreachable!() };
        let said = search(&strong, change);
        assert!(said.contains("3.0 times cheaper") && !said.contains("cheap to guess"), "{said}");
        let left = too_slow(&strong, "").unwrap();
        assert!(
            left.contains("keyslot 2 (60 s)") && !left.contains("keyslot 0") && !left.contains("keyslot 1")
        );
    }

    #[test]
    fn the_search_and_its_compensation() {
        assert!(strength(0.5).contains("2.0 times more expensive"));
        assert!(strength(32.0).contains("5.0 bits") && strength(32.0).contains("one more random letter"));
    }
}
