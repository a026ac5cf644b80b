//! From the user's passphrase or volume key to an unlocked volume,
//! with cryptsetup's prompts, tries and messages.

pub(crate) mod admission;
pub(crate) mod key_options;
mod keyring;
pub(crate) mod passphrase;
pub(crate) mod policy;
pub(crate) mod seal_context;
pub(crate) mod tokens;

pub(crate) use key_options::{GivenKey, KeyOptions, volume_key_file};

use crate::device::explain;
use crate::output::failure::{Cause, Exit, Failure, Result};
use crate::output::manner::Manner;
use crate::output::stdio;
use crate::unlock::passphrase::PassphraseSource;
use keyway::parts::{self, Luks, Turn, UnderWay, UnlockOptions, Unlocked};
use keyway::{Admitted, ErrorKind, Header, Key, VolumeKey, devices};
use keyway_crypto::Secret;
use std::path::Path;
use std::time::Instant;

impl KeyOptions {
    /// Unlocks with one of the header's tokens, else with a passphrase: what commands that open a
    /// volume for use do.
    pub(crate) fn unlock_by_token_or(
        &self,
        luks: &Luks,
        source: &PassphraseSource,
        options: &UnlockOptions,
    ) -> Result<Unlocked> {
        match tokens::unlock(self, luks, options)? {
            Some(unlocked) => {
                note_unlocked(self.manner, unlocked.keyslot)?;
                Ok(unlocked)
            }
            None => self.unlock(luks, source, options),
        }
    }

    /// Reads a passphrase and unlocks; an interactive user is asked again after a wrong one. Says
    /// which keyslot was opened (`-v`).
    pub(crate) fn unlock(
        &self,
        luks: &Luks,
        source: &PassphraseSource,
        options: &UnlockOptions,
    ) -> Result<Unlocked> {
        self.unlock_keeping_passphrase(luks, source, options).map(|(unlocked, _)| unlocked)
    }

    /// Like [`KeyOptions::unlock`], for commands that need the passphrase again.
    pub(crate) fn unlock_keeping_passphrase(
        &self,
        luks: &Luks,
        source: &PassphraseSource,
        options: &UnlockOptions,
    ) -> Result<(Unlocked, Secret)> {
        luks.check_readable()?;
        let found = self.ask(source, options, |passphrase| {
            let unlocked = parts::unlock(luks, &passphrase, options)?;
            Ok((unlocked, passphrase))
        })?;
        note_unlocked(self.manner, found.0.keyslot)?;
        Ok(found)
    }

    /// The key of a volume that may be opened: given on the command line, or obtained with a token
    /// or passphrase.
    pub(crate) fn find(&self, admitted: &Admitted, source: &PassphraseSource) -> Result<VolumeKey> {
        let judged = admitted.judged().expect("a LUKS volume has keyslots");
        if let Some(key) = self.read_volume_key(judged.luks())? {
            if judged.under_way().is_some_and(|it| it.second_digest().is_some())
                && let Some(second) = self.read_second(&key)?
            {
                return admitted.try_volume_keys(key, second).map_err(explain::unlocking);
            }
            return admitted.try_key(&Key::VolumeKey(key)).map_err(explain::unlocking);
        }
        let options = self.of_keyslot();
        let by_token = |luks: &Luks, options: &UnlockOptions| {
            tokens::unlock(self, luks, options).map_err(Some)?.ok_or(None)
        };
        let key = match admitted.find_key(&options, by_token) {
            Ok(key) => key,
            Err(Some(failure)) => return Err(failure),
            Err(None) => {
                self.ask(source, &options, |passphrase| admitted.try_key(&Key::Passphrase(passphrase)))?
            }
        };
        note_found(self.manner, &key)?;
        Ok(key)
    }

    /// Reads passphrases until `open` takes one; an interactive user is asked again after a wrong
    /// one.
    pub(crate) fn ask<T>(
        &self,
        source: &PassphraseSource,
        options: &UnlockOptions,
        open: impl Fn(Secret) -> keyway::Result<T>,
    ) -> Result<T> {
        self.ask_saying(None, source, options, open)
    }

