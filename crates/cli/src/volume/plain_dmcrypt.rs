//! Plain dm-crypt volumes (`--type plain`): what the options say about them, and the key.
//!
//! The rules are those of cryptsetup's `open --type plain` since 2.7 (src/cryptsetup.c,
//! `action_open_plain`). What a plain volume is stands nowhere but on the command line:
//! a wrong option is not noticed, it gives noise.

use crate::device::{content, explain};
use crate::door::{Args, Opt, shared};
use crate::say::failure::{Exit, Failure, Result};
use crate::say::manner::Manner;
use crate::say::question;
use crate::unlock::{self, KeyOptions, passphrase};
use crate::volume::usage::Data;
use keyway_crypto::{CipherSpec, Secret, SectorSize};
use keyway_format::plain::PassphraseHash;
use keyway_format::{Bytes, Sectors};
use keyway_volume::{Layout, PlainVolume, Storage};
use std::path::Path;

/// What the options say of a plain volume.
#[derive(Debug, Clone)]
pub(crate) struct PlainOptions {
    volume: PlainVolume,
    key_len: usize,
    /// The hash that makes a key of the passphrase, where one was named.
    pub(crate) hash: Option<String>,
    /// Its name as it was written, for the warning.
    cipher: String,
    uses_default_cipher: bool,
}

impl PlainOptions {
    /// The options, where the volume is meant to be a plain one. Refuses what only plain volumes
    /// have, for the others.
    pub(crate) fn from_args(args: &Args) -> Result<Option<Self>> {
        if !args.command().all_options().any(|option| option.long == shared::SKIP.long) {
            return Ok(None);
        }
        if args.device_type() != Some("plain") {
            return refuse_options(args).map(|()| None);
        }
        if let Some(option) = OF_HEADERS.iter().find(|option| args.given(option)) {
            return Err(refusal(format!("--{} is not for plain volumes: they have no header.", option.long)));
        }
        let key_len = key_len(args)?;
        let volume = volume(args)?;
        volume.spec.check_key_bits(8 * key_len).map_err(|e| Failure::from(keyway_volume::Error::from(e)))?;
        Ok(Some(Self {
            volume,
            key_len,
            hash: args.text(&shared::HASH).map(str::to_owned),
            cipher: args.text(&shared::CIPHER).unwrap_or(DEFAULT_CIPHER).to_owned(),
            uses_default_cipher: !args.given(&shared::CIPHER) || !args.given(&shared::KEY_SIZE),
        }))
    }

    /// Where the data lies on `device`. Whoever writes over something else is asked.
    pub(super) fn layout(
        &self,
        device: &Path,
        storage: &dyn Storage,
        data: Data,
        manner: Manner,
    ) -> Result<Layout> {
        let layout = self.volume.layout(&device.display().to_string(), storage.len());
        let layout = layout.map_err(|e| explain::on_device(device, &e))?;
        if data == Data::Write && self.volume.offset.0 == 0 {
            confirm_signatures(manner, device, storage)?;
        }
        Ok(layout)
    }

    /// Its key.
    pub(super) fn volume_key(
        &self,
        key: &KeyOptions,
        device: &Path,
        stdin_holds_data: bool,
    ) -> Result<Secret> {
        volume_key(key, device, self.key_len, self.hash.as_deref(), self.hash.is_some(), stdin_holds_data)
    }

    /// cryptsetup's warning, given in batch mode too: its defaults changed in 2.7.
    pub(super) fn warn_about_defaults(&self, key: &KeyOptions) {
        let is_keyed = key.passphrase.key_file.is_some() || key.volume_key_file.is_some();
        let uses_default_hash = self.hash.is_none() && !is_keyed;
        let older = "that could be incompatible with older versions";
        if self.uses_default_cipher {
            let (name, bits) = (&self.cipher, 8 * self.key_len);
            say!("WARNING: Using default options for cipher ({name}, key size {bits} bits) {older}.");
        }
        if uses_default_hash {
            say!("WARNING: Using default options for hash ({}) {older}.", PassphraseHash::DEFAULT);
        }
        if self.uses_default_cipher || uses_default_hash {
            say!(
                "For plain mode, always use options --cipher, --key-size and if no keyfile or keyring is used, then also --hash."
            );
        }
    }
}

fn refuse_options(args: &Args) -> Result<()> {
    if args.given(&shared::SKIP) {
        return Err(refusal("Option --skip is supported only for open of plain and loopaes devices."));
    }
    if args.given(&shared::IV_LARGE_SECTORS) {
        return Err(refusal(IV_LARGE_SECTORS_ALONE));
    }
    if args.given(&shared::SECTOR_SIZE) {
        return Err(refusal("Sector size option with open action is supported only for plain devices."));
    }
    match offset_option(args) {
        Some(option) if args.given(option) => Err(refusal(format!(
            "Option --{} with open action is only supported for plain and loopaes devices.",
            option.long
        ))),
        _ => Ok(()),
    }
}

