//! TrueCrypt and VeraCrypt volumes (`--type tcrypt`): their options and their key.
//!
//! The rules are those of cryptsetup's `open --type tcrypt` (src/cryptsetup.c, `tcrypt_load`): a passphrase is always
//! asked for, and every `--key-file` but `-` is mixed into it.

use super::{Asked, Described, Row};
use crate::args::{Opt, shared};
use crate::device::{self, explain};
use crate::output::failure::{Cause, Exit, Failure, Result};
use crate::process::encoding::Encoded;
use crate::unlock::passphrase::{Known, PassphraseOptions};
use given::GivenTcrypt;
use keyway::parts::Kind;
use keyway::storage::{File, PartitionName, Storage};
use keyway::{Access, Admitted, Secret, VolumeKey, devices};
use keyway_format::Sectors;
use keyway_format::tcrypt::LARGEST_PIM;
use keyway_volume::kind;
use keyway_volume::kind::tcrypt::{Place, Programs, Protects, Tcrypt, Unlocked};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

pub(crate) mod given;
pub(crate) mod header_key;

/// Its row.
pub(crate) static ROW: Row = Row {
    of: &kind::tcrypt::ROW,
    refused: &[
        &shared::KEY_SLOT,
        &shared::UNBOUND,
        &shared::VOLUME_KEY_FILE,
        &shared::VOLUME_KEY_KEYRING,
        &shared::SKIP,
        &shared::SIZE,
        &shared::DEVICE_SIZE,
        &shared::DEVICE_OFFSET,
        &shared::SECTOR_SIZE,
        &shared::IV_LARGE_SECTORS,
    ],
    refusal: not_for_tcrypt,
    described: |given| {
        // An entry's hash and cipher are read before its type is known.
        let (hash, cipher) = (given.plain.hash.clone(), given.plain.cipher.clone());
        Ok(Arc::new(TcryptOptions::of(GivenTcrypt { hash, cipher, ..given.tcrypt.clone() })))
    },
    taken: |from| Some(Arc::new(TcryptOptions::of(Encoded::take(from)?))),
    takes_unproven_keys: false,
    is_found_without_options: true,
    tests_passphrases: true,
};

/// A TrueCrypt or VeraCrypt volume as the options describe it.
#[derive(Debug)]
pub(crate) struct TcryptOptions {
    given: GivenTcrypt,
    /// The passphrase that was asked for before the PIM.
    first: Mutex<Option<Known>>,
}

impl Described for TcryptOptions {
    fn row(&self) -> &'static Row {
        &ROW
    }

    fn kind(&self, asked: &Asked<'_>) -> Result<Box<dyn Kind>> {
        Ok(Box::new(self.tcrypt(asked)?))
    }

    /// The PIM goes with the passphrase: both are asked for again.
    fn asks_first(&self, asked: &Asked<'_>) -> bool {
        self.asks_pim() && asked.source(&self.passphrase(asked)).is_interactive()
    }

    fn warn_of_discards(&self) {
        if self.given.hidden {
            say!(
                "WARNING: discards in a hidden volume show on the disk which of its sectors are unused, and \
                 so reveal that it exists."
            );
        } else if !self.given.system && !self.given.protects_hidden {
            say!(
                "WARNING: discards in an outer volume destroy the hidden volume in its free space, if there is one."
            );
        }
    }

    fn find_key(&self, admitted: &Admitted, asked: &Asked<'_>) -> Result<VolumeKey> {
        let options = self.known_passphrase(asked);
        asked.try_passphrases(admitted, &asked.source(&options), Some(WRONG))
    }

    fn put(&self, to: &mut Vec<u8>) {
        self.given.put(to);
    }
}

impl TcryptOptions {
    pub(crate) fn of(given: GivenTcrypt) -> Self {
        Self { given, first: Mutex::default() }
    }

    /// Its header, opened with the passphrase that is asked for.
    pub(crate) fn open_header(&self, asked: &Asked<'_>) -> Result<Unlocked> {
        asked.attempts(self, || self.try_header(asked))
    }

    fn try_header(&self, asked: &Asked<'_>) -> Result<Unlocked> {
        let tcrypt = self.tcrypt(asked)?;
        let explain = |error: keyway::parts::Error| {
            explain::of_kind(ROW.of.title, asked.header.unwrap_or(asked.device), error.into())
        };
        let header = match &tcrypt.header {
            Some(header) => Arc::clone(header),
            None => probed(asked.device)?,
        };
        let locked = tcrypt.read(&*header).map_err(explain)?;
        let (source, options) = (asked.source(&self.known_passphrase(asked)), asked.key.limits());
        let open = |passphrase| Ok(locked.unlock(&passphrase, &options)?);
        asked.key.ask_saying(Some(WRONG), &source, &options, open)
    }

    /// Where the passphrase comes from: key files are mixed into it.
    fn passphrase(&self, asked: &Asked<'_>) -> PassphraseOptions {
        let stdin = || self.given.reads_stdin().then(|| PathBuf::from("-"));
        let key_file = self.given.passphrase_file.clone().or_else(stdin);
        asked.key.passphrase.by_file(key_file)
    }

