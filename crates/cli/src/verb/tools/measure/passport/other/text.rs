//! A volume without a LUKS header, as text.

use super::super::words::{NO_RATE, ON_TARGET, TO_FIND, dollars, guesses, large, years};
use super::costs::{Seconds, derivation};
use super::openers::Opens;
use super::{Costed, Other, Search};
use crate::output::figures::{busy, span};
use crate::output::paint::{Paint, printable};
use crate::output::size::human;
use keyway_format::interval::Interval;
use std::fmt::Write;

/// The whole page.
pub(in crate::verb::tools::measure::passport) fn show(other: &Other, paint: Paint) -> String {
    let mut page = String::new();
    let title = other.title();
    let _ = writeln!(page, "{}  {}", paint.strong(&printable(&other.device)), paint.strong(title));
    let mut row = |name: &str, value: &str| {
        let _ = writeln!(page, "  {}{value}", paint.faint(&format!("{name:<11}")));
    };
    row("Target", &printable(&other.target));
    row("Its CPU", &printable(&other.rates));
    row("Its memory", &other.memory_kib.map_or("not known".to_owned(), |kib| human(kib * 1024)));
    row("Attacker", &format!("{}, {} an hour", other.hardware, dollars(other.price)));
    row("Passphrase", &guesses(other.entropy));
    row("Cipher", &ciphers(&other.ciphers));
    if other.is_refused {
        let _ = writeln!(page, "\n  {}", paint.bad(REFUSED));
    }
    if let Some(whole) = &other.whole {
        all(&mut page, other, whole, paint);
    }
    other.ways.iter().for_each(|it| way(&mut page, other, it, paint));
    if other.ways.is_empty() {
        page.push_str("\n  Nothing is known to open it.\n");
    }
    let _ = writeln!(page, "\n  {}", paint.strong("Opened by"));
    for opener in &other.openers {
        let how = match opener.opens {
            Opens::Yes | Opens::Some => printable(&opener.how),
            Opens::No => paint.bad(&printable(&format!("no: {}", opener.how))),
        };
        let _ = writeln!(page, "    {}{how}", paint.faint(&format!("{:<17}", opener.name)));
    }
    remarks(&mut page, other, paint);
    page
}

/// What GRUB makes of such a volume.
pub(super) const REFUSED: &str = "The target does not open it: no release of GRUB knows the format.";

fn remarks(page: &mut String, other: &Other, paint: Paint) {
    let remarks = other.weak.iter().map(|weak| (weak.says.clone(), &weak.commands[..]));
    let busy = busy(other.interference).map(|says| (says, &[][..]));
    for (number, (says, commands)) in remarks.chain(busy).enumerate() {
        let gap = if number == 0 { "\n" } else { "" };
        let _ = writeln!(page, "{gap}  {} {}", paint.warning("!"), printable(&says));
        for command in commands {
            let _ = writeln!(page, "    {}", printable(command));
        }
    }
}

fn ciphers(all: &[String]) -> String {
    match all {
        few @ ([_] | [_, _]) => printable(&few.join(" or ")),
        many => format!("one of {} ciphers and chains", many.len()),
    }
}

/// A wrong passphrase.
fn all(page: &mut String, other: &Other, whole: &Seconds, paint: Paint) {
    let tried: usize = other.ways.iter().map(|it| it.way.headers).sum();
    let title = match tried {
        1 => "1 key derivation is tried".to_owned(),
        tried => {
            format!("{tried} key derivations are tried: only the right passphrase shows which one it is")
        }
    };
    let _ = writeln!(page, "\n  {}", paint.strong(&title));
    times(page, other, whole, paint, " until a passphrase is known to be wrong");
}

fn way(page: &mut String, other: &Other, it: &Costed, paint: Paint) {
    let label = it.way.label.as_ref().map(|label| format!(" \"{label}\"")).unwrap_or_default();
    let name = printable(&format!("{}{label}", capital(&it.way.name)));
    let takes = match other.whole {
        None if it.way.takes.to_string() != it.way.name => format!("{}, ", it.way.takes),
        _ => String::new(),
    };
    let _ = writeln!(page, "\n  {}  {takes}{}", paint.strong(&name), printable(&derivation(&it.way.cost)));
    if it.work.is_some() {
        times(page, other, &it.seconds, paint, "");
    }
    let search = match &it.search {
        Search::Costs(cost) => format!(
            "{} guesses a second, {}, {}",
            large(cost.guesses_per_second),
            years(cost.years),
            paint.strong(&dollars(cost.dollars))
        ),
        Search::AtMost(cost) => format!(
            "at least {} guesses a second, at most {}, {}: cheaper than any hash",
            large(cost.guesses_per_second),
            years(cost.years),
            paint.strong(&dollars(cost.dollars))
        ),
        Search::Unpublished(what) => format!("no published rates of this hardware for {}", printable(what)),
        Search::Hopeless(why) => format!("no search: {why}"),
        Search::Open => paint.bad("no search is needed: it opens by itself"),
    };
    let _ = writeln!(page, "    {}{search}", paint.faint(&format!("{:<17}", TO_FIND)));
}

fn times(page: &mut String, other: &Other, seconds: &Seconds, paint: Paint, what: &str) {
    let mut row = |name: &str, time: Option<Interval>| {
        let time = time.map_or(NO_RATE.to_owned(), |time| format!("{}{what}", span(time)));
        let _ = writeln!(page, "    {}{time}", paint.faint(&format!("{name:<17}")));
    };
    row("here", seconds.here);
    if other.target_is_another() {
        row(ON_TARGET, seconds.on_target);
    }
    if let Some(time) = seconds.by_cryptsetup {
        row("with cryptsetup", Some(time));
    }
}

/// "Protector 0".
pub(super) fn capital(name: &str) -> String {
    let mut letters = name.chars();
    letters.next().map_or(String::new(), |first| first.to_uppercase().chain(letters).collect())
}

impl Other {
    /// "BitLocker".
    pub(super) fn title(&self) -> &'static str {
        match self.kind {
            "tcrypt" => "TrueCrypt or VeraCrypt",
            "bitlk" => "BitLocker",
            "fvault2" => "FileVault 2",
            "loopaes" => "loop-AES",
            _ => "plain dm-crypt",
        }
    }

    /// Whether the target is not this program on this machine, and opens the volume.
    pub(super) fn target_is_another(&self) -> bool {
        let all = self.ways.iter().map(|it| it.seconds).chain(self.whole);
        all.into_iter().any(|it| it.on_target.is_some() && it.by_cryptsetup.is_none())
    }
}
