//! What is weak in a volume, and what mends it.

use super::{Costed, Search};
use crate::output::figures::grouped;
use crate::output::shell;
use keyway::parts::{Takes, WayCost};
use keyway_boot::attack::Least;

/// What is weak, in sentences, with the commands that mend it.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Weakness {
    pub(super) says: String,
    pub(super) commands: Vec<String>,
}

/// The volume that it is about.
pub(super) struct Subject<'a> {
    pub(super) kind: &'static str,
    pub(super) device: &'a str,
    pub(super) ciphers: &'a [String],
}

/// What is weak in the volume.
pub(super) fn of(subject: &Subject<'_>, ways: &[Costed]) -> Vec<Weakness> {
    match subject.kind {
        "tcrypt" => [of_truecrypt(subject, ways), short_pim(subject, ways), old_hash(subject, ways)]
            .into_iter()
            .flatten()
            .collect(),
        "bitlk" => bitlocker(subject, ways),
        "fvault2" => few_iterations(subject, ways).into_iter().collect(),
        "plain" => plain(subject, ways).into_iter().collect(),
        _ => vec![says(
            "The key file is all that opens it, and no passphrase goes into it: keep it encrypted (gpg), and away from the \
             disk.",
        )],
    }
}

fn says(says: impl Into<String>) -> Weakness {
    Weakness { says: says.into(), commands: Vec::new() }
}

impl Weakness {
    fn mended_by(self, command: String) -> Self {
        Self { commands: vec![command], ..self }
    }
}

/// TrueCrypt's headers cost a few hundredths of a second.
fn of_truecrypt(subject: &Subject<'_>, ways: &[Costed]) -> Option<Weakness> {
    let own = |it: &&Costed| it.way.name.starts_with("TrueCrypt");
    ways.iter().find(own)?;
    let only = ways.iter().all(|it| own(&it));
    let container = shell::word(subject.device);
    let cbc = subject.ciphers.iter().any(|cipher| cipher.contains("-cbc"));
    let cbc = if cbc {
        " Until 4.0 they are in CBC, too, and whoever writes to the disk can change what is read."
    } else {
        ""
    };
    let start = if only { "TrueCrypt's" } else { "If TrueCrypt made it: its" };
    let weakness = says(format!(
        "{start} headers cost 1,000 or 2,000 iterations, which is cheap to guess, and VeraCrypt reads them no more.{cbc} Copy it to \
         a volume of VeraCrypt's or to LUKS."
    ));
    Some(weakness.mended_by(format!("keyway copy --type tcrypt --to veracrypt {container} new.hc")))
}

/// A PIM below the one that VeraCrypt's own iterations stand for.
fn short_pim(subject: &Subject<'_>, ways: &[Costed]) -> Option<Weakness> {
    let sha512 = ways.iter().find_map(|it| match it.way.cost {
        WayCost::Pbkdf2 { iterations, .. }
            if it.way.name.starts_with("VeraCrypt") && !it.way.name.ends_with(')') =>
        {
            Some(iterations)
        }
        _ => None,
    })?;
    (sha512 < USUAL).then(|| {
        let (container, pim) = (shell::word(subject.device), (sha512.saturating_sub(BASE)) / STEP);
        let or_argon2 = ways.iter().any(|it| matches!(it.way.cost, WayCost::Argon2id { .. }));
        let argon2 = if or_argon2 { " (With Argon2id its own is 12.)" } else { "" };
        says(format!(
            "The PIM is short: {} iterations, where VeraCrypt takes {} without one. A guess costs {} times less.{argon2}",
            grouped(sha512.into()),
            grouped(USUAL.into()),
            USUAL / sha512
        ))
        .mended_by(format!("keyway tcryptChangeKey --veracrypt-pim {pim} --new-veracrypt-pim 485 {container}"))
    })
}

/// VeraCrypt's iterations without a PIM; those of PIM 485.
const USUAL: u32 = 500_000;
/// What a PIM adds to, and what each step of it adds.
const BASE: u32 = 15_000;
const STEP: u32 = 1000;

/// Hashes that VeraCrypt has left behind, where one was named.
fn old_hash(subject: &Subject<'_>, ways: &[Costed]) -> Option<Weakness> {
    let veracrypt = || ways.iter().filter(|it| it.way.name.starts_with("VeraCrypt"));
    let only_old = veracrypt().all(|it| it.way.name.starts_with("VeraCrypt ripemd160"));
    let container = shell::word(subject.device);
    (only_old && veracrypt().next().is_some()).then(|| {
        says("RIPEMD-160 left VeraCrypt in 1.26: later ones do not open it.")
            .mended_by(format!("keyway tcryptChangeKey --new-hash sha512 {container}"))
    })
}

fn bitlocker(subject: &Subject<'_>, ways: &[Costed]) -> Vec<Weakness> {
    let mut all = Vec::new();
    let any = |takes: fn(&Takes) -> bool| ways.iter().any(|it| takes(&it.way.takes));
    if any(|takes| *takes == Takes::Nothing) {
        all.push(says(
            "Its protection is suspended: the key is on the disk in the clear, and whoever has the disk reads it. In Windows: \
             manage-bde -protectors -enable, with the drive's letter.",
        ));
    }
    if any(|takes| *takes == Takes::Hardware("TPM")) {
        all.push(says(
            "The TPM alone opens it: whoever has the whole machine starts it. A PIN beside it mends that (manage-bde \
             -protectors -add, with -TPMAndPIN).",
        ));
    }
    if subject.ciphers.iter().any(|cipher| cipher.ends_with("-cbc-eboiv")) {
        all.push(says(
            "AES-CBC without the diffuser: whoever writes to the disk can change chosen bits of what is read. Windows encrypts \
             anew with XTS (manage-bde -off, then -on with -EncryptionMethod xts_aes256).",
        ));
    }
    all
}

/// Below the least that is recommended.
fn few_iterations(subject: &Subject<'_>, ways: &[Costed]) -> Option<Weakness> {
    let mut missed = ways.iter().filter_map(|it| Least::missed_by(it.work.as_ref()?));
    let least = missed.next()?;
    let mac = shell::word(subject.device);
    let recommended = match least {
        Least::Iterations(least) => format!("{} iterations", grouped(least.into())),
        Least::KibPasses(_) => least.to_string(),
    };
    Some(
        says(format!(
            "That is cheap to guess: at least {recommended} are recommended. A copy in LUKS costs more."
        ))
        .mended_by(format!("keyway copy --type fvault2 {mac} new.luks")),
    )
}

/// A typed passphrase without a key derivation.
fn plain(subject: &Subject<'_>, ways: &[Costed]) -> Option<Weakness> {
    ways.iter().find(|it| it.way.takes == Takes::Passphrase && !matches!(it.search, Search::Hopeless(_)))?;
    let plain = shell::word(subject.device);
    Some(Weakness {
        says: "A passphrase is hashed and no more, so a guess costs next to nothing: LUKS makes it cost half a second and more, and \
               a key file of random bytes needs none. (The same options as to open it go with read.)"
            .to_owned(),
        commands: vec![
            format!("keyway read --type plain {plain} -o decrypted.img"),
            "keyway build decrypted.img new.luks".to_owned(),
        ],
    })
}
