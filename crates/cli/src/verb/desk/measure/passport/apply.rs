//! `--apply`: header backup, question, passphrase, edit, and a check that the volume opens.

use super::facts::Passport;
use super::text;
use crate::say::failure::{Exit, Failure, Result};
use crate::say::paint::Paint;
use crate::say::{output, question};
use crate::unlock::KeyOptions;
use keyway_boot::advice::Advice;
use keyway_format::luks2::Priority;
use keyway_volume::backup::backup;
use keyway_volume::edit::{AddKey, change_key, convert_key, set_priority};
use keyway_volume::{Cost, KdfChoice, Luks, OsRandom, UnlockOptions};
use std::path::Path;

pub(super) fn run(luks: &mut Luks, passport: &Passport, key: &KeyOptions, backup_file: &str) -> Result<()> {
    output::print(&text::show(passport, Paint::for_stdout()))?;
    let Some(advised) = &passport.advice else { return Ok(()) };
    let (slot, hash, iterations, skip) = match &advised.advice {
        Advice::Nothing { .. } => return Ok(()),
        Advice::Impossible { .. } => return Err(Failure::silent(Exit::Parameters)),
        Advice::Recost { slot, hash, iterations, skip, .. } => (*slot as u32, hash, *iterations as u32, skip),
    };
    let file = Path::new(backup_file);
    if file.exists() {
        let message = format!(
            "Header backup file {backup_file} already exists; name another with --header-backup-file."
        );
        return Err(Failure::new(Exit::Parameters, message));
    }
    let warning = format!(
        "This will change the cost of keyslot {slot} of {}; {backup_file} keeps the current header.",
        passport.device
    );
    question::confirm(key.manner, &warning, "Nothing was changed.", Exit::Parameters)?;
    let passphrase = key.passphrase.existing(format!("Enter passphrase of keyslot {slot}: ")).read()?;
    let unlock_options = UnlockOptions { keyslot: Some(slot), ..key.limits() };
    let unlocked = keyway_volume::unlock(luks, &passphrase, &unlock_options)?;
    backup(luks, file)?;
    output::print(&format!("\n  The previous header is in {backup_file}.\n"))?;
    let options = AddKey {
        keyslot: None,
        kdf: KdfChoice::Pbkdf2 { hash: hash.clone(), cost: Cost::Forced(iterations) },
        hash: (luks.version() == 2).then(|| hash.clone()),
        keyslot_cipher: None,
        keyslot_key_bits: None,
        weak_cipher_too: unlock_options.weak_ciphers_too,
    };
    let slot = match luks.version() {
        1 => change_key(luks, &unlocked, &passphrase, &options, &mut OsRandom)?,
        _ => convert_key(luks, &unlocked, &passphrase, &options, &mut OsRandom)?,
    };
    for number in skip {
        set_priority(luks, *number as u32, Priority::Ignore, &mut OsRandom)?;
    }
    let again = UnlockOptions { keyslot: Some(slot), ..key.limits() };
    keyway_volume::unlock(luks, &passphrase, &again)?;
    output::print(&format!("  Keyslot {slot} has {iterations} iterations of pbkdf2 {hash} now, and opens.\n"))
}
