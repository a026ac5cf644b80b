//! Plain dm-crypt volumes (`--type plain`): their options and their key.
//!
//! The rules are those of cryptsetup's `open --type plain` since 2.7 (src/cryptsetup.c,
//! `action_open_plain`). A plain volume is described by the command line alone: a wrong option goes
//! unnoticed and yields noise.

use super::{Asked, Described, Row};
use crate::args::{Opt, Release, shared};
use crate::device::content;
use crate::output::failure::{Exit, Failure, Result};
use crate::output::manner::Manner;
use crate::output::question;
use crate::process::encoding::Encoded;
use crate::unlock::{self, KeyOptions};
use given::GivenPlain;
use keyway::storage::Storage;
use keyway::{Admitted, Key, VolumeKey};
use keyway_crypto::{CipherSpec, Secret};
use keyway_format::plain::PassphraseHash;
use keyway_volume::kind::{self, plain::Plain};
use std::path::Path;
use std::sync::Arc;

pub(crate) mod given;

/// Its row.
pub(crate) static ROW: Row = Row {
    of: &kind::plain::ROW,
    refused: &[&shared::HEADER, &shared::KEY_SLOT, &shared::UNBOUND],
    refusal: no_header,
    described: |given| Ok(Arc::new(given.plain.clone().options()?)),
    taken: |from| {
        let given: GivenPlain = Encoded::take(from)?;
        Some(Arc::new(given.options().ok()?))
    },
    takes_unproven_keys: false,
    is_found_without_options: false,
    tests_passphrases: false,
};

/// A plain volume as the options describe it.
#[derive(Debug, Clone)]
pub(crate) struct PlainOptions {
    described: Plain,
    /// The options it was made from.
    given: GivenPlain,
}

impl Described for PlainOptions {
    fn row(&self) -> &'static Row {
        &ROW
    }

    fn kind(&self, _: &Asked<'_>) -> Result<Box<dyn kind::Kind>> {
        // What no key of this program's is made by: it hashes passphrases itself, and says so of an unknown hash.
        let hash = PassphraseHash::parse(self.hash().unwrap_or(default_hash())).ok();
        Ok(Box::new(Plain { hash: hash.unwrap_or(PassphraseHash::DEFAULT), ..self.described.clone() }))
    }

    fn warn(&self, key: &KeyOptions) {
        self.warn_about_defaults(key);
    }

    fn confirm(&self, device: &Path, storage: &dyn Storage, manner: Manner) -> Result<()> {
        match self.described.volume.offset.0 {
            0 => confirm_signatures(manner, device, storage),
            _ => Ok(()),
        }
    }

    fn find_key(&self, admitted: &Admitted, asked: &Asked<'_>) -> Result<VolumeKey> {
        let key = self.volume_key(asked.key, asked.device, asked.stdin_holds_data)?;
        Ok(admitted.try_key(&Key::VolumeKey(key))?)
    }

    fn hash(&self) -> Option<&str> {
        self.given.hash.as_deref()
    }

    fn put(&self, to: &mut Vec<u8>) {
        self.given.put(to);
    }
}

impl PlainOptions {
    /// Cipher, mode and IV.
    pub(crate) fn cipher(&self) -> &CipherSpec {
        &self.described.volume.spec
    }

    /// The volume's key.
    pub(crate) fn volume_key(
        &self,
        key: &KeyOptions,
        device: &Path,
        stdin_holds_data: bool,
    ) -> Result<Secret> {
        let (hash, len) = (self.hash(), self.described.key_len);
        volume_key(key, device, len, hash, hash.is_some(), stdin_holds_data)
    }

    /// cryptsetup's warning about its defaults, which changed in 2.7; printed in batch mode too.
    pub(crate) fn warn_about_defaults(&self, key: &KeyOptions) {
        if Release::followed() == Release::V2_6 {
            return;
        }
        let is_keyed = key.passphrase.key_file.is_some() || key.volume_key.is_some();
        let uses_default_hash = self.hash().is_none() && !is_keyed;
        let older = "that could be incompatible with older versions";
        let uses_default_cipher = self.given.cipher.is_none() || self.given.key_bits.is_none();
        if uses_default_cipher {
            let (name, bits) = (self.given.cipher(), 8 * self.described.key_len);
            say!("WARNING: Using default options for cipher ({name}, key size {bits} bits) {older}.");
        }
        if uses_default_hash {
            say!("WARNING: Using default options for hash ({}) {older}.", PassphraseHash::DEFAULT);
        }
        if uses_default_cipher || uses_default_hash {
            say!(
                "For plain mode, always use options --cipher, --key-size and if no keyfile or keyring is used, then also --hash."
            );
        }
    }
}

