//! BitLocker volumes (`--type bitlk`): their key. All else is in their header.

use super::{Asked, Described, Row};
use crate::args::{Kind as Takes, Opt, shared};
use crate::device::explain;
use crate::output::failure::{Cause, Exit, Failure, Result};
use crate::output::stdio;
use crate::process::encoding::Encoded;
use keyway::parts::Kind;
use keyway::{Admitted, ErrorKind, Key, RecoveryPassword, Secret, VolumeKey};
use keyway_volume::kind::bitlk as volume;
use std::path::Path;
use std::sync::Arc;

/// Its row.
pub(crate) static ROW: Row = Row {
    of: &volume::ROW,
    refused: &[
        &shared::HEADER,
        &shared::KEY_SLOT,
        &shared::UNBOUND,
        &shared::CIPHER,
        &shared::HASH,
        &shared::SKIP,
        &shared::SIZE,
        &shared::DEVICE_SIZE,
        &shared::DEVICE_OFFSET,
        &shared::SECTOR_SIZE,
        &shared::IV_LARGE_SECTORS,
    ],
    refusal: not_for_bitlk,
    described: |given| Ok(Arc::new(BitlkOptions { allows_vista: given.allows_vista })),
    taken: |from| Some(Arc::new(BitlkOptions { allows_vista: Encoded::take(from)? })),
    takes_unproven_keys: true,
    is_found_without_options: true,
    tests_passphrases: true,
};

/// A BitLocker volume: no option has to describe it.
#[derive(Debug)]
struct BitlkOptions {
    allows_vista: bool,
}

impl Described for BitlkOptions {
    fn row(&self) -> &'static Row {
        &ROW
    }

    fn kind(&self, _: &Asked<'_>) -> Result<Box<dyn Kind>> {
        Ok(Box::new(volume::Bitlk { allows_vista: self.allows_vista }))
    }

    /// A volume whose protection is suspended needs no key. A key file is a start-up key, or holds a passphrase or a
    /// recovery password.
    fn find_key(&self, admitted: &Admitted, asked: &Asked<'_>) -> Result<VolumeKey> {
        if let Some(given) = &asked.key.volume_key {
            let len = admitted.volume_key_len().unwrap_or_default();
            return Ok(admitted.try_key(&Key::VolumeKey(given.read(len)?))?);
        }
        if let Some(key) = admitted.try_without_key()? {
            return Ok(key);
        }
        let source = asked.source(&asked.key.passphrase);
        if source.uses_stdin() || source.is_printed() {
            return asked.try_passphrases(admitted, &source, None);
        }
        match asked.key.passphrase.as_key_file() {
            Some(file) => Ok(admitted.try_key(&Key::KeyFile(file))?),
            None => asked.try_passphrases(admitted, &source, None),
        }
    }

    fn put(&self, to: &mut Vec<u8>) {
        self.allows_vista.put(to);
    }
}

/// The refusal of an option about LUKS headers.
fn not_for_bitlk(option: &Opt) -> Failure {
    Failure::new(Exit::Parameters, format!("--{} does not apply to BitLocker volumes.", option.long))
}

/// For every command that makes one.
pub(crate) static RECOVERY_PASSWORD: Opt = Opt {
    long: "recovery-password",
    short: None,
    value: "",
    kind: Takes::Flag,
    help: "Make a recovery password, and print it.",
    man: "48 random digits, printed once on standard output before anything is written; if they cannot be \
          printed, nothing is written. Keep them away from the volume: anyone who has them can open it. A \
          mistyped group is reported by its number.",
};

/// Prints a new recovery password, the only time. It is asked for before anything is written: a volume that only digits
/// open that nobody saw is lost.
pub(crate) fn show(password: &RecoveryPassword) -> Result<()> {
    let text = password.text();
    let mut line = Secret::zeroed(text.len() + 1);
    let (digits, end) = line.expose_mut().split_at_mut(text.len());
    digits.copy_from_slice(text.expose());
    end.fill(b'\n');
    stdio::print(str::from_utf8(line.expose()).unwrap_or_default())
}

/// The line for an error of the library's.
pub(crate) fn failed(device: &Path, error: keyway::Error) -> Failure {
    match error.kind() {
        ErrorKind::WrongPassphrase => Failure::new(Exit::Permission, WRONG).because(Cause::WrongKey),
        _ => explain::of_kind(ROW.of.title, device, error),
    }
}

const WRONG: &str = "No key available with this passphrase.";
