//! The key of a new VeraCrypt volume: passphrase, key files and PIM, from the command line and from who is asked.

use crate::args::{Args, shared};
use crate::output::failure::Result;
use crate::unlock::{self, passphrase::PassphraseOptions};
use crate::volume::kinds::tcrypt::given::GivenTcrypt;
use crate::volume::kinds::tcrypt::header_key;
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
    pub(super) fn from_args(args: &Args) -> Self {
        let GivenTcrypt { pim, asks_pim, .. } = GivenTcrypt::from_args(args);
        let (stdin, key_files) = header_key::key_files(args.all(&shared::MIXED_KEY_FILE));
        let passphrase = PassphraseOptions::from_args(args).by_file(stdin);
        Self { passphrase: passphrase.or_empty(), key_files, pim: pim.filter(is_not_default), asks_pim }
    }

    /// Asks for what is not given, and puts it into the volume.
    pub(super) fn ask(&self, new: &NewVeracrypt, path: &Path) -> Result<(NewVeracrypt, Key)> {
        let passphrase = self.passphrase.first(unlock::prompt_for(path), None).read()?;
        header_key::check_new(&passphrase, !self.key_files.is_empty(), &shared::MIXED_KEY_FILE)?;
        let new = self.key_files.iter().fold(new.clone(), NewVeracrypt::key_file);
        let asked = self.asks_pim.then(|| header_key::ask_new_pim(&self.passphrase)).transpose()?;
        let pim = asked.filter(is_not_default).or(self.pim);
        Ok((pim.into_iter().fold(new, NewVeracrypt::pim), Key::Passphrase(passphrase)))
    }

    /// Asks for the passphrase of the volume that another one is to be hidden in.
    pub(super) fn ask_outer(&self, path: &Path) -> Result<Key> {
        let prompt = format!("Enter passphrase for the outer volume in {}: ", path.display());
        self.passphrase.asked().existing(prompt).read_key()
    }
}

/// The key of an outer volume, from its own options.
pub(super) struct OuterKey {
    key_files: Vec<PathBuf>,
    pim: Option<u32>,
}

impl OuterKey {
    pub(super) fn from_args(args: &Args) -> Self {
        let (_, key_files) = header_key::key_files(args.all(&super::OUTER_KEY_FILE));
        Self { key_files, pim: args.number32(&super::OUTER_PIM) }
    }

    /// The volume that it opens.
    pub(super) fn volume(&self) -> Tcrypt {
        header_key::described(self.pim, &self.key_files)
    }
}

/// As everywhere, 0 is VeraCrypt's default.
fn is_not_default(pim: &u32) -> bool {
    *pim != 0
}
