//! A volume that is open in a session: the header begins here, and the process that has the volume in
//! use goes on, while it is used.

use super::decrypt::has_data_behind;
use super::{ALREADY_BEGUN, Asked, Extent, NOT_IN_PROGRESS, What};
use crate::device::{self, explain, sessions};
use crate::mapping::{self, Open};
use crate::output::failure::{Exit, Failure, Result};
use crate::output::progress;
use crate::process::interrupt;
use crate::unlock;
use keyway::parts::VolumeKeys;
use keyway::storage::Storage;
use keyway::{Access, Device, Header, Key, Mapping, VolumeKey};
use keyway_attach::session::{Close, Facts, Moved, Session, Status, Throttle};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

impl Asked {
    /// What is to go on: what `--active-name` names, or what has the device open, as cryptsetup finds
    /// the mapping of a device.
    pub(super) fn open_volume(&self) -> Result<Option<Open>> {
        if let Some(name) = &self.active_name {
            return mapping::find_active(name).map(Some);
        }
        let device = &self.target.device;
        if self.offline || device.as_os_str().is_empty() || self.what == What::Encrypt {
            return Ok(None);
        }
        let is_of = |session: &Session| device::is_same(Path::new(&session.facts().device), device);
        match sessions::registry().list().into_iter().find(is_of) {
            Some(session) => Ok(Some(Open::Session(session))),
            None => Ok(Mapping::above(device).map(Open::Kernel)),
        }
    }

    /// Begins, or goes on, with what a session has open.
    pub(super) fn run_online(mut self, session: &Session) -> Result<()> {
        let status = session.status().map_err(explain::session)?;
        self.check_open(&status)?;
        self.target.device = PathBuf::from(&status.facts.device);
        if self.target.header.is_none() && !status.facts.header.is_empty() {
            self.target.header = Some(PathBuf::from(&status.facts.header));
        }
        let name = &status.facts.name;
        self.check_data_stays(name)?;
        let device = self.device_in_use()?;
        let header = device.header_with(&self.key.terms_without_seal())?;
        if self.passes_by(&header)? {
            return Ok(());
        }
        let is_under_way = header.is_in_reencryption()?;
        self.check_under_way(&header)?;
        self.check_size_stays(header.luks(), 0, &format!("{name} is open"))?;
        if !is_under_way && self.extent != Extent::Resume {
            let len = self.target.storage(&self.target.device, Access::Probe)?.len();
            self.keep_size_of(name, status.facts.size, header.luks().header().data_len_on(len))?;
        }
        drop(header);
        let Some(keys) = (match is_under_way {
            true => Some(self.keys_under_way(&device)?),
            // The session checks what it is handed.
            false => {
                self.begin_in_use(&device, name, |header, key| self.check_blocks(&device, header, key))?
            }
        }) else {
            return self.note_prepared(name);
        };
        let throttle = Throttle { zone: self.zone, limit: self.limit_rate };
        session.reencrypt(&keys, throttle).map_err(explain::session)?;
        let is_decryption = keys.new_key().is_none();
        drop(keys);
        self.watch(session, name)?;
        if is_decryption { close_plaintext(session, &status.facts) } else { Ok(()) }
    }

    fn check_open(&self, status: &Status) -> Result<()> {
        let name = &status.facts.name;
        self.check_is_changed_in_place(name)?;
        let device = &self.target.device;
        if !device.as_os_str().is_empty() && !device::is_same(Path::new(&status.facts.device), device) {
            return Err(refused(&format!(
                "{name} is the volume of {}, not of {}.",
                status.facts.device,
                device.display()
            )));
        }
        self.check_header_is_its_own(&status.facts)?;
        if status.facts.format != "LUKS2" {
            return Err(refused(&format!(
                "{name} is a {} volume: only LUKS2 can be reencrypted while it is open. Nothing was changed.",
                status.facts.format
            )));
        }
        if status.facts.read_only || status.suspended {
            let how = if status.suspended { "suspended" } else { "open for reading only" };
            return Err(refused(&format!(
                "{name} is {how}, and cannot be reencrypted. Nothing was changed."
            )));
        }
        match status.moved.is_running() {
            true => Err(refused(&format!("{name} is being reencrypted already."))),
            false => Ok(()),
        }
    }

