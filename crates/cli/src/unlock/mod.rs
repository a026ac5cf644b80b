//! From the user's passphrase or volume key to an unlocked volume,
//! with cryptsetup's prompts, tries and messages.

pub(crate) mod admission;
pub(crate) mod argon2_lock;
pub(crate) mod passphrase;
pub(crate) mod policy;
pub(crate) mod tokens;

use crate::door::{Args, shared};
use crate::say::failure::{Exit, Failure, Result};
use crate::say::{explain, output};
use crate::unlock::passphrase::PassphraseSource;
use keyway_crypto::Secret;
use keyway_volume::{Error, Luks, UnlockOptions, Unlocked};
use std::path::Path;
use std::time::{Duration, Instant};

/// How often a person is asked when `--tries` does not say.
const TRIES: u64 = 3;

/// The limits that the command line sets on key derivation; no keyslot chosen.
pub(crate) fn options(args: &Args) -> UnlockOptions {
    let weak_ciphers_too = admission::takes_weak_ciphers(args);
    let mut options = UnlockOptions { weak_ciphers_too, ..UnlockOptions::default() };
    if let Some(bytes) = args.number(&shared::MEMORY_BUDGET) {
        options.memory_budget_kib = bytes / 1024;
    }
    if let Some(seconds) = args.number(&shared::TIME_LIMIT) {
        options.time_limit = Duration::from_secs(seconds);
    }
    options
}

/// Unlocks by a token of the header's, or else by a passphrase: what opens a volume for use.
pub(crate) fn unlock_by_token_or(
    args: &Args,
    luks: &Luks,
    request: &PassphraseSource,
    options: &UnlockOptions,
) -> Result<Unlocked> {
    match tokens::unlock(args, luks, options)? {
        Some(unlocked) => {
            note_unlocked(args, unlocked.keyslot)?;
            Ok(unlocked)
        }
        None => unlock(args, luks, request, options),
    }
}

/// Reads a passphrase and unlocks; a person is asked again after a
/// wrong one. Says which keyslot opened (`-v`).
pub(crate) fn unlock(
    args: &Args,
    luks: &Luks,
    request: &PassphraseSource,
    options: &UnlockOptions,
) -> Result<Unlocked> {
    unlock_keeping_passphrase(args, luks, request, options).map(|(unlocked, _)| unlocked)
}

/// Like [`unlock`], for commands that need the passphrase again.
pub(crate) fn unlock_keeping_passphrase(
    args: &Args,
    luks: &Luks,
    request: &PassphraseSource,
    options: &UnlockOptions,
) -> Result<(Unlocked, Secret)> {
    luks.check_requirements()?;
    let mut tries = if request.is_interactive() { args.number(&shared::TRIES).unwrap_or(TRIES) } else { 1 };
    output::debug(
        args.manner(),
        &format!(
            "Memory for key derivation: {} KiB, on {} threads.",
            options.memory_budget_kib, options.threads
        ),
    )?;
    loop {
        let passphrase = request.read()?;
        let turn = argon2_lock::turn(args)?;
        let started = Instant::now();
        let result = keyway_volume::unlock(luks, &passphrase, options);
        drop(turn);
        match result {
            Ok(unlocked) => {
                output::debug(
                    args.manner(),
                    &format!("Unlocking took {:.3} s.", started.elapsed().as_secs_f64()),
                )?;
                note_unlocked(args, unlocked.keyslot)?;
                return Ok((unlocked, passphrase));
            }
            Err(error @ Error::WrongPassphrase) if tries > 1 => {
                explain::plain(&error).report();
                tries -= 1;
            }
            Err(error) => return Err(explain::plain(&error)),
        }
    }
}

/// The volume key, as the command line gives it or from a token or
/// passphrase, and the digest that it fits.
pub(crate) fn volume_key(args: &Args, luks: &Luks, device: &Path) -> Result<(Secret, u32)> {
    if let Some(given) = given_volume_key(args, luks)? {
        return Ok(given);
    }
    let request = PassphraseSource::existing(args, prompt_for(device))?;
    let options = UnlockOptions { keyslot: args.number32(&shared::KEY_SLOT), ..options(args) };
    let unlocked = unlock_by_token_or(args, luks, &request, &options)?;
    Ok((unlocked.volume_key, unlocked.digest))
}

/// The volume key from `--volume-key-file`, and the digest that it fits.
pub(crate) fn given_volume_key(args: &Args, luks: &Luks) -> Result<Option<(Secret, u32)>> {
    let Some(file) = volume_key_file(args) else { return Ok(None) };
    luks.check_requirements()?;
    let len = match luks
        .header()
        .volume_key_len()
        .or_else(|| args.number32(&shared::KEY_SIZE).map(|bits| bits as usize / 8))
    {
        Some(len) => len,
        None => {
            return Err(Failure::new(
                Exit::Parameters,
                "Cannot determine volume key size for LUKS without keyslots, please use --key-size option.",
            ));
        }
    };
    let key = passphrase::volume_key(file, len)?;
    let digest = keyway_volume::verify_volume_key(luks, &key)?;
    Ok(Some((key, digest)))
}

/// `--volume-key-file`, by its new or old name.
pub(crate) fn volume_key_file(args: &Args) -> Option<&Path> {
    args.path(&shared::VOLUME_KEY_FILE).or_else(|| args.path(&shared::MASTER_KEY_FILE))
}

/// cryptsetup's usual prompt.
pub(crate) fn prompt_for(device: &Path) -> String {
    format!("Enter passphrase for {}: ", device.display())
}

/// "Key slot 0 unlocked." with `-v`.
pub(crate) fn note_unlocked(args: &Args, keyslot: u32) -> Result<()> {
    output::verbose(args.manner(), &format!("Key slot {keyslot} unlocked."))
}
