//! The passport as an HTML page: `--html FILE`.

use super::facts::{Keyslot, Passport};
use super::text::strength;
use super::words::{derivation, dollars, grouped, large, seconds, years};
use crate::say::failure::{Exit, Failure, Result};
use keyway_boot::advice::Advice;
use keyway_boot::loader::grub::Verdict;
use keyway_measure::report::{self, PassportPage, PassportSlot};
use keyway_volume::storage::Place;
use std::io::Write;
use std::path::Path;

/// Writes the page to a file that does not exist yet.
pub(super) fn write(passport: &Passport, path: &Path) -> Result<()> {
    let refused =
        |error: std::io::Error| Failure::new(Exit::Parameters, format!("Page {}: {error}.", path.display()));
    let mut file = Place::find(path, false).and_then(|place| place.make(0o666)).map_err(refused)?;
    file.write_all(report::passport(&page(passport)).as_bytes()).map_err(refused)
}

fn page(passport: &Passport) -> PassportPage {
    let facts = [
        ("Volume", passport.device.clone()),
        ("Format", format!("LUKS{}", passport.format)),
        ("Target", passport.target.clone()),
        ("Passphrase", format!("{} bits of entropy", passport.entropy)),
        ("Attacker", passport.hardware.to_owned()),
        ("Price", format!("{} an hour", dollars(passport.price))),
    ];
    let warnings = match passport.weakest.filter(|_| passport.slots.len() > 1) {
        Some(weakest) => vec![format!("Keyslot {weakest} is the weakest: an attacker begins there.")],
        None => Vec::new(),
    };
    PassportPage {
        title: passport.device.rsplit('/').next().unwrap_or_default().to_owned(),
        facts: facts.into_iter().map(|(name, value)| (name.to_owned(), value)).collect(),
        places: ["here".to_owned(), "on the target".to_owned()],
        slots: passport.slots.iter().map(|slot| keyslot(passport, slot)).collect(),
        warnings,
        advice: advice(passport),
    }
}

fn keyslot(passport: &Passport, slot: &Keyslot) -> PassportSlot {
    let total = slot.alone.and_then(|alone| Some(alone + slot.before?));
    let words = |time: Option<f64>| (time, time.map_or("not known".to_owned(), seconds));
    let problem = slot.verdict.as_ref().and_then(|verdict| match verdict {
        Verdict::Opens => None,
        Verdict::Cannot(why) => Some(format!("The target cannot open it, because {why}.")),
        Verdict::SaysInvalidPassphrase(why) => {
            Some(format!("The target will say \"Invalid passphrase\" to the right one, because {why}."))
        }
    });
    let unknown = || "not published".to_owned();
    PassportSlot {
        name: format!("Keyslot {}", slot.number),
        derivation: derivation(&slot.derive, &slot.variant),
        seconds: [words(slot.here), words(total)],
        problem,
        search: [
            slot.cost.map_or_else(unknown, |cost| large(cost.guesses_per_second)),
            slot.cost.map_or_else(unknown, |cost| years(cost.years)),
            slot.cost.map_or_else(unknown, |cost| dollars(cost.dollars)),
        ],
        weakest: passport.weakest == Some(slot.number),
    }
}

fn advice(passport: &Passport) -> Option<(Vec<String>, Vec<String>)> {
    let advised = passport.advice.as_ref()?;
    let within = seconds(passport.within.unwrap_or_default());
    let sentences = match &advised.advice {
        Advice::Nothing { slot, seconds: took } => {
            vec![format!("Nothing: keyslot {slot} opens in {}, which is within {within}.", seconds(*took))]
        }
        Advice::Impossible { because } => vec![format!("It cannot be done within {within}: {because}.")],
        Advice::Recost { slot, hash, iterations, seconds: took, .. } => {
            let first = format!(
                "Keyslot {slot} with pbkdf2 {hash} and {} iterations opens in {} on the target.",
                grouped(*iterations),
                seconds(*took)
            );
            [Some(first), advised.cheaper.map(strength)].into_iter().flatten().collect()
        }
    };
    Some((sentences, advised.commands.clone()))
}