    /// Whoever has the volume open goes on with the header that it was opened with.
    fn check_header_is_its_own(&self, facts: &Facts) -> Result<()> {
        let own = if facts.header.is_empty() { &facts.device } else { &facts.header };
        match &self.target.header {
            Some(given) if device::exists(given) && !device::is_same(Path::new(own), given) => {
                Err(refused(&format!(
                    "{} was opened with the header on {own}, not with {}. Nothing was changed.",
                    facts.name,
                    given.display()
                )))
            }
            _ => Ok(()),
        }
    }

    /// Only what no data moves for can be done while the volume is open.
    pub(super) fn check_is_changed_in_place(&self, name: &str) -> Result<()> {
        if self.unused.is_some() {
            return Err(refused(&format!(
                "{name} is open: --skip-unused needs a file system that nobody uses. \"keyway close {name}\" first. \
                 Nothing was changed."
            )));
        }
        if self.what != What::Encrypt && self.reduce.is_none() {
            return Ok(());
        }
        Err(refused(&format!(
            "{name} is open: only its volume key and cipher can be changed meanwhile, or removed (--decrypt). \
             \"keyway close {name}\" first. Nothing was changed."
        )))
    }

    /// Refuses a decryption for which there is no header, or one that is in the way of the data.
    pub(super) fn check_data_stays(&self, name: &str) -> Result<()> {
        let is_elsewhere =
            |path: &PathBuf| device::exists(path) && !device::is_same(path, &self.target.device);
        match self.what == What::Decrypt && !self.target.header.as_ref().is_some_and(is_elsewhere) {
            true => Err(self.data_moves(name)),
            false => Ok(()),
        }
    }

    fn data_moves(&self, name: &str) -> Failure {
        let device = self.target.device.display();
        let message = format!(
            "{name} is open, and its data would move to the start of {device}, over its header: that begins while nobody \
             uses it. Nothing was changed."
        );
        refused(&message).hinting(format!(
            "\"keyway close {name}\", \"keyway reencrypt --decrypt --init-only --header {name}.header {device}\", and open it again with \
             --header {name}.header: all the rest is done in use."
        ))
    }

    /// The device that somebody has claimed: only its header is written here.
    pub(super) fn device_in_use(&self) -> Result<Device> {
        let data: Arc<dyn Storage> = self.target.storage(&self.target.device, Access::Write)?;
        let header = match &self.target.header {
            Some(path) => self.target.storage(path, Access::Write)?,
            None => Arc::clone(&data),
        };
        Ok(self.target.over(data, header, true))
    }

    /// The header says what will be; `None` where no more was asked for (`--init-only`).
    /// `check` is asked whether the volume that is in use has this key, and can be changed so.
    pub(super) fn begin_in_use(
        &self,
        device: &Device,
        name: &str,
        check: impl Fn(&Header, &VolumeKey) -> Result<()>,
    ) -> Result<Option<VolumeKeys>> {
        if self.extent == Extent::Resume {
            return Err(refused(NOT_IN_PROGRESS));
        }
        self.check_resilience_in_place()?;
        let header = self.header_of(device)?;
        let begun = match (self.what, &self.target.header) {
            (What::Decrypt, Some(_)) if has_data_behind(&header) => return Err(self.data_moves(name)),
            (What::Decrypt, Some(path)) => {
                let len = self.target.storage(&self.target.device, Access::Probe)?.len();
                self.confirm(&self.warning_of_plaintext(path, header.luks().header().data_len_on(len)))?;
                let key = self.one_key(&header)?;
                check(&header, &key)?;
                self.back_up(&header)?;
                device.prepare_decryption(header, &self.how, key)
            }
            _ => {
                let how = self.new_encryption(&header)?;
                let keys = self.keys(&header)?;
                keys.first().map_or(Ok(()), |(key, _)| check(&header, key))?;
                self.back_up(&header)?;
                device.prepare_reencryption(header, &how, keys)
            }
        };
        let keys = begun.map_err(|error| self.not_begun(device, error))?;
        Ok(Some(keys).filter(|_| self.extent != Extent::Begin))
    }