impl GivenPlain {
    /// The volume that these options describe, with cryptsetup's defaults. The user is asked before
    /// other content is overwritten.
    pub(crate) fn options(self) -> Result<PlainOptions> {
        let (key_len, volume) = (self.key_len()?, self.volume()?);
        volume.spec.check_key_bits(8 * key_len).map_err(keyway::parts::Error::from)?;
        let described = Plain { volume, key_len, hash: PassphraseHash::DEFAULT, overwrite: true };
        Ok(PlainOptions { described, given: self })
    }
}

/// The key of an open plain volume, derived again from its passphrase or key file. The volume was
/// opened with a key of `bits` and the hash `was`; `--hash` names another hash.
pub(crate) fn key_again(
    key: &KeyOptions,
    device: &Path,
    bits: u64,
    was: &str,
    hash: Option<&str>,
) -> Result<Secret> {
    let used = hash.or((!was.is_empty()).then_some(was));
    volume_key(key, device, (bits / 8) as usize, used, hash.is_some(), false)
}

/// cryptsetup's.
fn default_hash() -> &'static str {
    match Release::followed() {
        Release::V2_6 => "ripemd160",
        Release::V2_8 => "sha256",
    }
}

/// The content of a key file is the key itself; a passphrase is hashed, even from standard input.
fn volume_key(
    key: &KeyOptions,
    device: &Path,
    len: usize,
    hash: Option<&str>,
    hash_is_given: bool,
    stdin_holds_data: bool,
) -> Result<Secret> {
    if let Some(given) = &key.volume_key {
        return given.read(len);
    }
    let mut source = key.passphrase.existing(unlock::prompt_for(device)).without_keyring();
    if stdin_holds_data {
        source = source.stdin_holds_data();
    }
    if !source.uses_stdin() && !source.is_printed() {
        note_ignored(key, hash_is_given);
        return source.exactly(len).read();
    }
    let hash = hash.unwrap_or(default_hash());
    let hash =
        PassphraseHash::parse(hash).map_err(|_| refusal(format!("Hash algorithm {hash} not supported.")))?;
    if hash.is_none() && key.passphrase.key_file.is_some() {
        source = source.exactly(len);
    }
    let passphrase = source.read()?;
    hash.key(&passphrase, len)
        .map_err(|why| refusal(format!("Key processing error (using hash {hash}): {why}.")))
}

/// cryptsetup's warnings about options that have no effect with a key file.
fn note_ignored(key: &KeyOptions, hash_is_given: bool) {
    if key.manner.batch_mode {
        return;
    }
    if hash_is_given {
        say!("WARNING: The --hash parameter is being ignored in plain mode with keyfile specified.");
    }
    if key.passphrase.part.size.is_some() {
        say!(
            "WARNING: The --keyfile-size option is being ignored, the read size is the same as the encryption key size."
        );
    }
}

/// Asks first, as cryptsetup does for plain volumes: writing to one destroys other content of its device.
pub(super) fn confirm_signatures(manner: Manner, device: &Path, storage: &dyn Storage) -> Result<()> {
    let found = content::warnings(storage, device)?;
    if found.is_empty() || manner.batch_mode {
        return Ok(());
    }
    found.iter().for_each(|line| say!("{line}"));
    let warning = format!(
        "Detected device signature(s) on {}. Proceeding further may damage existing data.",
        device.display()
    );
    question::confirm(manner, &warning, "Operation aborted.", Exit::Parameters)
}

/// The refusal of an option that only volumes with a header have.
fn no_header(option: &Opt) -> Failure {
    refusal(format!("--{} does not apply to plain volumes: they have no header.", option.long))
}

fn refusal(message: impl Into<String>) -> Failure {
    Failure::new(Exit::Parameters, message)
}