    /// The same; `wrong` is said of a passphrase that opens nothing.
    pub(crate) fn ask_saying<T>(
        &self,
        wrong: Option<&str>,
        source: &PassphraseSource,
        options: &UnlockOptions,
        open: impl Fn(Secret) -> keyway::Result<T>,
    ) -> Result<T> {
        let said = |error: keyway::Error| match wrong {
            Some(words) if *error.kind() == ErrorKind::WrongPassphrase => {
                Failure::new(Exit::Permission, words).because(Cause::WrongKey)
            }
            _ => explain::unlocking(error),
        };
        let mut tries = if source.is_interactive() { self.tries } else { 1 };
        let (memory, threads) = (options.memory_budget_kib, options.threads);
        let line = format!("Memory for key derivation: {memory} KiB, on {threads} threads.");
        stdio::debug(self.manner, &line)?;
        loop {
            let passphrase = source.read()?;
            let turn = self.turn()?;
            let started = Instant::now();
            let result = open(passphrase);
            drop(turn);
            match result {
                Ok(found) => {
                    let took = started.elapsed().as_secs_f64();
                    stdio::debug(self.manner, &format!("Unlocking took {took:.3} s."))?;
                    return Ok(found);
                }
                Err(error) if tries > 1 && *error.kind() == ErrorKind::WrongPassphrase => {
                    said(error).report();
                    tries -= 1;
                }
                Err(error) => return Err(said(error)),
            }
        }
    }

    /// Waits for this program's turn (`--serialize-memory-hard-pbkdf`), if requested. Where it
    /// cannot be waited for, the program goes on, as cryptsetup does.
    fn turn(&self) -> Result<Option<Turn>> {
        if !self.one_at_a_time {
            return Ok(None);
        }
        let turn = parts::wait_for_turn();
        if let Err(error) = &turn {
            stdio::debug(self.manner, &format!("{} cannot be locked: {error}.", Turn::FILE))?;
        }
        Ok(turn.ok())
    }

    /// The volume key, given on the command line or obtained with a token or passphrase, and the
    /// digest that it matches.
    pub(crate) fn volume_key(&self, luks: &Luks, device: &Path) -> Result<(Secret, u32)> {
        if let Some(given) = self.given_volume_key(luks)? {
            return Ok(given);
        }
        let source = self.passphrase.existing(prompt_for(device));
        let unlocked = self.unlock_by_token_or(luks, &source, &self.of_keyslot())?;
        Ok((unlocked.volume_key, unlocked.digest))
    }

    /// The given volume key, to authorize an edit of the header.
    pub(crate) fn given_key(&self, header: &Header) -> Result<Option<VolumeKey>> {
        match self.read_volume_key(header.luks())? {
            Some(key) => Ok(Some(header.try_key(&Key::VolumeKey(key))?)),
            None => Ok(None),
        }
    }

    /// Where a key was given, lets edits of a sealed header renew its seal.
    pub(crate) fn renew_seal(&self, header: &mut Header) -> Result<()> {
        if !header.is_sealed() || !(self.volume_key.is_some() || self.passphrase.is_given()) {
            return Ok(());
        }
        let found = match self.given_key(header)? {
            Some(found) => found,
            None => {
                let source = self.passphrase.existing("Enter passphrase to renew the seal: ");
                header.try_key(&source.read_key()?)?
            }
        };
        Ok(header.renew_seal_with(&found)?)
    }

    /// The other key of two, where there is one; `first` is as long, unless something else is said.
    fn read_second(&self, first: &Secret) -> Result<Option<Secret>> {
        let Some(second) = &self.second_volume_key else { return Ok(None) };
        let said = self.second_key_bits.filter(|bits| *bits > 0).map(|bits| bits as usize / 8);
        let len = said.map_or_else(|| second.own_len(), |len| Ok(Some(len)))?;
        second.read(len.unwrap_or(first.len())).map(Some)
    }

