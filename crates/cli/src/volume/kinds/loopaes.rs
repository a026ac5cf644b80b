//! loop-AES volumes (`--type loopaes`): their options, those of plain volumes but for the size, and their key file.
//!
//! (cryptsetup, src/cryptsetup.c, `action_open_loopaes`.)

use super::plain::given::GivenPlain;
use super::{Asked, Described, Row, plain};
use crate::args::{Opt, shared};
use crate::output::failure::{Exit, Failure, Result};
use crate::output::manner::Manner;
use crate::process::encoding::Encoded;
use keyway::parts::Kind;
use keyway::storage::Storage;
use keyway::{Admitted, Key, VolumeKey};
use keyway_crypto::Secret;
use keyway_volume::kind::loopaes as volume;
use std::path::Path;
use std::sync::Arc;

/// Its row.
pub(crate) static ROW: Row = Row {
    of: &volume::ROW,
    refused: &[
        &shared::HEADER,
        &shared::KEY_SLOT,
        &shared::UNBOUND,
        &shared::SIZE,
        &shared::DEVICE_SIZE,
        &shared::SECTOR_SIZE,
        &shared::IV_LARGE_SECTORS,
        &shared::SOURCE_SIZE,
        &shared::SOURCE_SECTOR_SIZE,
        &shared::SOURCE_IV_LARGE_SECTORS,
        &shared::VOLUME_KEY_FILE,
        &shared::VOLUME_KEY_KEYRING,
    ],
    refusal: not_for_loopaes,
    described: |given| Ok(Arc::new(LoopAesOptions::new(given.plain.clone())?)),
    taken: |from| Some(Arc::new(LoopAesOptions::new(Encoded::take(from)?).ok()?)),
    takes_unproven_keys: false,
    is_found_without_options: false,
    tests_passphrases: false,
};

/// A loop-AES volume as the options describe it.
#[derive(Debug)]
struct LoopAesOptions {
    described: volume::LoopAes,
    /// The options it was made from.
    given: GivenPlain,
}

impl LoopAesOptions {
    fn new(given: GivenPlain) -> Result<Self> {
        let default = volume::LoopAes::default();
        let described = volume::LoopAes {
            cipher: given.cipher.clone().unwrap_or(default.cipher),
            key_len: given.key_len()?,
            hash: given.hash.clone(),
            offset: given.offset()?,
            skip: given.skip(),
            overwrite: true,
        };
        described.check().map_err(keyway::Error::from)?;
        Ok(Self { described, given })
    }
}

impl Described for LoopAesOptions {
    fn row(&self) -> &'static Row {
        &ROW
    }

    fn kind(&self, _: &Asked<'_>) -> Result<Box<dyn Kind>> {
        Ok(Box::new(self.described.clone()))
    }

    fn confirm(&self, device: &Path, storage: &dyn Storage, manner: Manner) -> Result<()> {
        match self.described.offset.0 {
            0 => plain::confirm_signatures(manner, device, storage),
            _ => Ok(()),
        }
    }

    /// A key file is all that opens it, or what a command prints.
    fn find_key(&self, admitted: &Admitted, asked: &Asked<'_>) -> Result<VolumeKey> {
        let passphrase = &asked.key.passphrase;
        let source = asked.source(passphrase).without_keyring();
        if source.is_printed() {
            return Ok(admitted.try_key(&Key::Passphrase(ended(&source.read()?)))?);
        }
        let file = passphrase.as_key_file().ok_or_else(|| refusal("Option --key-file is required."))?;
        if !source.uses_stdin() {
            return Ok(admitted.try_key(&Key::KeyFile(file))?);
        }
        if source.is_interactive() && !asked.stdin_holds_data {
            return Err(refusal(
                "A terminal gives one line, and a loop-AES key file has up to 65: pipe it to --key-file -.",
            ));
        }
        Ok(admitted.try_key(&source.read_key()?)?)
    }

    fn hash(&self) -> Option<&str> {
        self.given.hash.as_deref()
    }

    fn put(&self, to: &mut Vec<u8>) {
        self.given.put(to);
    }
}

/// With the end of its last line, which is taken off what a command prints.
fn ended(printed: &Secret) -> Secret {
    let mut content = Secret::zeroed(printed.len() + 1);
    content.expose_mut()[..printed.len()].copy_from_slice(printed.expose());
    content.expose_mut()[printed.len()] = b'\n';
    content
}

/// The refusal of an option that only other volumes have.
fn not_for_loopaes(option: &Opt) -> Failure {
    refusal(format!("--{} does not apply to loop-AES volumes.", option.long))
}

fn refusal(message: impl Into<String>) -> Failure {
    Failure::new(Exit::Parameters, message)
}
