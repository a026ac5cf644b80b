//! `--apply`: header backup, question, passphrase, edit, and a check that the volume opens.

use super::facts::{Keyslot, Passport};
use super::text;
use super::words::derivation;
use crate::device::{Target, Versions};
use crate::output::failure::{Exit, Failure, Result};
use crate::output::figures::seconds;
use crate::output::paint::Paint;
use crate::output::{question, stdio};
use crate::unlock::KeyOptions;
use keyway::parts::Luks;
use keyway::{Access, Header, Key, NewKdf, NewKeyslot, Priority, Version, VolumeKey};
use keyway_boot::advice::Advice;
use keyway_boot::unlock_time::Work;
use keyway_format::interval::Interval;
use std::path::Path;

/// Changes the keyslot that the passport's advice is about, if anything is to be changed. `luks` is the
/// header that the passport describes.
pub(super) fn run(
    volume: &Volume<'_>,
    luks: &Luks,
    passport: &Passport,
    key: &KeyOptions,
    backup_file: &str,
) -> Result<Option<Done>> {
    stdio::print(&text::show(passport, Paint::for_stdout()))?;
    let Some(advised) = &passport.advice else { return Ok(None) };
    let change = match &advised.advice {
        Advice::Nothing { .. } => {
            return stdio::print("\n  Nothing was changed.\n").map(|()| None);
        }
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
        let message = question::unasked(&warning);
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
    stdio::print(&format!("\n  The previous header is in {backup_file}.\n"))?;
    if let Some(cost) = &change.cost {
        recost(&mut header, found, slot, &passphrase, cost)?;
    }
    for number in &change.skip {
        header.set_priority(*number as u32, Priority::Ignore)?;
    }
    volume.header(key, slot)?.try_key(&passphrase)?;
    let has = match &change.cost {
        Some(cost) => derivation(cost, function(cost)),
        None => "its cost as before".to_owned(),
    };
    stdio::print(&format!("  Keyslot {slot} has {has} now, and opens.\n"))?;
    Ok(Some(Done { slot: change.slot, promised: change.seconds }))
}

/// Gives the keyslot that was opened another cost. It keeps its number, and so its turn: in LUKS1 it goes to
/// a free keyslot and comes back, and the passphrase opens one of the two at any moment.
fn recost(header: &mut Header, found: VolumeKey, slot: u32, passphrase: &Key, cost: &Work) -> Result<()> {
    let (kdf, hash) = match cost {
        Work::Pbkdf2 { hash, iterations, .. } => (NewKdf::pbkdf2(*iterations as u32).hash(hash), Some(hash)),
        Work::Argon2 { time, memory_kib, lanes } => {
            (NewKdf::argon2id_forced(*time as u32, *memory_kib as u32, *lanes as u32), None)
        }
        Work::Stretching { .. } => unreachable!("no advice gives a keyslot BitLocker's stretching"),
    };
    // The passphrase that it has.
    let new = NewKeyslot::new().kdf(kdf).allow_empty_passphrase();
    match header.version() {
        Version::Luks1 => header.change_key_with(found, passphrase, &new.number(slot))?,
        _ => header.convert_key(passphrase, &hash.map_or(new.clone(), |hash| new.hash(hash)))?,
    };
    Ok(())
}

/// What was changed, and what the keyslot was to take then.
pub(super) struct Done {
    slot: u64,
    promised: Interval,
}

impl Done {
    /// Whether it takes that, by the passport of the header as it is now.
    pub(super) fn kept(&self, now: &Passport) -> String {
        let found = now.slots.iter().find(|slot| slot.number == self.slot).and_then(Keyslot::until_opened);
        let promised = seconds(self.promised.likely);
        match found {
            Some(found) if (found.likely / self.promised.likely - 1.0).abs() < SAME => {
                format!("With the new header, it takes the promised {promised} on the target.")
            }
            Some(found) => format!(
                "WARNING: with the new header, it takes {} on the target, not the promised {promised}.",
                seconds(found.likely)
            ),
            None => {
                format!("WARNING: with the new header, keyslot {} does not open on the target.", self.slot)
            }
        }
    }
}

/// How far the same sum may be off.
const SAME: f64 = 0.01;

fn function(cost: &Work) -> &'static str {
    match cost {
        Work::Pbkdf2 { .. } => "pbkdf2",
        Work::Argon2 { .. } => "argon2id",
        Work::Stretching { .. } => "stretching",
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
