//! Another passphrase, PIM, hash or other key files: both copies of the header are written again, with the
//! same volume key and fields.
//!
//! ```text
//! random bytes over the copy ─► copy under the new key ─► random bytes over the header ─► header under the new key
//! ```
//!
//! Each step is on stable storage before the next: the header opens with the old key until the copy opens with the
//! new one. VeraCrypt writes the header first. Then a damaged copy would be noticed too late, and what a cut leaves
//! would open with the new key, and behind the user's back with the old one, too.

use super::Place;
use super::headers::Headers;
use super::key_files::KeyFiles;
use super::opened::{Opened, opens_by_any_kdf};
use super::seal::Sealing;
use crate::error::shared;
use crate::kind::written::refused;
use crate::{Random, Refusal, Result, Storage, UnlockOptions};
use keyway_crypto::Secret;
use keyway_format::tcrypt::{Program, check_pim, kdf_of_program};
use std::path::PathBuf;

/// What is to open a volume in place of its old key. What is `None` stays.
#[derive(Clone, Default)]
pub struct NewKey {
    /// The hash of the KDF, or "argon2id".
    pub hash: Option<String>,
    /// VeraCrypt's personal iterations multiplier; `Some(None)` is the default one.
    pub pim: Option<Option<u32>>,
    /// Key files, and folders of them.
    pub key_files: Option<Vec<PathBuf>>,
}

impl NewKey {
    /// Refuses what no header can have, before anything is asked.
    ///
    /// # Errors
    /// [`Refused`](crate::Error::Refused).
    pub fn check(&self) -> Result<()> {
        match self.pim {
            Some(Some(pim)) => check_pim(pim, false).map_err(refused(Refusal::Unusable)),
            _ => Ok(()),
        }
    }
}

impl Opened {
    /// Writes both copies of the header for the new key, on the storage that it was opened on and the caller has
    /// claimed. The copy that did not open comes first.
    ///
    /// # Errors
    /// [`Refused`](crate::Error::Refused), before anything is written: the program takes no such key, or it
    /// opens the other volume there; [`Io`](crate::Error::Io).
    pub fn change_key(
        &self,
        storage: &dyn Storage,
        new: &NewKey,
        passphrase: &Secret,
        (rng, options): (&mut dyn Random, &UnlockOptions),
    ) -> Result<()> {
        let [first, backup] = self.positions()?;
        let sealing = self.new_sealing(new)?;
        sealing.kdf.check_new(sealing.pim, passphrase).map_err(refused(Refusal::Unusable))?;
        sealing.check_cost(options)?;
        let key_files = match &new.key_files {
            Some(paths) => KeyFiles::read(paths)?,
            None => self.key_files.copy(),
        };
        if passphrase.is_empty() && key_files.is_empty() {
            return Err(shared::empty_password());
        }
        key_files.check_apart(storage)?;
        let password = key_files.with(passphrase)?;
        self.refuse_other(storage, &sealing, &password, options)?;
        self.refuse_another_volume(storage, options)?;
        let positions = if self.is_copy() { [first, backup] } else { [backup, first] };
        Headers::seal(&self.unlocked.header, &sealing, &password, &positions, rng)?.overwrite(storage, rng)
    }

    fn new_sealing(&self, new: &NewKey) -> Result<Sealing> {
        new.check()?;
        let old = self.sealing();
        let program = self.unlocked.header.program;
        if program == Program::TrueCrypt && matches!(new.pim, Some(Some(_))) {
            return Err(Refusal::Unusable.because("it is a TrueCrypt volume, but a PIM is for VeraCrypt"));
        }
        let named = new.hash.as_deref().map(|hash| kdf_of_program(program, hash));
        let kdf = named.transpose().map_err(refused(Refusal::Unusable))?.unwrap_or(old.kdf);
        if old.pim.is_some() && new.pim.is_none() && !kdf.counts_pim_as(old.kdf) {
            let why = "a PIM means something else with argon2id than with other hashes: give a new one, or 0 \
                for the default";
            return Err(Refusal::Unusable.because(why));
        }
        Ok(Sealing { kdf, pim: new.pim.unwrap_or(old.pim), cipher: old.cipher })
    }

    /// The other copy opens with the same key and is another volume's: one of them is stale, and which one only its user
    /// knows.
    fn refuse_another_volume(&self, storage: &dyn Storage, options: &UnlockOptions) -> Result<()> {
        let hidden = self.unlocked.position.is_hidden();
        let place = Place::Volume { hidden, backup: !self.is_copy() };
        let keys = self.unlocked.header.keys();
        match self.another(storage, place, options)? {
            Some(other) if !other.header.keys().ct_eq(keys.expose()) => {
                let why = "the header and its copy at the end both open with this passphrase, and belong to different \
                           volumes: back up the right one and restore it first";
                Err(Refusal::Exists.because(why))
            }
            _ => Ok(()),
        }
    }

    /// A key that opens the outer volume never opens the hidden one, whatever its KDF: the programs try that one second.
    fn refuse_other(
        &self,
        storage: &dyn Storage,
        sealing: &Sealing,
        password: &Secret,
        options: &UnlockOptions,
    ) -> Result<()> {
        let hidden = !self.unlocked.position.is_hidden();
        let place = Place::Volume { hidden, backup: false };
        match (opens_by_any_kdf(storage, place, sealing.pim, password, options)?, hidden) {
            (false, _) => Ok(()),
            (true, true) => Err(shared::opens_hidden()),
            (true, false) => {
                Err(Refusal::Exists.because("the outer volume opens with this passphrase already"))
            }
        }
    }
}
