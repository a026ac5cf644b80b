//! The passport as text.

use super::facts::{Advised, Keyslot, Passport};
use super::words::{derivation, dollars, grouped, large, seconds, years};
use crate::say::paint::{Paint, printable};
use keyway_boot::advice::Advice;
use keyway_boot::loader::grub::Verdict;
use std::fmt::Write;

/// The whole page.
pub(super) fn show(passport: &Passport, paint: Paint) -> String {
    let mut page = String::new();
    let kind = format!("LUKS{}", passport.format);
    let _ = writeln!(page, "{}  {}", paint.strong(&printable(&passport.device)), paint.strong(&kind));
    let mut row = |name: &str, value: &str| {
        let _ = writeln!(page, "  {}{value}", paint.faint(&format!("{name:<11}")));
    };
    row("Target", &printable(&passport.target));
    row("Attacker", &format!("{}, {} an hour", passport.hardware, dollars(passport.price)));
    row(
        "Passphrase",
        &format!("{} bits: half of {} guesses", passport.entropy, large(passport.entropy.exp2())),
    );
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
        let _ = writeln!(page, "    {}{value}", paint.faint(&format!("{name:<15}")));
    };
    let checked = passport.checked.filter(|(number, _)| *number == slot.number);
    let checked =
        checked.map(|(_, took)| format!("; a real derivation took {}", seconds(took))).unwrap_or_default();
    row("here", format!("{}{checked}", slot.here.map_or("not known".into(), seconds)));
    row("on the target", on_target(slot, paint));
    row(
        "to find it",
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

fn on_target(slot: &Keyslot, paint: Paint) -> String {
    match (&slot.verdict, slot.alone) {
        (Some(Verdict::Cannot(why)), _) => paint.bad(&format!("cannot be opened, because {why}")),
        (Some(Verdict::SaysInvalidPassphrase(why)), _) => {
            paint.bad(&format!("says \"Invalid passphrase\" to the right one, because {why}"))
        }
        (_, Some(alone)) => match slot.before.filter(|before| *before >= 0.05) {
            Some(before) => format!(
                "{}: {} for keyslots tried before it, {} for its own",
                paint.strong(&seconds(before + alone)),
                seconds(before),
                seconds(alone)
            ),
            None => paint.strong(&seconds(alone)),
        },
        (_, None) if slot.ignored => "not tried".into(),
        (_, None) => "no rate is known for it".into(),
    }
}

fn advice(page: &mut String, passport: &Passport, advised: &Advised, paint: Paint) {
    let within = seconds(passport.within.unwrap_or_default());
    let _ = writeln!(page, "\n  {}", paint.strong(&format!("Within {within} on the target")));
    match &advised.advice {
        Advice::Nothing { slot, seconds: took } => {
            let _ = writeln!(page, "  Keyslot {slot} opens in {} as it is.", seconds(*took));
        }
        Advice::Impossible { because } => {
            let _ = writeln!(page, "  {}", paint.bad(&format!("It cannot be done: {}.", printable(because))));
        }
        Advice::Recost { slot, hash, iterations, seconds: took, .. } => {
            let _ = writeln!(
                page,
                "  Keyslot {slot} with pbkdf2 {hash} and {} iterations opens in {}.",
                grouped(*iterations),
                seconds(*took)
            );
            if let Some(cheaper) = advised.cheaper {
                let _ = writeln!(page, "  {}", strength(cheaper));
            }
            for command in &advised.commands {
                let _ = writeln!(page, "    {}", printable(command));
            }
        }
    }
}

/// How the change affects the search, and what would compensate for it.
pub(super) fn strength(cheaper: f64) -> String {
    let bits = cheaper.log2();
    if bits <= 0.0 {
        return format!("Its passphrase becomes {} times more expensive to find.", large(1.0 / cheaper));
    }
    let more = |count: f64, one: &str| match count.ceil() as u64 {
        1 => format!("one more {one}"),
        many => format!("{many} more {one}s"),
    };
    format!(
        "Its passphrase becomes {} times cheaper to find: {bits:.1} bits, which {} or {} compensate for.",
        large(cheaper),
        more(bits / 36_f64.log2(), "random letter"),
        more(bits / 7776_f64.log2(), "diceware word")
    )
}
