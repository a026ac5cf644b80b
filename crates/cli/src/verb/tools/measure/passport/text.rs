//! The passport as text.

use super::advised::Advised;
use super::facts::{Keyslot, Passport};
use super::sentences;
use super::words::{NO_RATE, ON_TARGET, TO_FIND, derivation, dollars, guesses, large, years};
use crate::output::figures::{busy, seconds, span};
use crate::output::paint::{Paint, printable};
use crate::output::size::human;
use keyway_boot::advice::Advice;
use keyway_boot::loader::grub::Verdict;
use std::fmt::Write;

/// What the first boot of a marked volume costs beside its keyslots.
const FIRST_BOOT: &str = "to come: \"keyway unlock\" will reencrypt all of it under its own volume key, which \
                          adds to the times below; other commands that open it leave it as it is";

/// The whole page.
pub(super) fn show(passport: &Passport, paint: Paint) -> String {
    let mut page = String::new();
    let kind = format!("LUKS{}", passport.format);
    let _ = writeln!(page, "{}  {}", paint.strong(&printable(&passport.device)), paint.strong(&kind));
    let mut row = |name: &str, value: &str| {
        let _ = writeln!(page, "  {}{value}", paint.faint(&format!("{name:<11}")));
    };
    row("Target", &printable(&passport.target));
    row("Its CPU", &printable(&passport.rates));
    row("Its memory", &passport.memory_kib.map_or("not known".to_owned(), |kib| human(kib * 1024)));
    row("Attacker", &format!("{}, {} an hour", passport.hardware, dollars(passport.price)));
    row("Passphrase", &guesses(passport.entropy));
    if passport.awaits_first_boot {
        row("First boot", FIRST_BOOT);
    }
    if let Some(why) = &passport.refused {
        let refused = paint.bad(&format!("It opens no keyslot, because {}.", printable(&why.because)));
        let _ = writeln!(page, "\n  {refused}");
    }
    for slot in &passport.slots {
        keyslot(&mut page, passport, slot, paint);
    }
    if passport.slots.is_empty() {
        page.push_str("\n  No keyslot opens it.\n");
    }
    if let (Some(weakest), true) = (passport.weakest, passport.slots.len() > 1) {
        let _ = writeln!(
            page,
            "\n  {} Keyslot {weakest} is the weakest: its passphrase is the cheapest to find.",
            paint.warning("!")
        );
    }
    for note in sentences::notes(passport) {
        let _ = writeln!(page, "  {} {}", paint.warning("!"), printable(&note));
    }
    if !passport.modules.is_empty() && passport.refused.is_none() {
        let modules = passport.modules.join(" ");
        let _ = writeln!(page, "  Modules to embed: grub-install --modules=\"{modules}\"");
    }
    if let Some(advised) = &passport.advice {
        advice(&mut page, passport, advised, paint);
    }
    page
}

fn keyslot(page: &mut String, passport: &Passport, slot: &Keyslot, paint: Paint) {
    let ignored = if slot.ignored { " (only when it is named)" } else { "" };
    let title = paint.strong(&format!("Keyslot {}", slot.number));
    let _ = writeln!(page, "\n  {title}  {}{ignored}", printable(&derivation(&slot.derive, &slot.variant)));
    let mut row = |name: &str, value: String| {
        let _ = writeln!(page, "    {}{value}", paint.faint(&format!("{name:<17}")));
    };
    let checked = passport.checked.filter(|(number, _)| *number == slot.number);
    // It waited for them, unlike the times that are told.
    let beside = if busy(passport.interference).is_some() { ", beside other programs" } else { "" };
    let checked = checked
        .map(|(_, took)| format!("; a real derivation took {}{beside}", seconds(took)))
        .unwrap_or_default();
    row("here", format!("{}{checked}", slot.here.map_or("not known".into(), span)));
    row(ON_TARGET, on_target(passport, slot, paint));
    if let Some(time) = slot.by_cryptsetup {
        row("with cryptsetup", paint.strong(&span(time)));
    }
    row(
        TO_FIND,
        match slot.cost {
            Some(cost) => format!(
                "{} guesses a second, {}, {}",
                large(cost.guesses_per_second),
                years(cost.years),
                paint.strong(&dollars(cost.dollars))
            ),
            None => "no published rates of this hardware for this hash".into(),
        },
    );
}

fn on_target(passport: &Passport, slot: &Keyslot, paint: Paint) -> String {
    match (&slot.verdict, slot.alone) {
        (Some(Verdict::Cannot(why)), _) => paint.bad(&format!("cannot be opened, because {why}")),
        (Some(Verdict::SaysInvalidPassphrase(why)), _) => {
            paint.bad(&format!("says \"Invalid passphrase\" to the right one, because {why}"))
        }
        (_, None) if slot.ignored => "not tried".into(),
        _ if slot.fits == Some(false) => paint.bad(&sentences::does_not_fit(passport, slot)),
        (_, Some(alone)) => {
            let unknown = match slot.fits {
                None => "; if the target has the memory: --target-memory SIZE tells",
                Some(_) => "",
            };
            match slot.before.filter(|before| before.likely >= 0.05) {
                Some(before) => format!(
                    "{}: {} for keyslots tried before it, {} for its own{unknown}",
                    paint.strong(&span(before + alone)),
                    seconds(before.likely),
                    seconds(alone.likely)
                ),
                None => format!("{}{unknown}", paint.strong(&span(alone))),
            }
        }
        (_, None) => NO_RATE.into(),
    }
}

fn advice(page: &mut String, passport: &Passport, advised: &Advised, paint: Paint) {
    let within = seconds(passport.within.unwrap_or_default());
    let _ = writeln!(page, "\n  {}", paint.strong(&format!("Within {within} on the target")));
    for sentence in sentences::advice(passport, advised) {
        let sentence = printable(&sentence);
        let impossible = matches!(advised.advice, Advice::Impossible { .. });
        let _ = writeln!(page, "  {}", if impossible { paint.bad(&sentence) } else { sentence });
    }
    for command in &advised.commands {
        let _ = writeln!(page, "    {}", printable(command));
    }
}
