//! The volume behind a door. It can be taken away (which wipes its key) and put back, and its
//! length and access rights can change. Requests wait in the meantime.

use super::error::{Error, Result};
use super::source::Source;
use keyway_crypto::Secret;
use keyway_volume::reencrypt::Online;
use keyway_volume::{Keys, Rights, Storage, Volume};
use std::io::{self, ErrorKind};
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

/// A volume that can be suspended.
pub struct Gate {
    volume: RwLock<Option<Behind>>,
    /// What the volume is built from again; `None` when it does not come back.
    source: Mutex<Option<Arc<Source>>>,
    is_distant: bool,
    len: AtomicU64,
    unit: u64,
    read_only: AtomicBool,
    discards: AtomicBool,
    /// Whether a write was refused because the door was being closed.
    turned_away: AtomicBool,
    state: Mutex<State>,
    changed: Condvar,
    /// Held while a re-encryption begins.
    beginning: Mutex<()>,
}

/// What is behind the gate.
enum Behind {
    /// A volume whose mapping stays.
    Settled(Arc<Volume>),
    /// A volume that is being re-encrypted.
    Moving(Arc<Online>),
}

impl Behind {
    fn storage(&self) -> &dyn Storage {
        match self {
            Self::Settled(volume) => &**volume,
            Self::Moving(online) => &**online,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Open,
    Suspended,
    /// Requests fail: the door is being closed while the key is away. Data written before
    /// suspension has been flushed.
    Shut,
    /// The volume does not come back.
    Wiped,
}

impl Gate {
    /// Creates a gate in front of the volume of `source`, whose keys these are.
    ///
    /// # Errors
    /// [`Error::Volume`]
    pub fn open<'a>(source: Source, keys: impl Into<Keys<'a>>, rights: Rights) -> Result<Self> {
        let volume = source.build(keys.into())?;
        Ok(Self {
            is_distant: source.storage.is_distant(),
            source: Mutex::new(Some(Arc::new(source))),
            len: AtomicU64::new(volume.len()),
            unit: volume.unit(),
            read_only: AtomicBool::new(rights.read_only || volume.is_read_only()),
            discards: AtomicBool::new(rights.discards),
            turned_away: AtomicBool::new(false),
            volume: RwLock::new(Some(Behind::Settled(Arc::new(volume)))),
            state: Mutex::new(State::Open),
            changed: Condvar::new(),
            beginning: Mutex::new(()),
        })
    }

    /// Whether the volume is suspended, that is, has no key.
    pub fn is_suspended(&self) -> bool {
        self.lock().is_none()
    }

    /// Waits for requests under way, flushes, and drops the volume
    /// with its key. Requests wait from now on.
    ///
    /// # Errors
    /// [`Error::AlreadySuspended`], [`Error::NotFlushed`], [`Error::Reencrypting`]; nothing changes
    /// then.
    pub fn suspend(&self) -> Result<()> {
        let mut volume = self.lock_alone();
        let Some(open) = &*volume else {
            return Err(Error::AlreadySuspended);
        };
        self.settled(open)?;
        open.storage().flush().map_err(Error::NotFlushed)?;
        *self.state() = State::Suspended;
        *volume = None;
        Ok(())
    }

    /// Puts the volume back; requests that waited go on.
    ///
    /// # Errors
    /// [`Error::NotSuspended`]; [`Error::Volume`], above all with another key.
    pub fn resume(&self, key: &Secret) -> Result<()> {
        let source = self.source().filter(|_| self.is_suspended()).ok_or(Error::NotSuspended)?;
        let fresh = source.rebuild(key)?;
        // A volume that was resized keeps its size.
        let fresh =
            if fresh.len() == self.len() { fresh } else { source.resized(&fresh, Some(self.len()))? };
        *self.lock_alone() = Some(Behind::Settled(Arc::new(fresh)));
        *self.state() = State::Open;
        self.changed.notify_all();
        Ok(())
    }

    /// Gives the volume `size` bytes, or all that the device has if `size` is `None`. Requests
    /// beyond the new end fail.
    ///
    /// # Errors
    /// [`Error::Suspended`], [`Error::Size`], [`Error::Reencrypting`].
    pub fn resize(&self, size: Option<u64>) -> Result<()> {
        let mut volume = self.lock_alone();
        let (Some(open), Some(source)) = (&*volume, self.source()) else {
            return Err(Error::Suspended);
        };
        let fresh = source.resized(self.settled(open)?, size)?;
        self.len.store(fresh.len(), Ordering::Relaxed);
        *volume = Some(Behind::Settled(Arc::new(fresh)));
        Ok(())
    }

    /// Refuses writes from now on.
    pub fn make_read_only(&self) {
        // Requests under way have ended when this returns.
        let _alone = self.lock_alone();
        self.read_only.store(true, Ordering::Relaxed);
    }

    /// What users may do with the volume now.
    pub fn rights(&self) -> Rights {
        Rights { read_only: self.is_read_only(), discards: self.passes_discards() }
    }

    /// Whether discards are passed on; otherwise they are accepted without effect.
    pub fn passes_discards(&self) -> bool {
        self.discards.load(Ordering::Relaxed)
    }

    /// Turns passing discards on or off.
    pub fn pass_discards(&self, pass: bool) {
        self.discards.store(pass, Ordering::Relaxed);
    }

    /// Makes requests that wait for a suspended volume fail, so that its door can be closed.
    pub fn shut(&self) {
        self.pass(State::Suspended, State::Shut);
    }

    /// Lets requests wait again: the door could not be closed.
    pub fn stay(&self) {
        self.pass(State::Shut, State::Suspended);
    }

    /// Whether writes that waited for the key were refused, and are lost.
    pub fn has_turned_away(&self) -> bool {
        self.turned_away.load(Ordering::Relaxed)
    }

    fn pass(&self, from: State, to: State) {
        let mut state = self.state();
        if *state == from {
            *state = to;
            self.changed.notify_all();
        }
    }

    /// Drops the volume and its key for good, and the claim on its storage: whoever then finds the
    /// session gone can use the volume.
    pub fn wipe(&self) {
        *self.state() = State::Wiped;
        *self.lock_alone() = None;
        *self.source.lock().unwrap_or_else(PoisonError::into_inner) = None;
        self.changed.notify_all();
    }

    /// The volume, unless its mapping changes: then its keys and its size stay.
    fn settled<'a>(&self, behind: &'a Behind) -> Result<&'a Volume> {
        let is_under_way = || self.source().is_some_and(|source| source.is_reencrypting());
        match behind {
            Behind::Settled(volume) if !is_under_way() => Ok(volume),
            _ => Err(Error::Reencrypting),
        }
    }

    fn source(&self) -> Option<Arc<Source>> {
        self.source.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Runs with the volume, waiting while it is suspended; `refused` is called if it does not come
    /// back.
    fn with_or<T>(
        &self,
        work: impl FnOnce(&dyn Storage) -> io::Result<T>,
        refused: impl FnOnce(),
    ) -> io::Result<T> {
        loop {
            if let Some(volume) = &*self.lock() {
                return work(volume.storage());
            }
            let mut state = self.state();
            while *state == State::Suspended {
                state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
            }
            if matches!(*state, State::Shut | State::Wiped) {
                refused();
                return Err(io::Error::other("the volume is suspended and being closed"));
            }
        }
    }

    fn with<T>(&self, work: impl FnOnce(&dyn Storage) -> io::Result<T>) -> io::Result<T> {
        self.with_or(work, || ())
    }

    /// [`Gate::with`] for operations that change the volume.
    fn writing<T>(&self, work: impl FnOnce(&dyn Storage) -> io::Result<T>) -> io::Result<T> {
        let work = |volume: &dyn Storage| match self.is_read_only() {
            true => Err(ErrorKind::ReadOnlyFilesystem.into()),
            false => work(volume),
        };
        self.with_or(work, || self.turned_away.store(true, Ordering::Relaxed))
    }

    fn lock(&self) -> RwLockReadGuard<'_, Option<Behind>> {
        self.volume.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn lock_alone(&self) -> RwLockWriteGuard<'_, Option<Behind>> {
        self.volume.write().unwrap_or_else(PoisonError::into_inner)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Storage for Gate {
    fn len(&self) -> u64 {
        self.len.load(Ordering::Relaxed)
    }

    fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<()> {
        self.with(|volume| volume.read_at(buf, offset))
    }

    fn write_at(&self, buf: &[u8], offset: u64) -> io::Result<()> {
        self.writing(|volume| volume.write_at(buf, offset))
    }

    fn write_from(&self, buf: &mut [u8], offset: u64) -> io::Result<()> {
        self.writing(|volume| volume.write_from(buf, offset))
    }

    fn flush(&self) -> io::Result<()> {
        if let Some(volume) = &*self.lock() {
            return volume.storage().flush();
        }
        // All acknowledged data was flushed before the key was wiped, and nothing has been written
        // since. (The kernel sends a flush each time any process closes the file, even in passing:
        // such a process must not hang.)
        match *self.state() {
            State::Wiped => Err(io::Error::other("the volume was closed")),
            State::Open | State::Suspended | State::Shut => Ok(()),
        }
    }

    fn discard(&self, range: Range<u64>) -> io::Result<()> {
        if !self.passes_discards() {
            return Ok(());
        }
        self.writing(|volume| volume.discard(range))
    }

    fn write_zeroes(&self, range: Range<u64>, may_discard: bool) -> io::Result<()> {
        self.writing(|volume| volume.write_zeroes(range, may_discard && self.passes_discards()))
    }

    fn is_read_only(&self) -> bool {
        self.read_only.load(Ordering::Relaxed)
    }

    fn next_data(&self, offset: u64) -> io::Result<Option<Range<u64>>> {
        self.with(|volume| volume.next_data(offset))
    }

    fn is_distant(&self) -> bool {
        self.is_distant
    }

    fn unit(&self) -> u64 {
        self.unit
    }
}

mod reencrypting;
#[cfg(test)]
mod tests;
