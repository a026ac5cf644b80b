//! `copy --to veracrypt`: the new VeraCrypt volume that the content goes into.

use super::TO;
use crate::args::rule::Rule;
use crate::args::{Args, Kind, Opt, shared};
use crate::make::new_volume::{Destination, KEEP_HOLES, not_built};
use crate::output::failure::Result;
use crate::output::progress::{self, Progress};
use crate::unlock::{self, passphrase::PassphraseOptions};
use crate::volume::kinds::tcrypt::header_key::{self, CostLimits};
use keyway::storage::Storage;
use keyway::{Key, NewVeracrypt};
use keyway_format::tcrypt::LARGEST_PIM;
use std::path::{Path, PathBuf};

/// As `--to` names it.
pub(super) const VERACRYPT: &str = "veracrypt";

/// `--new-veracrypt-pim`.
pub(super) static PIM: Opt = Opt {
    long: "new-veracrypt-pim",
    short: None,
    value: "N",
    kind: Kind::Number(LARGEST_PIM as u64),
    help: "The new VeraCrypt volume's PIM.",
    man: "One below 485 (12 with argon2id) needs a passphrase of 20 bytes or more; 0 is the default one.",
};

/// `--new-veracrypt-query-pim`.
pub(super) static QUERY_PIM: Opt = Opt {
    long: "new-veracrypt-query-pim",
    short: None,
    value: "",
    kind: Kind::Flag,
    help: "Ask for the new VeraCrypt volume's PIM.",
    man: shared::AFTER_NEW_PASSPHRASE,
};

/// Its own options.
pub(super) static OPTIONS: &[&Opt] = &[&PIM, &QUERY_PIM];

/// What describes LUKS volumes alone.
static NOT_ITS_OWN: &[&Opt] = &[
    &shared::PBKDF,
    &shared::ITER_TIME,
    &shared::ITER_TIME_FOR,
    &shared::PBKDF_MEMORY,
    &shared::PBKDF_PARALLEL,
    &shared::PBKDF_FORCE_ITERATIONS,
    &shared::KEYSLOT_CIPHER,
    &shared::KEYSLOT_KEY_SIZE,
    &shared::KEY_SIZE,
    &shared::SECTOR_SIZE,
    &shared::OFFSET,
    &shared::ALIGN_PAYLOAD,
    &shared::LUKS2_METADATA_SIZE,
    &shared::LUKS2_KEYSLOTS_SIZE,
    &shared::UUID,
    &shared::LABEL,
    &shared::SUBSYSTEM,
    &shared::ALLOW_EMPTY_PASSPHRASE,
    &shared::NEW_KEYFILE_OFFSET,
    &shared::NEW_KEYFILE_SIZE,
    &KEEP_HOLES,
];

/// What a line must not ask for.
pub(super) const FITS: Rule = Rule::line(
    |args| args.text(&TO) == Some(VERACRYPT) && NOT_ITS_OWN.iter().any(|option| args.given(option)),
    "With --to veracrypt, the new volume is described by --cipher, --hash, --new-keyfile, --new-veracrypt-pim and \
     --new-veracrypt-query-pim alone.",
);
/// What is its own.
pub(super) const IS_ITS_OWN: Rule = Rule::line(
    |args| {
        let pim = args.given(&PIM) || args.given(&QUERY_PIM);
        pim && args.text(&TO) != Some(VERACRYPT)
    },
    "Options --new-veracrypt-pim and --new-veracrypt-query-pim are for --to veracrypt.",
);

/// The new volume, but for its passphrase.
pub(super) struct Veracrypt {
    new: NewVeracrypt,
    /// Standard input, where the passphrase is all of it.
    stdin: Option<PathBuf>,
    has_key_files: bool,
    asks_pim: bool,
    progress: Progress,
}

impl Veracrypt {
    pub(super) fn from_args(args: &Args) -> Result<Self> {
        let (stdin, files) = header_key::key_files(args.all(&shared::NEW_KEYFILE));
        let has_key_files = !files.is_empty();
        let new = args.text(&shared::HASH).into_iter().fold(NewVeracrypt::new(), NewVeracrypt::hash);
        let new = args.text(&shared::CIPHER).into_iter().fold(new, NewVeracrypt::cipher);
        let new = files.into_iter().fold(new, NewVeracrypt::key_file);
        let new = with_pim(new, args.number32(&PIM));
        new.check()?;
        let asks_pim = args.given(&QUERY_PIM);
        let new = new.limits(CostLimits::from_args(args).0);
        Ok(Self { new, stdin, has_key_files, asks_pim, progress: args.progress() })
    }

    /// Asks for the passphrase of the volume on `to`, and its PIM. It is the only one where the source has none.
    pub(super) fn ask(
        &self,
        options: &PassphraseOptions,
        to: &Path,
        only: bool,
    ) -> Result<(NewVeracrypt, Key)> {
        let (options, stdin) = (options.clone().or_empty(), self.stdin.as_deref());
        let passphrase = match only {
            true => options.first(unlock::prompt_for(to), stdin),
            false => options.replacement(unlock::prompt_for_new(to), stdin, WAY),
        };
        let passphrase = passphrase.read()?;
        header_key::check_new(&passphrase, self.has_key_files, &shared::NEW_KEYFILE)?;
        let asked = self.asks_pim.then(|| header_key::ask_new_pim(&options)).transpose()?;
        Ok((with_pim(self.new.clone(), asked), Key::Passphrase(passphrase)))
    }

    /// Makes it, full of `content` from what messages call `name`.
    pub(super) fn make(
        &self,
        destination: Destination,
        (content, name): (&dyn Storage, &str),
        (new, key): &(NewVeracrypt, Key),
    ) -> Result<()> {
        let path = destination.path().to_owned();
        let storage = destination.sized(NewVeracrypt::len_for(content.len())?)?;
        new.check_content(&*storage, content.len()).map_err(|error| destination.refused(error))?;
        let total = new.fills(&*storage).map_err(|error| destination.refused(error))?;
        progress::watch(self.progress, &path, Some(total), |meter| {
            new.fill_on(&storage, content, key, meter)
        })
        .map_err(|why| not_built(why, name, &path))?;
        destination.complete()
    }
}

/// 0 is VeraCrypt's default.
fn with_pim(new: NewVeracrypt, pim: Option<u32>) -> NewVeracrypt {
    pim.filter(|pim| *pim != 0).into_iter().fold(new, NewVeracrypt::pim)
}

/// How the new passphrase is given where nobody can be asked.
const WAY: &str = "Give the new passphrase on standard input, on the line after that of the source.";
