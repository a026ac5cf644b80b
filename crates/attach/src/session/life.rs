//! A session's life: it serves until told to stop, by its owner, by `keyway close` or from outside
//! (`umount`). Then acknowledged data is flushed, and the volume and its key are dropped.

use super::error::{Error, Result};
use super::facts::{Facts, Status};
use super::suspendable::SuspendableDevice;
use super::work::{Throttle, Work};
use crate::FrontEnd;
use keyway_crypto::Secret;
use keyway_volume::reencrypt::VolumeKeys;
use keyway_volume::{Rights, Storage};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

/// An open front end, and what is behind it.
pub struct Opened {
    /// The front end, which shows `device`.
    pub front_end: Arc<dyn FrontEnd>,
    /// The volume behind it.
    pub device: Arc<SuspendableDevice>,
    /// The public facts.
    pub facts: Facts,
}

/// When a session is to close.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Close {
    /// After the requests under way have ended.
    Now,
    /// When its last client disconnects.
    Deferred,
    /// Takes `Deferred` back.
    CancelDeferred,
}

/// An open session.
pub struct Life {
    opened: Opened,
    closing: AtomicBool,
    work: Work,
    /// Held while the front end is being closed.
    stopping: Mutex<()>,
}

impl Life {
    /// Of a front end that is open.
    pub fn new(opened: Opened) -> Arc<Self> {
        Arc::new(Self {
            opened,
            closing: AtomicBool::new(false),
            work: Work::default(),
            stopping: Mutex::new(()),
        })
    }

    /// Waits until the session is closed, then flushes and wipes. [`Control::serve`](super::Control::serve)
    /// answers questions meanwhile.
    ///
    /// # Errors
    /// The front end's, and [`Error::Lost`].
    pub(super) fn last(&self) -> Result<()> {
        let ended = self.opened.front_end.wait().map_err(Error::FrontEnd);
        // The thread that stopped the front end may still be flushing and answering.
        let _stopped = self.stopping.lock().unwrap_or_else(PoisonError::into_inner);
        // A client's `umount` ends a front end as well. If the key is away then, there is nothing to
        // flush, and no request to wait for.
        let _ = self.work.stop();
        self.opened.device.shut();
        let flushed = flush(&*self.opened.device);
        self.opened.device.wipe();
        ended.and(flushed)
    }

    /// Closes the session now. If the front end stays open, what was written so far is flushed, and it
    /// closes when its last client disconnects.
    pub fn stop_soon(self: &Arc<Self>) {
        if self.stop().is_err() {
            let _ = flush(&*self.opened.device);
            self.defer();
        }
    }

    /// The public facts and the current state.
    pub(super) fn status(&self) -> Status {
        let mut facts = self.opened.facts.clone();
        facts.size = self.device().len();
        facts.read_only = self.device().is_read_only();
        facts.discards = self.device().passes_discards();
        let moved = self.work.moved();
        if let Some((cipher, sector_size, key_bits)) = self.device().encryption().filter(|_| moved.is_done())
        {
            (facts.cipher, facts.sector_size, facts.key_bits) = (cipher, sector_size, key_bits);
        }
        Status {
            facts,
            clients: self.opened.front_end.clients() as u64,
            suspended: self.device().is_suspended(),
            closing: self.closing.load(Ordering::Relaxed),
            moved,
        }
    }

    /// Closes now, or when the last client has disconnected. `done` runs before the process ends.
    pub(super) fn close(self: &Arc<Self>, when: Close, done: impl FnOnce(Result<String>)) {
        match when {
            Close::Now => self.stop_then(done),
            Close::Deferred if self.opened.front_end.clients() == 0 => self.stop_then(done),
            Close::Deferred => {
                self.defer();
                done(Ok(String::new()));
            }
            Close::CancelDeferred => {
                self.closing.store(false, Ordering::Relaxed);
                done(Ok(String::new()));
            }
        }
    }

    /// Wipes the key; requests wait.
    pub(super) fn suspend(&self) -> Result<()> {
        self.device().suspend()
    }

    /// Takes the key back; requests go on.
    pub(super) fn resume(&self, key: &Secret) -> Result<()> {
        self.device().resume(key)
    }

    /// Resizes the volume to `size` bytes, or to all that the device has now.
    pub(super) fn resize(&self, size: Option<u64>) -> Result<()> {
        let front_end = &self.opened.front_end;
        front_end.check_resizable()?;
        self.device().resize(size)?;
        front_end.refresh();
        Ok(())
    }

    /// Changes the access rights. A read-only volume stays read-only.
    pub(super) fn set_rights(&self, rights: Rights) -> Result<()> {
        let front_end = &self.opened.front_end;
        front_end.pass_discards(rights.discards)?;
        self.device().pass_discards(rights.discards);
        if rights.read_only {
            self.device().make_read_only();
        }
        front_end.refresh();
        Ok(())
    }

    /// Goes on with the re-encryption that the volume's header describes.
    pub(super) fn reencrypt(&self, keys: VolumeKeys, throttle: Throttle) -> Result<()> {
        self.work.start(&self.opened.device, keys, throttle, |_| ())
    }

    /// Stops that where the data is whole.
    pub(super) fn stop_reencrypting(&self) -> Result<()> {
        self.work.stop()
    }

    fn device(&self) -> &SuspendableDevice {
        &self.opened.device
    }

    fn stop(&self) -> Result<()> {
        let mut result = Ok(());
        self.stop_then(|stopped| result = stopped.map(drop));
        result
    }

    /// Stops the front end; `done` gets the message to show.
    fn stop_then(&self, done: impl FnOnce(Result<String>)) {
        let _held = self.stopping.lock().unwrap_or_else(PoisonError::into_inner);
        done(self.stop_front_end().map_err(Error::FrontEnd).and_then(|()| {
            flush(self.device())?;
            let lost = self.device().has_turned_away();
            Ok(if lost { "Writes that waited for its key were refused.\n".into() } else { String::new() })
        }));
    }

    fn stop_front_end(&self) -> crate::Result<()> {
        let front_end = &self.opened.front_end;
        if self.device().is_suspended() {
            // Before waiting requests are refused in vain.
            front_end.check_stoppable()?;
        }
        self.device().shut();
        front_end.stop().inspect_err(|_| self.device().stay())
    }

    fn defer(self: &Arc<Self>) {
        if !self.closing.swap(true, Ordering::Relaxed) {
            let life = Arc::clone(self);
            thread::spawn(move || life.close_when_unused());
        }
    }

    fn close_when_unused(&self) {
        while self.closing.load(Ordering::Relaxed) {
            if self.opened.front_end.clients() == 0 && self.stop().is_ok() {
                return;
            }
            thread::sleep(POLL);
        }
    }
}

/// Flushes a volume whose front end is closed.
///
/// # Errors
/// [`Error::Lost`]
pub fn flush(volume: &dyn Storage) -> Result<()> {
    // If everything is flushed, nothing is lost even when the storage no longer answers.
    if volume.is_settled() {
        return Ok(());
    }
    volume.flush().map_err(Error::Lost)
}

/// How often a session that is waiting to close checks whether it is still in use.
const POLL: Duration = Duration::from_millis(50);
