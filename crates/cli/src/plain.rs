//! Plain dm-crypt volumes (`--type plain`): what the options say about them, and the key.
//!
//! The rules are those of cryptsetup's `open --type plain` since 2.7 (src/cryptsetup.c,
//! `action_open_plain`). What a plain volume is stands nowhere but on the command line:
//! a wrong option is not noticed, it gives noise.

use crate::args::{Args, Opt, shared};
use crate::failure::{Exit, Failure, Result};
use crate::hint;
use crate::passphrase::{self, Request};
use crate::plaintext::Data;
use crate::{existing_content, question, unlocking};
use keyway_crypto::{CipherSpec, Secret, SectorSize};
use keyway_format::plain::PassphraseHash;
use keyway_format::{Bytes, Sectors};
use keyway_volume::{Layout, PlainVolume, Storage};
use std::path::Path;

/// Whether the volume is a plain one. Refuses what only plain volumes have, for the others.
pub(crate) fn is_meant(args: &Args) -> Result<bool> {
    if !args.command().all_options().any(|option| option.long == shared::SKIP.long) {
        return Ok(false);
    }
    if args.device_type() == Some("plain") {
        return Ok(true);
    }
    refuse_options(args).map(|()| false)
}

/// Where the data of the plain volume on `device` lies, and its key.
pub(crate) fn unlock(
    args: &Args,
    device: &Path,
    storage: &dyn Storage,
    data: Data,
    stdin_holds_data: bool,
) -> Result<(Layout, Secret)> {
    if let Some(option) = OF_HEADERS.iter().find(|option| args.given(option)) {
        return Err(refusal(format!("--{} is not for plain volumes: they have no header.", option.long)));
    }
    let key_len = key_len(args)?;
    let volume = volume(args)?;
    volume.spec.check_key_bits(8 * key_len).map_err(|e| Failure::from(keyway_volume::Error::from(e)))?;
    warn_about_defaults(args, key_len);
    let layout = volume.layout(&device.display().to_string(), storage.len());
    let layout = layout.map_err(|e| hint::on_device(device, &e))?;
    if data == Data::Write && volume.offset.0 == 0 {
        confirm_signatures(args, device, storage)?;
    }
    Ok((layout, key(args, device, key_len, args.text(&shared::HASH), stdin_holds_data)?))
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

/// The key of a plain volume that is open and was opened with keys of
/// `bits` by `hash`, from its passphrase or key file.
pub(crate) fn key_again(args: &Args, device: &Path, bits: u64, hash: &str) -> Result<Secret> {
    let hash = args.text(&shared::HASH).or((!hash.is_empty()).then_some(hash));
    key(args, device, (bits / 8) as usize, hash, false)
}

/// A key file is the key itself; a passphrase, from standard input too, is hashed.
fn key(args: &Args, device: &Path, len: usize, spec: Option<&str>, stdin_holds_data: bool) -> Result<Secret> {
    if let Some(file) = unlocking::volume_key_file(args) {
        return passphrase::volume_key(file, len);
    }
    let mut request = Request::existing(args, unlocking::prompt_for(device))?;
    if stdin_holds_data {
        request = request.stdin_holds_data();
    }
    if !request.uses_stdin() {
        note_ignored(args);
        return request.exactly(len).read();
    }
    let hash = spec.map_or(Ok(PassphraseHash::DEFAULT), PassphraseHash::parse);
    let hash =
        hash.map_err(|_| refusal(format!("Hash algorithm {} not supported.", spec.unwrap_or_default())))?;
    if hash.is_none() && args.given(&shared::KEY_FILE) {
        request = request.exactly(len);
    }
    let passphrase = request.read()?;
    hash.key(&passphrase, len)
        .map_err(|why| refusal(format!("Key processing error (using hash {hash}): {why}.")))
}

/// cryptsetup's warnings about options that a key file makes idle.
fn note_ignored(args: &Args) {
    if args.batch_mode() {
        return;
    }
    if args.given(&shared::HASH) {
        say!("WARNING: The --hash parameter is being ignored in plain mode with keyfile specified.");
    }
    if args.given(&shared::KEYFILE_SIZE) {
        say!(
            "WARNING: The --keyfile-size option is being ignored, the read size is the same as the encryption key size."
        );
    }
}

/// cryptsetup's warning, given in batch mode too: its defaults changed in 2.7.
fn warn_about_defaults(args: &Args, key_len: usize) {
    let keyed = [&shared::KEY_FILE, &shared::VOLUME_KEY_FILE, &shared::MASTER_KEY_FILE];
    let cipher = !args.given(&shared::CIPHER) || !args.given(&shared::KEY_SIZE);
    let hash = !args.given(&shared::HASH) && !keyed.iter().any(|option| args.given(option));
    let older = "that could be incompatible with older versions";
    if cipher {
        let (name, bits) = (args.text(&shared::CIPHER).unwrap_or(DEFAULT_CIPHER), 8 * key_len);
        say!("WARNING: Using default options for cipher ({name}, key size {bits} bits) {older}.");
    }
    if hash {
        say!("WARNING: Using default options for hash ({}) {older}.", PassphraseHash::DEFAULT);
    }
    if cipher || hash {
        say!(
            "For plain mode, always use options --cipher, --key-size and if no keyfile or keyring is used, then also --hash."
        );
    }
}

/// Writing to a plain volume on a device that holds something else
/// destroys that: cryptsetup asks first.
fn confirm_signatures(args: &Args, device: &Path, storage: &dyn Storage) -> Result<()> {
    let found = existing_content::warnings(storage, device)?;
    if found.is_empty() || args.batch_mode() {
        return Ok(());
    }
    found.iter().for_each(|line| say!("{line}"));
    let warning = format!(
        "Detected device signature(s) on {}. Proceeding further may damage existing data.",
        device.display()
    );
    question::confirm(args, &warning, "Operation aborted.", Exit::Parameters)
}

fn refusal(message: impl Into<String>) -> Failure {
    Failure::new(Exit::Parameters, message)
}

const DEFAULT_CIPHER: &str = CipherSpec::DEFAULT;
const DEFAULT_KEY_BITS: u32 = CipherSpec::DEFAULT_CIPHER_KEY_BITS;

const IV_LARGE_SECTORS_ALONE: &str = "Large IV sectors option is supported only for opening plain type device with \
                                      sector size larger than 512 bytes.";

/// What only volumes with a header have.
static OF_HEADERS: &[&Opt] = &[&shared::HEADER, &shared::KEY_SLOT, &shared::UNBOUND];
