//! `--apply`: header backup, question, passphrase, edit, and a check that the volume opens.

use super::facts::Passport;
use super::text;
use crate::device::{Target, Versions};
use crate::say::failure::{Exit, Failure, Result};
use crate::say::paint::Paint;
use crate::say::{output, question};
use crate::unlock::KeyOptions;
use keyway::{Header, NewKdf, NewKeyslot, Priority, Version};
use keyway_boot::advice::Advice;
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
    let kdf = NewKdf::pbkdf2(iterations).hash(hash);
    let slot = match header.version() {
        Version::Luks1 => header.change_key_with(found, &passphrase, &NewKeyslot::new().kdf(kdf))?,
        _ => header.convert_key(&passphrase, &NewKeyslot::new().kdf(kdf).hash(hash))?,
    };
    for number in skip {
        header.set_priority(*number as u32, Priority::Ignore)?;
    }
    volume.header(key, slot)?.try_key(&passphrase)?;
    output::print(&format!("  Keyslot {slot} has {iterations} iterations of pbkdf2 {hash} now, and opens.\n"))
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
