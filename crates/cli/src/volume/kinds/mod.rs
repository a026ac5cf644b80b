//! Kinds of volume without a LUKS header, as the command line describes them: a file and a row of the table each.
//! docs/FORMATS.md is how one is added.

use crate::args::Opt;
use crate::output::failure::{Cause, Failure, Result};
use crate::output::manner::Manner;
use crate::unlock::passphrase::{PassphraseOptions, PassphraseSource};
use crate::unlock::{self, KeyOptions};
use keyway::parts::Kind;
use keyway::storage::Storage;
use keyway::{Admitted, Key, VolumeKey};
use std::fmt;
use std::path::Path;
use std::sync::Arc;

pub(crate) mod bitlk;
pub(crate) mod fvault2;
mod given;
pub(crate) mod loopaes;
pub(crate) mod plain;
mod table;
pub(crate) mod tcrypt;

pub(crate) use given::Given;
pub(crate) use table::named;

/// What the command line needs to know of a kind.
pub(crate) struct Row {
    /// The kind.
    pub(crate) of: &'static keyway_volume::kind::Row,
    /// Options that its volumes do not have.
    refused: &'static [&'static Opt],
    /// Why it has not.
    refusal: fn(&Opt) -> Failure,
    /// A volume of this kind, from the options.
    described: fn(&Given) -> Result<Arc<dyn Described>>,
    /// The same from the bytes of [`Described::put`].
    taken: fn(&mut &[u8]) -> Option<Arc<dyn Described>>,
    /// Whether any volume key of the right length is taken.
    pub(crate) takes_unproven_keys: bool,
    /// Whether no option but its key has to describe it.
    pub(crate) is_found_without_options: bool,
    /// Whether cryptsetup tests its passphrases (`open --test-passphrase`).
    pub(crate) tests_passphrases: bool,
}

/// A volume without a LUKS header, as the options describe it.
pub(crate) trait Described: fmt::Debug + Send + Sync {
    /// Its row.
    fn row(&self) -> &'static Row;

    /// What the library opens. Asks for what is needed to look for the volume, and opens the device of its header.
    fn kind(&self, asked: &Asked<'_>) -> Result<Box<dyn Kind>>;

    /// Says what the user should know of the options, before anything is opened.
    fn warn(&self, _key: &KeyOptions) {}

    /// Says what discards do to it.
    fn warn_of_discards(&self) {}

    /// Asks before the volume is written over something else.
    fn confirm(&self, _device: &Path, _storage: &dyn Storage, _manner: Manner) -> Result<()> {
        Ok(())
    }

    /// Whether what [`Described::kind`] asks for is asked for again, with the passphrase, where that opens nothing.
    fn asks_first(&self, _: &Asked<'_>) -> bool {
        false
    }

    /// Asks for the volume's key, and finds it.
    fn find_key(&self, admitted: &Admitted, asked: &Asked<'_>) -> Result<VolumeKey>;

    /// The hash that makes the key from a passphrase, if one was named: `status` shows it.
    fn hash(&self) -> Option<&str> {
        None
    }

    /// Appends the options, for another process of this program.
    fn put(&self, to: &mut Vec<u8>);
}

/// Where a key comes from.
pub(crate) struct Asked<'a> {
    pub(crate) key: &'a KeyOptions,
    /// The device, as prompts name it.
    pub(crate) device: &'a Path,
    /// Where its header is, if it is not there (`--header`).
    pub(crate) header: Option<&'a Path>,
    /// Standard input holds data: passphrases are asked for on the terminal only.
    pub(crate) stdin_holds_data: bool,
}

impl Asked<'_> {
    /// Asks for a passphrase until one opens the volume; `wrong` is said of one that does not.
    fn try_passphrases(
        &self,
        admitted: &Admitted,
        source: &PassphraseSource,
        wrong: Option<&str>,
    ) -> Result<VolumeKey> {
        let options = self.key.limits();
        self.key
            .ask_saying(wrong, source, &options, |passphrase| admitted.try_key(&Key::Passphrase(passphrase)))
    }

    /// Makes an attempt, and others as long as what was typed is wrong, `--tries` in all; the last one's failure.
    pub(crate) fn attempts<T>(&self, of: &dyn Described, attempt: impl Fn() -> Result<T>) -> Result<T> {
        let mut tries = if of.asks_first(self) { self.key.tries } else { 1 };
        loop {
            match attempt() {
                Err(wrong) if tries > 1 && wrong.cause() == Cause::WrongKey => {
                    wrong.report();
                    tries -= 1;
                }
                outcome => return outcome,
            }
        }
    }

    /// Where its passphrase comes from.
    fn source(&self, options: &PassphraseOptions) -> PassphraseSource {
        self.source_of(options, unlock::prompt_for(self.device))
    }

    /// Where what `prompt` asks for comes from.
    fn source_of(&self, options: &PassphraseOptions, prompt: String) -> PassphraseSource {
        let source = options.existing(prompt);
        if self.stdin_holds_data { source.stdin_holds_data() } else { source }
    }
}

impl Row {
    /// The volume that the options describe; `is_given` tells which options of other kinds are there.
    pub(crate) fn describe(
        &self,
        given: &Given,
        is_given: impl Fn(&Opt) -> bool,
    ) -> Result<Arc<dyn Described>> {
        match self.refused.iter().find(|option| is_given(option)) {
            Some(option) => Err((self.refusal)(option)),
            None => (self.described)(given),
        }
    }
}