/// What the options describe.
fn volume(args: &Args) -> Result<PlainVolume> {
    let cipher = args.text(&shared::CIPHER).unwrap_or(DEFAULT_CIPHER);
    let spec = CipherSpec::parse(cipher).map_err(|e| Failure::from(keyway_volume::Error::from(e)))?;
    let sector_size = SectorSize::new(args.number32(&shared::SECTOR_SIZE).filter(|n| *n > 0).unwrap_or(512))
        .map_err(|_| refusal("Unsupported encryption sector size."))?;
    let iv_large_sectors = args.given(&shared::IV_LARGE_SECTORS);
    if iv_large_sectors && sector_size == SectorSize::S512 {
        return Err(refusal(IV_LARGE_SECTORS_ALONE));
    }
    let skip = Sectors(args.number(&shared::SKIP).unwrap_or(0));
    Ok(PlainVolume { spec, sector_size, iv_large_sectors, offset: offset(args)?, skip, size: size(args)? })
}

/// The option that says where the data starts: some commands have another --offset.
fn offset_option(args: &Args) -> Option<&'static Opt> {
    [&shared::OFFSET, &shared::DEVICE_OFFSET].into_iter().find(|option| args.takes(option))
}

fn offset(args: &Args) -> Result<Sectors> {
    if args.takes(&shared::OFFSET) {
        return Ok(Sectors(args.number(&shared::OFFSET).unwrap_or(0)));
    }
    whole_sectors(args.number(&shared::DEVICE_OFFSET).unwrap_or(0), "Device offset")
}

fn size(args: &Args) -> Result<Option<Sectors>> {
    match (args.number(&shared::DEVICE_SIZE), args.number(&shared::SIZE)) {
        (Some(_), Some(_)) => Err(refusal("Options --device-size and --size cannot be combined.")),
        (Some(bytes), None) => whole_sectors(bytes, "Device size").map(Some),
        (None, sectors) => Ok(sectors.map(Sectors)),
    }
}

fn whole_sectors(bytes: u64, what: &str) -> Result<Sectors> {
    match bytes % Sectors::SIZE {
        0 => Ok(Bytes(bytes).sectors()),
        _ => Err(refusal(format!("{what} must be multiple of 512 bytes sector."))),
    }
}

/// The key's length in bytes.
fn key_len(args: &Args) -> Result<usize> {
    let bits = args.number32(&shared::KEY_SIZE).filter(|bits| *bits > 0).unwrap_or(DEFAULT_KEY_BITS);
    if !bits.is_multiple_of(8) {
        return Err(refusal("Key size must be a multiple of 8 bits"));
    }
    Ok(bits as usize / 8)
}

/// The key of a plain volume that is open and was opened with keys of `bits` by the hash `was`, from
/// its passphrase or key file. `--hash` gives another hash.
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

/// A key file is the key itself; a passphrase, from standard input too, is hashed.
fn volume_key(
    key: &KeyOptions,
    device: &Path,
    len: usize,
    hash: Option<&str>,
    hash_is_given: bool,
    stdin_holds_data: bool,
) -> Result<Secret> {
    if let Some(file) = &key.volume_key_file {
        return passphrase::volume_key(file, len);
    }
    let mut source = key.passphrase.existing(unlock::prompt_for(device));
    if stdin_holds_data {
        source = source.stdin_holds_data();
    }
    if !source.uses_stdin() {
        note_ignored(key, hash_is_given);
        return source.exactly(len).read();
    }
    let parsed = hash.map_or(Ok(PassphraseHash::DEFAULT), PassphraseHash::parse);
    let hash =
        parsed.map_err(|_| refusal(format!("Hash algorithm {} not supported.", hash.unwrap_or_default())))?;
    if hash.is_none() && key.passphrase.key_file.is_some() {
        source = source.exactly(len);
    }
    let passphrase = source.read()?;
    hash.key(&passphrase, len)
        .map_err(|why| refusal(format!("Key processing error (using hash {hash}): {why}.")))
}

/// cryptsetup's warnings about options that a key file makes idle.
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

/// Writing to a plain volume on a device that holds something else
/// destroys that: cryptsetup asks first.
fn confirm_signatures(manner: Manner, device: &Path, storage: &dyn Storage) -> Result<()> {
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

fn refusal(message: impl Into<String>) -> Failure {
    Failure::new(Exit::Parameters, message)
}

const DEFAULT_CIPHER: &str = "aes-xts-plain64";
const DEFAULT_KEY_BITS: u32 = 256;

const IV_LARGE_SECTORS_ALONE: &str = "Large IV sectors option is supported only for opening plain type device with \
                                      sector size larger than 512 bytes.";

/// What only volumes with a header have.
static OF_HEADERS: &[&Opt] = &[&shared::HEADER, &shared::KEY_SLOT, &shared::UNBOUND];
