//! Serving until told to stop: by a signal, by `keyway close` or from outside (`umount`). Then
//! acknowledged data is flushed, and the volume and its key are dropped.

use super::facts::Status;
use super::{Gate, Opened, Rights};
use crate::process::interrupt;
use crate::say::failure::{Exit, Failure, Result};
use crate::say::sentence;
use keyway_attach::Door;
use keyway_crypto::Secret;
use keyway_volume::Storage;
use signal_hook::consts::SIGHUP;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

/// Serves in the foreground until SIGINT, SIGTERM or SIGHUP closes the door, or it is closed from
/// outside. Signals take effect from the moment `announce` runs.
pub(crate) fn serve_until_stopped(
    door: &Arc<dyn Door>,
    volumes: &[Arc<dyn Storage>],
    announce: impl FnOnce() -> Result<()>,
) -> Result<()> {
    let (stopping, behind) = (Arc::clone(door), volumes.to_vec());
    let _watch = interrupt::stop_by(move |_| {
        if let Err(why) = stopping.stop() {
            // The door stays open; at least what was written so far is safe.
            behind.iter().for_each(|volume| drop(volume.flush()));
            sentence::door(&why).report();
        }
    });
    if let Err(failure) = announce() {
        // Nobody would know where the door is.
        let _ = door.stop();
        return Err(failure);
    }
    let ended = door.wait().map_err(|e| sentence::door(&e));
    volumes.iter().map(|volume| flush(&**volume)).fold(ended, Result::and)
}

/// When a session is to close.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Close {
    /// After the requests under way have ended.
    Now,
    /// When its last client disconnects.
    Deferred,
    /// Takes `Deferred` back.
    CancelDeferred,
}

/// An open session.
pub(super) struct Life {
    opened: Opened,
    closing: AtomicBool,
    /// Held while the door is being closed.
    stopping: Mutex<()>,
}

impl Life {
    pub(super) fn new(opened: Opened) -> Self {
        Self { opened, closing: AtomicBool::new(false), stopping: Mutex::new(()) }
    }

    /// Serves until the session is closed, then flushes and wipes. `answer` serves the control
    /// socket.
    pub(super) fn last(self: &Arc<Self>, answer: impl FnOnce(Arc<Self>) + Send + 'static) -> Result<()> {
        let told = Arc::clone(self);
        // A hangup of the terminal that the session was started on does not concern it.
        let _watch = interrupt::stop_by(move |signal| {
            if signal != SIGHUP && told.stop().is_err() {
                let _ = flush(&*told.opened.gate);
            }
        });
        let asked = Arc::clone(self);
        thread::spawn(move || answer(asked));
        let ended = self.opened.door.wait().map_err(|e| sentence::door(&e));
        // The thread that stopped the door may still be flushing and answering.
        let _stopped = self.stopping.lock().unwrap_or_else(PoisonError::into_inner);
        // A client's `umount` ends a door as well. If the key is away then, there is nothing to
        // flush, and no request to wait for.
        self.opened.gate.shut();
        let flushed = flush(&*self.opened.gate);
        self.opened.gate.wipe();
        ended.and(flushed)
    }

    /// The public facts and the current state.
    pub(super) fn status(&self) -> Status {
        let mut facts = self.opened.facts.clone();
        facts.size = self.gate().len();
        facts.read_only = self.gate().is_read_only();
        facts.discards = self.gate().passes_discards();
        Status {
            facts,
            clients: self.opened.door.clients() as u64,
            suspended: self.gate().is_suspended(),
            closing: self.closing.load(Ordering::Relaxed),
        }
    }

    /// Closes now, or when the last client has disconnected. `done` runs before the process ends.
    pub(super) fn close(self: &Arc<Self>, when: Close, done: impl FnOnce(Result<String>)) {
        match when {
            Close::Now => self.stop_then(done),
            Close::Deferred if self.opened.door.clients() == 0 => self.stop_then(done),
            Close::Deferred => {
                if !self.closing.swap(true, Ordering::Relaxed) {
                    let life = Arc::clone(self);
                    thread::spawn(move || life.close_when_unused());
                }
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
        self.gate().suspend()
    }

    /// Takes the key back; requests go on.
    pub(super) fn resume(&self, key: &Secret) -> Result<()> {
        self.gate().resume(key)
    }

    /// Resizes the volume to `size` bytes, or to all that the device has now.
    pub(super) fn resize(&self, size: Option<u64>) -> Result<()> {
        let door = &self.opened.door;
        door.check_resizable().map_err(|e| sentence::door(&e))?;
        self.gate().resize(size)?;
        door.refresh();
        Ok(())
    }

    /// Changes the access rights. A read-only volume stays read-only.
    pub(super) fn set_rights(&self, rights: Rights) -> Result<()> {
        let door = &self.opened.door;
        door.pass_discards(rights.discards).map_err(|e| sentence::door(&e))?;
        self.gate().pass_discards(rights.discards);
        if rights.read_only {
            self.gate().make_read_only();
        }
        door.refresh();
        Ok(())
    }

    fn gate(&self) -> &Gate {
        &self.opened.gate
    }

    fn stop(&self) -> Result<()> {
        let mut result = Ok(());
        self.stop_then(|stopped| result = stopped.map(drop));
        result
    }

    /// Stops the door; `done` gets the message to show.
    fn stop_then(&self, done: impl FnOnce(Result<String>)) {
        let _held = self.stopping.lock().unwrap_or_else(PoisonError::into_inner);
        done(self.stop_door().map_err(|e| sentence::door(&e)).and_then(|()| {
            flush(self.gate())?;
            let lost = self.gate().has_turned_away();
            Ok(if lost { "Writes that waited for its key were refused.\n".into() } else { String::new() })
        }));
    }

    fn stop_door(&self) -> keyway_attach::Result<()> {
        let door = &self.opened.door;
        if self.gate().is_suspended() {
            // Before waiting requests are refused in vain.
            door.check_stoppable()?;
        }
        self.gate().shut();
        door.stop().inspect_err(|_| self.gate().stay())
    }

    fn close_when_unused(&self) {
        while self.closing.load(Ordering::Relaxed) {
            if self.opened.door.clients() == 0 && self.stop().is_ok() {
                return;
            }
            thread::sleep(POLL);
        }
    }
}

fn flush(volume: &dyn Storage) -> Result<()> {
    // If everything is flushed, nothing is lost even when the storage no longer answers.
    if volume.is_settled() {
        return Ok(());
    }
    let lost =
        |e| Failure::new(Exit::Device, format!("What was written last may not be on the device: {e}."));
    volume.flush().map_err(lost)
}

/// How often a session that is waiting to close checks whether it is still in use.
const POLL: Duration = Duration::from_millis(50);
