//! What is weak in a volume of TrueCrypt's or VeraCrypt's. The commands that mend it address the same header: they repeat
//! the options that were given.

use super::super::{Costed, costs};
use super::{Subject, Weakness, says};
use crate::output::figures::grouped;
use crate::output::shell;
use keyway::parts::WayCost;
use keyway_boot::attack;
use keyway_format::tcrypt::{ARGON2_PIM, Argon2, KDFS, Stretch};

/// What is weak in it.
pub(super) fn weaknesses(subject: &Subject<'_>, ways: &[Costed]) -> Vec<Weakness> {
    [of_truecrypt(subject, ways), short_pim(subject, ways), old_hash(subject, ways)]
        .into_iter()
        .flatten()
        .collect()
}

/// TrueCrypt's headers cost a few hundredths of a second.
fn of_truecrypt(subject: &Subject<'_>, ways: &[Costed]) -> Option<Weakness> {
    let own = |it: &&Costed| it.way.name.starts_with("TrueCrypt");
    ways.iter().find(own)?;
    let only = ways.iter().all(|it| own(&it));
    let cbc = match subject.ciphers.iter().any(|cipher| cipher.contains("-cbc")) {
        true => " Until 4.0 they are in CBC, too, and whoever writes to the disk can change what is read.",
        false => "",
    };
    let start = if only { "TrueCrypt's" } else { "If TrueCrypt made it: its" };
    let weakness = format!(
        "{start} headers cost 1,000 or 2,000 iterations, which is cheap to guess, and VeraCrypt no longer \
         reads them.{cbc}"
    );
    if subject.given.tcrypt.system {
        return Some(says(format!("{weakness} Encrypt the system anew: no command changes one in place.")));
    }
    let (known, container) = (for_copy(subject), shell::word(subject.device));
    let command = format!("keyway copy --type tcrypt{known} --to veracrypt {container} new.hc");
    Some(says(format!("{weakness} Copy it to a volume of VeraCrypt's or to LUKS.")).mended_by(command))
}

/// A PIM below the one that VeraCrypt's own costs stand for.
fn short_pim(subject: &Subject<'_>, ways: &[Costed]) -> Option<Weakness> {
    let own = |it: &&Costed| it.way.name.starts_with("VeraCrypt") && !it.way.name.ends_with(')');
    let costs = || ways.iter().filter(own).map(|it| &it.way.cost);
    let iterations = costs().find_map(|cost| match cost {
        WayCost::Pbkdf2 { iterations, .. } => Some(*iterations),
        _ => None,
    });
    let argon2 = costs().find(|cost| matches!(cost, WayCost::Argon2id { .. }));
    let (says, pim) = match (iterations, argon2) {
        (Some(iterations), argon2) if iterations < USUAL => {
            (of_iterations(iterations, argon2.is_some()), USUAL_PIM)
        }
        (None, Some(argon2)) => (of_argon2(argon2, subject)?, ARGON2_PIM),
        _ => return None,
    };
    Some(changed(subject, says, &format!("--new-veracrypt-pim {pim}")))
}

fn of_iterations(iterations: u32, or_argon2: bool) -> String {
    let argon2 = if or_argon2 { format!(" (With Argon2id its own is {ARGON2_PIM}.)") } else { String::new() };
    format!(
        "The PIM is short: {} iterations, where VeraCrypt takes {} without one. A guess costs {}.{argon2}",
        grouped(iterations.into()),
        grouped(USUAL.into()),
        less(f64::from(USUAL) / f64::from(iterations))
    )
}

/// By the attacker's cost, which is memory times passes; `None` where it is not short.
fn of_argon2(cost: &WayCost, subject: &Subject<'_>) -> Option<String> {
    let usual = usual_argon2()?;
    let guesses = |cost: &WayCost| attack::guesses_per_second(&costs::work(cost)?, subject.hardware);
    let times = guesses(cost)? / guesses(&usual)?;
    (times > 1.0).then(|| {
        format!(
            "The PIM is short: {}, where VeraCrypt takes {} without one (PIM {ARGON2_PIM}). A guess costs {}.",
            costs::derivation(cost),
            costs::derivation(&usual),
            less(times)
        )
    })
}

