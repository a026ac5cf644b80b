//! The first boot of a clone: a volume that bears the mark of `build --rekey-at-first-boot` gets a volume
//! key of its own before it is mapped. Whatever prevents that is said, and the boot goes on: the mark
//! stays for the next one. Only a wrong key, and a header that must not be opened, end it as they end
//! `open`.

use crate::device::Versions;
use crate::output::failure::{Exit, Failure, Result};
use crate::output::progress::Progress;
use crate::output::stdio;
use crate::unlock::{self, tokens};
use crate::verb::key::reencrypt::{Steps, to_end};
use crate::verb::session::open::Open;
use crate::volume::Opening;
use keyway::parts::UnlockOptions;
use keyway::{Access, Device, ErrorKind, FirstBoot, Header, Key, Reencrypt, Reencryption, Unlock, VolumeKey};
use keyway_boot::crypttab::{Entry, REKEY, Rekey};
use keyway_crypto::Secret;
use keyway_format::text::Shown;
use std::sync::Arc;

/// Re-encrypts the entry's volume if its mark asks for it. Returns the passphrase, if one was read.
pub(super) fn first_boot(entry: &Entry, open: impl Fn() -> Result<Open>) -> Result<Option<Secret>> {
    let is_read_only = open()?.is_read_only();
    let Some(opening) = open()?.opening_of_luks()? else { return Ok(None) };
    let volume = Volume { entry, opening };
    if !volume.is_due(is_read_only)? {
        return Ok(None);
    }
    volume.opening.judge()?;
    volume.rekey()
}

/// A volume that may be a clone of an image.
struct Volume<'a> {
    entry: &'a Entry,
    opening: Opening,
}

/// What became of a passphrase that opens the volume.
enum Begun {
    /// The re-encryption, and whether it was begun before.
    Job(Box<Reencryption>, bool),
    /// These keyslots have other passphrases.
    Others(Vec<u32>),
    /// It could not begin.
    Failed(keyway::Error),
}