    /// The same, or the passphrase that was asked for already.
    fn known_passphrase(&self, asked: &Asked<'_>) -> PassphraseOptions {
        let mut options = self.passphrase(asked);
        let first = self.first().take();
        options.known = options.known.or(first);
        options
    }

    fn first(&self) -> MutexGuard<'_, Option<Known>> {
        self.first.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Asks for the passphrase of the volume before anything else is asked for.
    fn ask_first(&self, asked: &Asked<'_>) -> Result<()> {
        let mut first = self.first();
        if first.is_none() {
            *first = Some(Known::from(asked.source(&self.passphrase(asked)).read()?));
        }
        Ok(())
    }

    /// Asks for the passphrase, then for the hidden volume's, in VeraCrypt's order.
    fn ask_hidden(&self, asked: &Asked<'_>) -> Result<Protects> {
        self.ask_first(asked)?;
        let prompt = hidden_prompt(asked.device);
        let passphrase = asked.source_of(&asked.key.passphrase.asked(), prompt).read()?;
        Ok(Protects {
            passphrase: Arc::new(passphrase),
            pim: self.given.protection_pim.filter(|pim| *pim != 0),
            key_files: self.given.protection_key_files.clone(),
        })
    }

    /// Asks for the passphrase, then for the PIM, in cryptsetup's order.
    fn ask_pim(&self, asked: &Asked<'_>) -> Result<u32> {
        self.ask_first(asked)?;
        let typed = asked.source_of(&asked.key.passphrase.asked(), PIM_PROMPT.into()).read()?;
        pim_of(&typed)
    }

    fn asks_pim(&self) -> bool {
        self.given.asks_pim && self.given.pim.is_none()
    }

    fn tcrypt(&self, asked: &Asked<'_>) -> Result<Tcrypt> {
        let given = &self.given;
        // Another attempt asks for all of it again.
        *self.first() = None;
        let pim = match self.asks_pim() {
            true => Some(self.ask_pim(asked)?),
            // As in cryptsetup, 0 is VeraCrypt's default.
            false => given.pim.filter(|pim| *pim != 0),
        };
        let (place, header) = match given.system {
            true => system(asked.device, asked.header)?,
            false => {
                let header = asked.header.map(probed).transpose()?;
                (Place::Volume { hidden: given.hidden, backup: given.backup }, header)
            }
        };
        let programs = if given.only_truecrypt { Programs::TrueCrypt } else { Programs::Both };
        let (hash, cipher) = (given.hash.clone(), given.cipher.clone());
        let key_files = given.key_files.iter().filter(|file| *file != Path::new("-")).cloned().collect();
        let protects = given.protects_hidden.then(|| self.ask_hidden(asked)).transpose()?;
        Ok(Tcrypt { header, place, programs, hash, cipher, pim, key_files, protects })
    }
}

/// What has a header, to be read.
pub(crate) fn probed(path: &Path) -> Result<Arc<dyn Storage>> {
    device::storage(path, Access::Probe)
}

/// The prompt for the passphrase of the hidden volume.
pub(crate) fn hidden_prompt(device: &Path) -> String {
    format!("Enter passphrase for the volume hidden in {}: ", device.display())
}

/// The PIM that was typed.
pub(crate) fn pim_of(typed: &Secret) -> Result<u32> {
    let number = std::str::from_utf8(typed.expose()).ok().and_then(|text| text.trim().parse::<u64>().ok());
    match number {
        Some(0) => Err(Failure::new(Exit::Parameters, "Invalid PIM value: 0.")),
        Some(number) => match u32::try_from(number).ok().filter(|number| *number <= LARGEST_PIM) {
            Some(number) => Ok(number),
            None => {
                let message = format!("Invalid PIM value: outside of range (1 to {LARGEST_PIM}).");
                Err(Failure::new(Exit::Parameters, message).because(Cause::WrongKey))
            }
        },
        None => Err(Failure::new(Exit::Parameters, "Invalid PIM value: parse error.")),
    }
}

/// Where an encrypted system's header is, whose device is a disk or one of its partitions: on the disk.
fn system(device: &Path, header: Option<&Path>) -> Result<(Place, Option<Arc<dyn Storage>>)> {
    let (disk, start) = match PartitionName::of(device) {
        Some(name) => {
            let found = File::open(device).map_err(|source| {
                let what = "finding the partition".into();
                explain::on_device(device, &keyway::parts::Error::Io { what, source })
            });
            let start = found?.start();
            (Some(name.image), Some(Sectors(start / Sectors::SIZE)))
        }
        None => devices::disk_of(device).map_or((None, None), |(disk, start)| (Some(disk), Some(start))),
    };
    let header = header.map(Path::to_owned).or(disk);
    let header = header.as_deref().map(probed).transpose()?;
    Ok((Place::System { partition: start }, header))
}

/// The refusal of an option that other volumes have.
fn not_for_tcrypt(option: &Opt) -> Failure {
    let message = format!("--{} does not apply to TrueCrypt and VeraCrypt volumes.", option.long);
    Failure::new(Exit::Parameters, message)
}

/// cryptsetup's prompt.
const PIM_PROMPT: &str = "Enter VeraCrypt PIM: ";

/// cryptsetup's words: what opens no header may also be no such volume.
pub(crate) const WRONG: &str = "No device header detected with this passphrase.";
