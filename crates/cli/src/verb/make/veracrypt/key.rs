//! The key of a new VeraCrypt volume: passphrase, key files and PIM, from the command line and from who is asked.

use crate::door::Args;
use crate::output::failure::{Cause, Exit, Failure, Result};
use crate::unlock::{self, passphrase::PassphraseOptions};
use crate::volume::kinds::tcrypt;
use crate::volume::kinds::tcrypt::given::GivenTcrypt;
use keyway::{Key, NewVeracrypt, Tcrypt};
use std::path::{Path, PathBuf};

/// The key options.
pub(super) struct NewKey {
    passphrase: PassphraseOptions,
    key_files: Vec<PathBuf>,
    pim: Option<u32>,
    asks_pim: bool,
}

impl NewKey {
    /// For the new volume.
    pub(super) fn from_args(args: &Args) -> Result<Self> {
        let GivenTcrypt { key_files, pim, asks_pim, .. } = GivenTcrypt::from_args(args);
        let (stdin, key_files): (Vec<_>, Vec<_>) =
            key_files.into_iter().partition(|file| file == Path::new("-"));
        let passphrase = PassphraseOptions::from_args(args)?.by_file(stdin.into_iter().next());
        Ok(Self { passphrase: passphrase.or_empty(), key_files, pim: pim.filter(is_not_default), asks_pim })
    }

    /// Asks for what is not given, and puts it into the volume.
    pub(super) fn ask(&self, new: &NewVeracrypt, path: &Path) -> Result<(NewVeracrypt, Key)> {
        let passphrase = self.passphrase.first(unlock::prompt_for(path), None).read()?;
        if passphrase.is_empty() && self.key_files.is_empty() {
            let message =
                "The new passphrase is empty: VeraCrypt takes that only with key files (--key-file).";
            return Err(Failure::new(Exit::Parameters, message));
        }
        let new = self.key_files.iter().fold(new.clone(), NewVeracrypt::key_file);
        let pim = if self.asks_pim { Some(self.ask_pim()?) } else { self.pim };
        Ok((pim.into_iter().fold(new, NewVeracrypt::pim), Key::Passphrase(passphrase)))
    }

    /// Asks for the passphrase of the volume that another one is to be hidden in.
    pub(super) fn ask_outer(&self, path: &Path) -> Result<Key> {
        let prompt = format!("Enter passphrase for the outer volume in {}: ", path.display());
        self.passphrase.asked().existing(prompt).read_key()
    }

    /// Twice on a terminal: who mistypes it opens the volume by no passphrase.
    fn ask_pim(&self) -> Result<u32> {
        let ask = |prompt: &str| {
            let source = self.passphrase.asked().existing(prompt);
            Ok::<_, Failure>((tcrypt::pim_of(&source.read()?)?, source.is_interactive()))
        };
        let (pim, is_typed) = ask("Enter VeraCrypt PIM: ")?;
        if is_typed && ask("Verify VeraCrypt PIM: ")?.0 != pim {
            return Err(Failure::new(Exit::Permission, "PIMs do not match.").because(Cause::WrongKey));
        }
        Ok(pim)
    }
}

/// The key of an outer volume, from its own options.
pub(super) struct OuterKey {
    key_files: Vec<PathBuf>,
    pim: Option<u32>,
}

impl OuterKey {
    pub(super) fn from_args(args: &Args) -> Self {
        let key_files = args.all(&super::OUTER_KEY_FILE).into_iter().map(PathBuf::from).collect();
        Self { key_files, pim: args.number32(&super::OUTER_PIM).filter(is_not_default) }
    }

    /// The volume that it opens.
    pub(super) fn volume(&self) -> Tcrypt {
        let of = self.pim.into_iter().fold(Tcrypt::new(), Tcrypt::pim);
        self.key_files.iter().fold(of, Tcrypt::key_file)
    }
}

/// As everywhere, 0 is VeraCrypt's default.
fn is_not_default(pim: &u32) -> bool {
    *pim != 0
}