    pub(super) fn keys_under_way(&self, device: &Device) -> Result<VolumeKeys> {
        if self.extent == Extent::Begin {
            return Err(refused(ALREADY_BEGUN));
        }
        self.find_backup(device);
        let source = self.key.passphrase.existing(unlock::prompt_for(self.target.header_path()));
        self.key.ask(&source, &self.key.of_keyslot(), |passphrase| {
            let header = device.header_with(&self.key.terms())?;
            header.reencryption_keys(&Key::Passphrase(passphrase))
        })
    }

    /// Shows how far the session is, until it is done or somebody stops it here.
    fn watch(&self, session: &Session, name: &str) -> Result<()> {
        let stopped = Arc::new(AtomicBool::new(false));
        let asked = Arc::clone(&stopped);
        let stopping = interrupt::stop_by(move |_| asked.store(true, Ordering::Relaxed));
        let status = || session.status().map_err(explain::session);
        let Moved { len, done: before, .. } = status()?.moved;
        let ended = progress::watch_from(before, self.progress, Path::new(name), Some(len), |meter| {
            let mut told = before;
            loop {
                let moved = status()?.moved;
                meter.add(moved.done.saturating_sub(told));
                told = told.max(moved.done);
                if !moved.is_running() {
                    return Ok(moved);
                }
                if stopped.load(Ordering::Relaxed) {
                    // It may have ended just now.
                    let _ = session.stop_reencrypting();
                    continue;
                }
                thread::sleep(POLL);
            }
        });
        drop(stopping);
        let line = resuming(name);
        let moved: Moved = ended.map_err(|failure: Failure| {
            failure.hinting(format!("Nothing is lost. Once {name} is open again, resume with \"{line}\"."))
        })?;
        match (moved.is_done(), moved.failure()) {
            (true, _) => {
                self.end_backup();
                Ok(())
            }
            (false, Some(why)) => {
                let message = format!("Reencryption of {name} has failed: {why}.");
                Err(Failure::new(Exit::Device, message)
                    .hinting(format!("Nothing is lost, and the rest stays in use. Resume with \"{line}\".")))
            }
            (false, None) => Err(Failure::new(Exit::Parameters, "Reencryption interrupted.")
                .hinting(format!("{name} stays open as it is. Resume with \"{line}\"."))),
        }
    }
}

/// Closes what is no volume any more with its last user, where its front end sees all of them.
fn close_plaintext(session: &Session, facts: &Facts) -> Result<()> {
    let name = &facts.name;
    if facts.backend == "ublk" {
        say!("{name} is plaintext now: \"keyway close {name}\" once nobody uses {} any more.", facts.place);
        return Ok(());
    }
    note_plaintext(name);
    session.close(Close::Deferred).map(drop).map_err(explain::session)
}

/// Says that what was opened as a volume is none any more.
pub(super) fn note_plaintext(name: &str) {
    say!("{name} is plaintext now: it closes when its last user does.");
}

pub(super) fn refused(message: &str) -> Failure {
    Failure::new(Exit::Parameters, message)
}

/// How often the session is asked.
const POLL: Duration = Duration::from_millis(100);

/// The command that resumes what is open under `name`.
pub(super) fn resuming(name: &str) -> String {
    format!("keyway reencrypt --resume-only --active-name {name}")
}