/// What VeraCrypt takes of Argon2id without a PIM.
fn usual_argon2() -> Option<WayCost> {
    KDFS.iter().find_map(|kdf| match kdf.stretch(None)? {
        Stretch::Argon2id(Argon2 { passes, memory_kib }) => Some(WayCost::Argon2id { passes, memory_kib }),
        Stretch::Pbkdf2 { .. } => None,
    })
}

/// "31.2 times less".
fn less(times: f64) -> String {
    match times < 1.05 {
        true => "a little less".to_owned(),
        false => format!("{times:.1} times less"),
    }
}

/// VeraCrypt's iterations without a PIM, and the PIM that stands for as many.
const USUAL: u32 = 500_000;
const USUAL_PIM: u32 = 485;

/// Hashes that VeraCrypt has left behind, where one was named.
fn old_hash(subject: &Subject<'_>, ways: &[Costed]) -> Option<Weakness> {
    let mut veracrypt = ways.iter().filter(|it| it.way.name.starts_with("VeraCrypt")).peekable();
    veracrypt.peek()?;
    let says = "RIPEMD-160 left VeraCrypt in 1.26: later ones do not open it.";
    veracrypt
        .all(|it| it.way.name.starts_with("VeraCrypt ripemd160"))
        .then(|| changed(subject, says.to_owned(), "--new-hash sha512"))
}

/// With the command that changes the header, where there is one.
fn changed(subject: &Subject<'_>, weakness: String, new: &str) -> Weakness {
    if subject.given.tcrypt.system {
        let not = "tcryptChangeKey changes no encrypted system: VeraCrypt does, running in it.";
        return says(format!("{weakness} ({not})"));
    }
    if subject.header.is_some() {
        return says(format!("{weakness} (tcryptChangeKey changes no header that is kept elsewhere.)"));
    }
    let (known, container) = (for_change(subject), shell::word(subject.device));
    says(weakness).mended_by(format!("keyway tcryptChangeKey{known} {new} {container}"))
}

/// The options that name the same header to tcryptChangeKey, and what is known of it.
fn for_change(subject: &Subject<'_>) -> String {
    let given = &subject.given.tcrypt;
    let known = [("hash", &given.hash), ("cipher", &given.cipher)];
    let known = known.into_iter().filter_map(|(name, value)| Some((name, shell::word(value.as_ref()?))));
    place(subject)
        .into_iter()
        .chain(known.map(|(name, value)| format!(" --{name} {value}")))
        .chain(pim(subject))
        .collect()
}

/// The same for copy, whose hash and cipher are the new volume's.
fn for_copy(subject: &Subject<'_>) -> String {
    let header = subject.header.map(|header| format!(" --header {}", shell::word(header)));
    let truecrypt = subject.given.tcrypt.only_truecrypt.then(|| " --disable-veracrypt".to_owned());
    header.into_iter().chain(place(subject)).chain(truecrypt).collect()
}

/// Which header it is, and its key files.
fn place(subject: &Subject<'_>) -> Vec<String> {
    let given = &subject.given.tcrypt;
    let flags = [("hidden", given.hidden), ("backup", given.backup)];
    let flags =
        flags.into_iter().filter(|(_, is_given)| *is_given).map(|(name, _)| format!(" --tcrypt-{name}"));
    let files = given.key_files.iter().map(|file| shell::word(&file.display().to_string()));
    flags.chain(files.map(|file| format!(" --key-file {file}"))).collect()
}

fn pim(subject: &Subject<'_>) -> Option<String> {
    subject.given.tcrypt.pim.filter(|pim| *pim != 0).map(|pim| format!(" --veracrypt-pim {pim}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn costs_are_compared_to_a_decimal() {
        assert_eq!(["a little less", "1.3 times less", "31.2 times less"], [1.002, 1.34, 31.25].map(less));
        let pim_251 = "The PIM is short: 266,000 iterations, where VeraCrypt takes 500,000 without one. A guess costs 1.9 times less.";
        assert_eq!(of_iterations(266_000, false), pim_251);
    }
}