impl Volume<'_> {
    /// Whether the volume is to be re-encrypted now. Says why not, where its mark asks for it.
    fn is_due(&self, is_read_only: bool) -> Result<bool> {
        // What is wrong with the header, open says.
        let Ok(header) = self.opening.target.header(Access::Read, Versions::Any, &self.terms()) else {
            return Ok(false);
        };
        match header.first_boot() {
            FirstBoot::Unmarked => return Ok(false),
            FirstBoot::Stale => return self.forget(is_read_only).map(|()| false),
            FirstBoot::Unreadable(why) => {
                self.say(&format!(
                    "its mark for the first boot cannot be read, and is left alone: {}.",
                    Shown(&why)
                ));
                return Ok(false);
            }
            FirstBoot::Due => {}
        }
        let name = self.entry.name.to_string_lossy();
        let obstacle = match self.entry.rekey() {
            Ok(Rekey::No) => return Ok(false),
            Ok(Rekey::After) => {
                self.say(&format!(
                    "it still has the volume key of its image: \"keyway reencrypt --if-marked --active-name \
                     {name}\" gives it its own while it is in use."
                ));
                return Ok(false);
            }
            Err(word) => Some(format!("{REKEY}={word} is none of yes, before, after and no")),
            Ok(Rekey::Before) => self.obstacle(&header, is_read_only),
        };
        obstacle.iter().for_each(|why| self.keeps_key(why));
        Ok(obstacle.is_none())
    }

    /// What speaks against it before anybody is asked for a passphrase.
    fn obstacle(&self, header: &Header, is_read_only: bool) -> Option<String> {
        if header.is_sealed() {
            return Some("its header is sealed with the volume key that will be replaced".to_owned());
        }
        if is_read_only {
            return Some("it is opened for reading only".to_owned());
        }
        // The new keyslots have other numbers.
        self.opening
            .key
            .keyslot
            .map(|number| format!("its entry names keyslot {number}, and the new ones have other numbers"))
    }

    /// Asks for the passphrase, and re-encrypts.
    fn rekey(&self) -> Result<Option<Secret>> {
        let device = match self.claim() {
            Ok(device) => device,
            Err(failure) => {
                self.keeps_key(failure.message());
                return Ok(None);
            }
        };
        let (begun, passphrase) = self.begin(&device)?;
        match begun {
            Begun::Job(job, resumes) => self.finish(*job, resumes)?,
            Begun::Others(others) => self.keeps_key(&format!("{} another passphrase", have(&others))),
            Begun::Failed(error) => self.keeps_key(&error.to_string()),
        }
        Ok(Some(passphrase))
    }

    /// The volume, which nobody else uses as long as this device is open.
    fn claim(&self) -> Result<Device> {
        let target = &self.opening.target;
        let data = target.claimed(&target.device, Access::Write)?;
        let header = match &target.header {
            Some(path) => target.storage(path, Access::Write)?,
            None => Arc::clone(&data),
        };
        Ok(target.over(Arc::clone(&data), header, true))
    }

    /// By a token or the user, as `open` finds the key.
    fn begin(&self, device: &Device) -> Result<(Begun, Secret)> {
        let (key, options) =
            (&self.opening.key, UnlockOptions { keyslot: None, ..self.opening.key.limits() });
        let header = device.header_with(&self.terms())?;
        if let Some((_, passphrase)) = tokens::unlock_keeping_passphrase(key, header.luks(), &options)?
            && let Ok(begun) = self.begin_with(device, passphrase)
        {
            return Ok(begun);
        }
        drop(header);
        let source = key.passphrase.existing(unlock::prompt_for(&self.opening.target.device));
        key.ask(&source, &options, |passphrase| self.begin_with(device, passphrase))
    }

    /// Fails only for a wrong passphrase.
    fn begin_with(&self, device: &Device, passphrase: Secret) -> keyway::Result<(Begun, Secret)> {
        match self.begun(device, &passphrase) {
            Err(error) if *error.kind() == ErrorKind::WrongPassphrase => Err(error),
            begun => Ok((begun.unwrap_or_else(Begun::Failed), passphrase)),
        }
    }

    fn begun(&self, device: &Device, passphrase: &Secret) -> keyway::Result<Begun> {
        let (header, how) = (device.header_with(&self.terms())?, how());
        let key = || Key::Passphrase(Secret::copy_from(passphrase.expose()));
        if header.is_in_reencryption()? {
            let job = device.resume_reencryption(header, &how, &key())?;
            return Ok(Begun::Job(Box::new(job), true));
        }
        let (keys, others) = keys(&header, key)?;
        if !others.is_empty() {
            return Ok(Begun::Others(others));
        }
        Ok(Begun::Job(Box::new(device.begin_reencryption(header, &how, keys)?), false))
    }

    fn finish(&self, job: Reencryption, resumes: bool) -> Result<()> {
        self.say(match resumes {
            true => "the reencryption under its own volume key resumes.",
            false => {
                "first boot: it is reencrypted under its own volume key. If the power fails, the next boot \
                 resumes."
            }
        });
        let progress = Progress { every: None, json: false, quiet: false, on_output: true };
        match to_end(Offline(job), progress, &self.opening.target.device, None) {
            Ok(true) => self.say("it has its own volume key now."),
            Ok(false) => {
                let message = "Interrupted. The data is intact, and the next boot resumes.";
                return Err(Failure::new(Exit::Parameters, message));
            }
            Err(failure) => {
                failure.report();
                self.say("the reencryption stopped. The data is intact, and the next boot resumes.");
            }
        }
        Ok(())
    }

    /// Removes a mark whose key is gone: a program that knows no marks replaced it.
    fn forget(&self, is_read_only: bool) -> Result<()> {
        if is_read_only {
            return Ok(());
        }
        let target = &self.opening.target;
        let forgotten = target
            .header(Access::Write, Versions::Any, &self.terms())
            .is_ok_and(|mut header| header.forget_first_boot().unwrap_or_default());
        // One that stays asks for nothing.
        match forgotten {
            true => stdio::verbose(target.manner, "The mark of a completed first boot is removed."),
            false => Ok(()),
        }
    }

    /// The terms of `open`: limits and demands.
    fn terms(&self) -> Unlock {
        self.opening.key.terms_to_edit(&self.opening.demands)
    }

    fn keeps_key(&self, why: &str) {
        let why = why.trim_end_matches('.');
        self.say(&format!("it keeps the volume key of its image for now: {why}."));
    }

    fn say(&self, what: &str) {
        say!("{}: {what}", self.entry.name.to_string_lossy());
    }
}

/// Cipher, key size, sector size and the cost of keyslots stay as they are; the data was claimed.
fn how() -> Reencrypt {
    Reencrypt::new().unlock(Unlock::new().unclaimed())
}

/// Volume keys from keyslots, each with the passphrase that opened it.
type Pairs = Vec<(VolumeKey, Key)>;

/// The keyslots that the passphrase opens, and the numbers of the others.
fn keys(header: &Header, key: impl Fn() -> Key) -> keyway::Result<(Pairs, Vec<u32>)> {
    let first = header.try_key(&key())?;
    let (mut found, mut others) = (Vec::new(), Vec::new());
    for number in header.luks().bound_keyslots() {
        if first.keyslot() == Some(number) {
            continue;
        }
        match header.try_key_on(number, &key()) {
            Ok(opened) => found.push((opened, key())),
            Err(error) if *error.kind() == ErrorKind::WrongPassphrase => others.push(number),
            Err(error) => return Err(error),
        }
    }
    found.push((first, key()));
    Ok((found, others))
}

/// "keyslot 1 has", "keyslots 1, 2 have".
fn have(keyslots: &[u32]) -> String {
    let numbers = keyslots.iter().map(u32::to_string).collect::<Vec<_>>().join(", ");
    match keyslots.len() {
        1 => format!("keyslot {numbers} has"),
        _ => format!("keyslots {numbers} have"),
    }
}

/// A re-encryption of a volume that nobody has open.
struct Offline(Reencryption);

impl Steps for Offline {
    fn step(&mut self) -> Result<bool> {
        Ok(self.0.step()?)
    }

    fn progress(&self) -> (u64, u64) {
        self.0.progress()
    }
}
