//! The passport as an HTML page: `--html FILE`.

use super::facts::{Keyslot, Passport};
use super::sentences;
use super::words::{self, derivation, dollars, entropy, large, years};
use crate::output::failure::{Exit, Failure, Result};
use crate::output::figures::span;
use keyway::storage::Place;
use keyway_boot::loader::grub::Verdict;
use keyway_format::interval::Interval;
use keyway_measure::report::{self, PassportPage, PassportSlot};
use std::io::Write;
use std::path::Path;

/// Writes the page to a file that does not exist yet.
pub(super) fn write(page: &PassportPage, path: &Path) -> Result<()> {
    let refused =
        |error: std::io::Error| Failure::new(Exit::Parameters, format!("Page {}: {error}.", path.display()));
    let mut file = Place::find(path, false).and_then(|place| place.make(0o666)).map_err(refused)?;
    file.write_all(report::passport(page).as_bytes()).map_err(refused)
}

/// Of a LUKS volume.
pub(super) fn passport_page(passport: &Passport) -> PassportPage {
    let facts = [
        ("Volume", passport.device.clone()),
        ("Format", format!("LUKS{}", passport.format)),
        ("Target", passport.target.clone()),
        ("Its CPU", passport.rates.clone()),
        ("Passphrase", entropy(passport.entropy)),
        ("Attacker", passport.hardware.to_owned()),
        ("Price", format!("{} an hour", dollars(passport.price))),
    ];
    let weakest = passport.weakest.filter(|_| passport.slots.len() > 1);
    let weakest = weakest.map(|it| format!("Keyslot {it} is the weakest: an attacker begins there."));
    let refused = passport.refused.iter().map(|why| format!("The target opens no keyslot, because {why}."));
    let warnings = weakest.into_iter().chain(refused).chain(sentences::notes(passport)).collect();
    PassportPage {
        title: format!("Keyslots of {}", name(&passport.device)),
        each: "Keyslot".to_owned(),
        facts: facts.into_iter().map(|(name, value)| (name.to_owned(), value)).collect(),
        places: ["here".to_owned(), words::ON_TARGET.to_owned()],
        slots: passport.slots.iter().map(|slot| keyslot(passport, slot)).collect(),
        warnings,
        advice: advice(passport),
    }
}

/// The last part of its path.
pub(super) fn name(device: &str) -> &str {
    device.rsplit('/').next().unwrap_or_default()
}

fn keyslot(passport: &Passport, slot: &Keyslot) -> PassportSlot {
    let total = slot.alone.and_then(|alone| Some(alone + slot.before?));
    let words =
        |time: Option<Interval>| (time.map(|it| it.likely), time.map_or("not known".to_owned(), span));
    let problem = slot.verdict.as_ref().and_then(|verdict| match verdict {
        Verdict::Opens => None,
        Verdict::Cannot(why) => Some(format!("The target cannot open it, because {why}.")),
        Verdict::SaysInvalidPassphrase(why) => {
            Some(format!("The target will say \"Invalid passphrase\" to the right one, because {why}."))
        }
    });
    let too_large = || format!("On the target it {}.", sentences::does_not_fit(passport, slot));
    let problem = problem.or_else(|| (slot.fits == Some(false)).then(too_large));
    let unknown = || "not published".to_owned();
    let price = slot.cost.map_or_else(unknown, |cost| dollars(cost.dollars));
    PassportSlot {
        name: format!("Keyslot {}", slot.number),
        derivation: derivation(&slot.derive, &slot.variant),
        seconds: [words(slot.here), words(total)],
        problem,
        search: [
            slot.cost.map_or_else(unknown, |cost| large(cost.guesses_per_second)),
            slot.cost.map_or_else(unknown, |cost| years(cost.years)),
            price.clone(),
        ],
        about: format!("{price} to find its passphrase"),
        weakest: passport.weakest == Some(slot.number),
    }
}

fn advice(passport: &Passport) -> Option<(Vec<String>, Vec<String>)> {
    let advised = passport.advice.as_ref()?;
    let sentences = sentences::advice(passport, advised);
    Some((sentences, advised.commands.clone()))
}
