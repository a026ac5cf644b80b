//! What is weak in a volume, and what mends it.

mod tcrypt;

use super::{Costed, Search};
use crate::output::figures::grouped;
use crate::output::shell;
use crate::volume::kinds::Given;
use crate::volume::kinds::plain::given::GivenPlain;
use keyway::parts::Takes;
use keyway_boot::attack::{Hardware, Least};

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
    /// Where its header is, if it is not there.
    pub(super) header: Option<&'a str>,
    /// What the options say of it.
    pub(super) given: &'a Given,
    /// What the attacker has.
    pub(super) hardware: &'static Hardware,
}

/// What is weak in the volume.
pub(super) fn weaknesses(subject: &Subject<'_>, ways: &[Costed]) -> Vec<Weakness> {
    match subject.kind {
        "tcrypt" => tcrypt::weaknesses(subject, ways),
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
    let is_guessed =
        |it: &&Costed| it.way.takes == Takes::Passphrase && !matches!(it.search, Search::Hopeless(_));
    let made = match ways.iter().find(is_guessed)?.search {
        Search::AtMost(_) => "A passphrase is the key itself, not even hashed",
        _ => "A passphrase is only hashed",
    };
    let weak = says(format!(
        "{made}, so a guess costs next to nothing: LUKS makes it cost half a second or more, and a random key \
         file needs no key derivation. Give \"keyway copy\" the options that open it as --source-cipher, \
         --source-hash and so on."
    ));
    let plain = shell::word(subject.device);
    Some(match as_source(&subject.given.plain) {
        Some(source) => weak.mended_by(format!("keyway copy --type plain {source} {plain} new.luks")),
        None => weak,
    })
}

/// The options as a source has them. None is made up: with another cipher the copy would be noise.
fn as_source(given: &GivenPlain) -> Option<String> {
    let [cipher, hash] = [&given.cipher, &given.hash].map(|text| text.as_deref().map(shell::word));
    let (cipher, bits, hash) = (cipher?, given.key_bits?, hash?);
    Some(format!("--source-cipher {cipher} --source-key-size {bits} --source-hash {hash}"))
}