    /// In the middle of a re-encryption one volume key opens nothing: refuses it without the other.
    /// `key` and `digest` are what [`KeyOptions::given_volume_key`] found.
    pub(crate) fn check_other_key(&self, luks: &Luks, key: &Secret, digest: u32) -> Result<()> {
        let Some(under_way) = UnderWay::of(luks.header())? else { return Ok(()) };
        let (Some(first), Some(second)) = (under_way.first_digest(), under_way.second_digest()) else {
            return Ok(());
        };
        let Some(other) = self.read_second(key)? else {
            let message = "The volume is in the middle of a reencryption, and has two volume keys: give both, or a \
                           passphrase, which opens both.";
            return Err(Failure::new(Exit::Parameters, message));
        };
        let other = parts::verify_volume_key(luks, &other)?;
        match [(first, second), (second, first)].contains(&(digest, other)) {
            true => Ok(()),
            false => {
                let message = "Volume key does not match the volume.";
                Err(Failure::new(Exit::Permission, message).because(Cause::WrongKey))
            }
        }
    }

    /// The given volume key, and the digest that it matches.
    pub(crate) fn given_volume_key(&self, luks: &Luks) -> Result<Option<(Secret, u32)>> {
        let Some(key) = self.read_volume_key(luks)? else { return Ok(None) };
        let digest = parts::verify_volume_key(luks, &key)?;
        Ok(Some((key, digest)))
    }

    /// The volume key from `--volume-key-file` or `--volume-key-keyring`.
    fn read_volume_key(&self, luks: &Luks) -> Result<Option<Secret>> {
        let Some(given) = &self.volume_key else { return Ok(None) };
        luks.check_readable()?;
        // As with cryptsetup, --key-size says how much of a file is read, whatever the header says.
        let said = self.key_bits.filter(|bits| *bits > 0).map(|bits| bits as usize / 8);
        let known = luks.header().volume_key_len().filter(|_| self.second_volume_key.is_none());
        let Some(len) = said.or(known).map_or_else(|| given.own_len(), |len| Ok(Some(len)))? else {
            return Err(Failure::new(
                Exit::Parameters,
                "Cannot determine volume key size for LUKS without keyslots, please use --key-size option.",
            ));
        };
        given.read(len).map(Some)
    }
}

impl GivenKey {
    /// How many bytes it has by itself: a file may have more than the key.
    pub(crate) fn own_len(&self) -> Result<Option<usize>> {
        match self {
            Self::File(_) => Ok(None),
            Self::Keyring(name) => keyring::volume_key(name).map(|key| Some(key.len())),
        }
    }

    /// The key, of exactly `len` bytes.
    pub(crate) fn read(&self, len: usize) -> Result<Secret> {
        match self {
            Self::File(path) => passphrase::volume_key(path, len),
            Self::Keyring(name) => keyring::volume_key(name).and_then(|key| match key.len() == len {
                true => Ok(key),
                false => {
                    let message = "Volume key does not match the volume.";
                    Err(Failure::new(Exit::Permission, message).because(Cause::WrongKey))
                }
            }),
        }
    }
}

/// cryptsetup's usual prompt; a loop device is called by its file's name.
pub(crate) fn prompt_for(device: &Path) -> String {
    let file = devices::file_behind(device);
    format!("Enter passphrase for {}: ", file.as_deref().unwrap_or(device).display())
}

/// The prompt for the passphrase of a volume that is being made.
pub(crate) fn prompt_for_new(device: &Path) -> String {
    format!("Enter new passphrase for {}: ", device.display())
}

/// The prompt for the passphrase that replaces another one, or joins it.
pub(crate) const NEW_PROMPT: &str = "Enter new passphrase: ";

/// How the new passphrase is given where nobody can be asked and the old one comes from standard input.
pub(crate) const NEXT_LINE: &str =
    "Give the new passphrase on standard input, on the line after the old one.";

/// cryptsetup's line where a key file is given twice.
pub(crate) fn note_option_wins() {
    say!("Option --key-file takes precedence over specified key file argument.");
}

/// "Key slot 0 unlocked." with `-v`, for a key that came from a keyslot; returns the number.
pub(crate) fn note_found(manner: Manner, key: &VolumeKey) -> Result<Option<u32>> {
    key.keyslot().map_or(Ok(()), |keyslot| note_unlocked(manner, keyslot))?;
    Ok(key.keyslot())
}

/// "Key slot 0 unlocked." with `-v`.
pub(crate) fn note_unlocked(manner: Manner, keyslot: u32) -> Result<()> {
    stdio::verbose(manner, &format!("Key slot {keyslot} unlocked."))
}
