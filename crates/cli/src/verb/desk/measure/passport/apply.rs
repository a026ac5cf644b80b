//! `--apply`: header backup, question, passphrase, edit, and a check that the volume opens.

use super::facts::Passport;
use super::text;
use super::words::derivation;
use crate::device::{Target, Versions};
use crate::say::failure::{Exit, Failure, Result};
use crate::say::paint::Paint;
use crate::say::{output, question};
use crate::unlock::KeyOptions;
use keyway::{Header, Key, NewKdf, NewKeyslot, Priority, Version, VolumeKey};
use keyway_boot::advice::Advice;
use keyway_boot::unlock_time::Work;
use keyway_volume::{Access, Luks};
use std::path::Path;

/// Changes the keyslot that the passport's advice is about. `luks` is the header that the passport
/// describes.
pub(super) fn run(
    volume: &Volume<'_>,
    luks: &Luks,
    passport: &Passport,
    key: &KeyOptions,
    backup_file: &str,
) -> Result<()> {
    output::print(&text::show(passport, Paint::for_stdout()))?;
    let Some(advised) = &passport.advice else { return Ok(()) };
    let change = match &advised.advice {
        Advice::Nothing { .. } => return output::print("\n  Nothing was changed.\n"),
        Advice::Impossible { .. } => return Err(Failure::silent(Exit::Parameters)),
        Advice::Change(change) => change,
    };
    let slot = change.slot as u32;
    let file = Path::new(backup_file);
    if file.exists() {
        let message = format!(
            "Header backup file {backup_file} already exists; name another with --header-backup-file."
        );
        return Err(Failure::new(Exit::Parameters, message));
    }
    let cheap = if change.cheap().is_some() { " Its passphrase becomes cheap to guess." } else { "" };
    let warning = format!(
        "This will change the cost of keyslot {slot} of {}; {backup_file} keeps the current header.{cheap}",
        passport.device
    );
    if !key.manner.batch_mode && !rustix::termios::isatty(rustix::stdio::stdin()) {
        let message = format!("{warning} Without a terminal nobody can be asked: to have it, give -q.");
        return Err(Failure::new(Exit::Parameters, message));
    }
    question::confirm(key.manner, &warning, "Nothing was changed.", Exit::Parameters)?;
    let passphrase = key.passphrase.existing(format!("Enter passphrase of keyslot {slot}: ")).read_key()?;
    let mut header = volume.header(key, slot)?;
    if !header.luks().is_same(luks) {
        return Err(Failure::new(
            Exit::Busy,
            format!("The header of {} has changed; try again.", passport.device),
        ));
    }
    let found = header.try_key(&passphrase)?;
    header.backup(file)?;
    output::print(&format!("\n  The previous header is in {backup_file}.\n"))?;
    let now = match &change.cost {
        Some(cost) => recost(&mut header, found, &passphrase, cost)?,
        None => slot,
    };
    for number in &change.skip {
        header.set_priority(*number as u32, Priority::Ignore)?;
    }
    volume.header(key, now)?.try_key(&passphrase)?;
    let moved = match now == slot {
        true => String::new(),
        false => format!(" (it was keyslot {slot}: its new key material needed another place)"),
    };
    let has = match &change.cost {
        Some(cost) => derivation(cost, function(cost)),
        None => "its cost as before".to_owned(),
    };
    output::print(&format!("  Keyslot {now}{moved} has {has} now, and opens.\n"))
}

/// Gives the keyslot that was opened another cost; returns its number afterwards, which LUKS1 cannot
/// keep: its keyslots are their places.
fn recost(header: &mut Header, found: VolumeKey, passphrase: &Key, cost: &Work) -> Result<u32> {
    let (kdf, hash) = match cost {
        Work::Pbkdf2 { hash, iterations, .. } => (NewKdf::pbkdf2(*iterations as u32).hash(hash), Some(hash)),
        Work::Argon2 { time, memory_kib, lanes } => {
            (NewKdf::argon2id_forced(*time as u32, *memory_kib as u32, *lanes as u32), None)
        }
    };
    let new = NewKeyslot::new().kdf(kdf);
    Ok(match header.version() {
        Version::Luks1 => header.change_key_with(found, passphrase, &new)?,
        _ => header.convert_key(passphrase, &hash.map_or(new.clone(), |hash| new.hash(hash)))?,
    })
}

fn function(cost: &Work) -> &'static str {
    match cost {
        Work::Pbkdf2 { .. } => "pbkdf2",
        Work::Argon2 { .. } => "argon2id",
    }
}

/// Where the header is.
pub(super) struct Volume<'a> {
    pub(super) target: &'a Target,
    pub(super) versions: Versions,
}

impl Volume<'_> {
    /// The header as it is now, to be edited with the key of this keyslot.
    fn header(&self, key: &KeyOptions, slot: u32) -> Result<Header> {
        let mut key = key.clone();
        key.keyslot = Some(slot);
        self.target.header(Access::Write, self.versions, &key.terms_without_demands())
    }
}
