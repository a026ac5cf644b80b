//! The volume behind a front end. It can be taken away (which wipes its key) and put back, and its
//! length and access rights can change. Requests wait in the meantime.
//!
//! What is behind the suspendable device is one value behind one lock: requests share it, and whoever changes it
//! has it alone. A request that finds the volume away waits until something has [changed](changes)
//! since before it looked. So no order of suspending, resuming and closing leaves a request waiting
//! for what has happened already, or asking again and again; `model.rs` goes through all of them.
//!
//! Whoever wants the suspendable device alone waits for the requests under way, and the others for it. So none may
//! be long: zeros and discards of any length go in pieces, and give way after each. A lock that is let
//! go goes to whoever is awake, which is the next piece: so requests wait at a turnstile while somebody
//! wants the suspendable device alone.

use self::changes::Changes;
use super::error::{Error, Result};
use super::source::Source;
use keyway_crypto::Secret;
use keyway_volume::reencrypt::Online;
use keyway_volume::{Keys, Rights, Storage, Volume};
use std::io::{self, ErrorKind};
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

mod changes;
mod reencrypting;

/// A volume that can be suspended.
pub struct SuspendableDevice {
    behind: RwLock<Behind>,
    /// How many want `behind` alone and do not have it yet.
    wanted: AtomicU32,
    /// Held by one of them until it has it.
    turnstile: Mutex<()>,
    /// What the volume is built from again; `None` when it does not come back.
    source: Mutex<Option<Arc<Source>>>,
    is_distant: bool,
    len: AtomicU64,
    unit: u64,
    read_only: AtomicBool,
    discards: AtomicBool,
    /// Whether requests fail while the volume is suspended: the front end is being closed. Data written
    /// before suspension has been flushed.
    closing: AtomicBool,
    /// Whether a write was refused because the front end was being closed.
    turned_away: AtomicBool,
    /// Of `behind` and `closing`.
    changes: Changes,
    /// Held while a re-encryption begins.
    beginning: Mutex<()>,
}

/// What is behind the suspendable device.
enum Behind {
    /// A volume whose mapping stays.
    Settled(Arc<Volume>),
    /// A volume that is being re-encrypted.
    Moving(Arc<Online>),
    /// Nothing, until its key is given again.
    Suspended,
    /// The volume does not come back.
    Wiped,
}

impl Behind {
    /// `None` while there is no volume.
    fn storage(&self) -> Option<&dyn Storage> {
        match self {
            Self::Settled(volume) => Some(&**volume),
            Self::Moving(online) => Some(&**online),
            Self::Suspended | Self::Wiped => None,
        }
    }
}

impl SuspendableDevice {
    /// Creates a suspendable device in front of the volume of `source`, whose keys these are.
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
            closing: AtomicBool::new(false),
            behind: RwLock::new(Behind::Settled(Arc::new(volume))),
            wanted: AtomicU32::new(0),
            turnstile: Mutex::new(()),
            changes: Changes::default(),
            beginning: Mutex::new(()),
        })
    }

    /// Whether the volume is suspended, that is, has no key.
    pub fn is_suspended(&self) -> bool {
        self.lock().storage().is_none()
    }

    /// Waits for requests under way, flushes, and drops the volume
    /// with its key. Requests wait from now on.
    ///
    /// # Errors
    /// [`Error::AlreadySuspended`], [`Error::NotFlushed`], [`Error::Reencrypting`],
    /// [`Error::Plaintext`]; nothing changes then.
    pub fn suspend(&self) -> Result<()> {
        if self.source().is_some_and(|source| source.is_plaintext()) {
            return Err(Error::Plaintext);
        }
        // Most is flushed while requests go on.
        self.flush_settled(&self.lock())?;
        let behind = self.lock_alone();
        self.flush_settled(&behind)?;
        self.put(behind, Behind::Suspended);
        Ok(())
    }

    fn flush_settled(&self, behind: &Behind) -> Result<()> {
        match behind.storage() {
            None => Err(Error::AlreadySuspended),
            Some(_) => self.settled(behind)?.flush().map_err(Error::NotFlushed),
        }
    }

    /// Puts the volume back; requests that waited go on.
    ///
    /// # Errors
    /// [`Error::NotSuspended`]; [`Error::Volume`], above all with another key.
    pub fn resume(&self, key: &Secret) -> Result<()> {
        let source = self.source().filter(|_| self.is_suspended()).ok_or(Error::NotSuspended)?;
        let fresh = source.rebuild(key)?;
        let behind = self.lock_alone();
        // Others may have resumed it meanwhile, have changed how it is encrypted, or have closed it.
        let is_its_source = self.source().is_some_and(|now| Arc::ptr_eq(&now, &source));
        if !matches!(*behind, Behind::Suspended) || !is_its_source {
            return Err(Error::NotSuspended);
        }
        // A volume that was resized keeps its size.
        let fresh =
            if fresh.len() == self.len() { fresh } else { source.resized(&fresh, Some(self.len()))? };
        self.put(behind, Behind::Settled(Arc::new(fresh)));
        Ok(())
    }

    /// Gives the volume `size` bytes, or all that the device has if `size` is `None`. Requests
    /// beyond the new end fail.
    ///
    /// # Errors
    /// [`Error::Suspended`], [`Error::Size`], [`Error::Reencrypting`].
    pub fn resize(&self, size: Option<u64>) -> Result<()> {
        let behind = self.lock_alone();
        let (Some(_), Some(source)) = (behind.storage(), self.source()) else {
            return Err(Error::Suspended);
        };
        let fresh = source.resized(self.settled(&behind)?, size)?;
        self.len.store(fresh.len(), Ordering::Relaxed);
        self.put(behind, Behind::Settled(Arc::new(fresh)));
        Ok(())
    }

    /// Refuses writes from now on.
    pub(crate) fn make_read_only(&self) {
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

    /// Makes requests that wait for a suspended volume fail, also for one that is suspended only
    /// later, so that its front end can be closed.
    pub(crate) fn shut(&self) {
        self.closing.store(true, Ordering::SeqCst);
        self.changes.tell();
    }

    /// Lets requests wait again: the front end could not be closed.
    pub fn stay(&self) {
        self.closing.store(false, Ordering::SeqCst);
        self.changes.tell();
    }

    /// Whether writes that waited for the key were refused, and are lost.
    pub(crate) fn has_turned_away(&self) -> bool {
        self.turned_away.load(Ordering::Relaxed)
    }

    /// Drops the volume and its key for good, and the claim on its storage: whoever then finds the
    /// session gone can use the volume.
    pub fn wipe(&self) {
        self.put(self.lock_alone(), Behind::Wiped);
        *self.source.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }

    fn put(&self, mut behind: RwLockWriteGuard<'_, Behind>, new: Behind) {
        *behind = new;
        drop(behind);
        self.changes.tell();
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
            let seen = self.changes.so_far();
            let behind = self.lock();
            if let Some(volume) = behind.storage() {
                return work(volume);
            }
            if matches!(*behind, Behind::Wiped) || self.closing.load(Ordering::SeqCst) {
                refused();
                return Err(io::Error::other("the volume is suspended and being closed"));
            }
            drop(behind);
            self.changes.wait_after(seen);
        }
    }

    fn with<T>(&self, work: impl FnOnce(&dyn Storage) -> io::Result<T>) -> io::Result<T> {
        self.with_or(work, || ())
    }

    /// [`SuspendableDevice::with`] for operations that change the volume.
    fn writing<T>(&self, work: impl FnOnce(&dyn Storage) -> io::Result<T>) -> io::Result<T> {
        let work = |volume: &dyn Storage| match self.is_read_only() {
            true => Err(ErrorKind::ReadOnlyFilesystem.into()),
            false => work(volume),
        };
        self.with_or(work, || self.turned_away.store(true, Ordering::Relaxed))
    }

    fn lock(&self) -> RwLockReadGuard<'_, Behind> {
        if self.wanted.load(Ordering::SeqCst) > 0 {
            drop(self.turnstile());
        }
        self.behind.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn lock_alone(&self) -> RwLockWriteGuard<'_, Behind> {
        self.wanted.fetch_add(1, Ordering::SeqCst);
        let _turn = self.turnstile();
        let alone = self.behind.write().unwrap_or_else(PoisonError::into_inner);
        self.wanted.fetch_sub(1, Ordering::SeqCst);
        alone
    }

    fn turnstile(&self) -> MutexGuard<'_, ()> {
        self.turnstile.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Storage for SuspendableDevice {
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
        let behind = self.lock();
        // All acknowledged data was flushed before the key was wiped, and nothing has been written
        // since. (The kernel sends a flush each time any process closes the file, even in passing:
        // such a process must not hang.)
        match (behind.storage(), &*behind) {
            (Some(volume), _) => volume.flush(),
            (None, Behind::Wiped) => Err(io::Error::other("the volume was closed")),
            (None, _) => Ok(()),
        }
    }

    fn discard(&self, range: Range<u64>) -> io::Result<()> {
        if !self.passes_discards() {
            return Ok(());
        }
        let mut at = range.start;
        while at < range.end {
            let end = range.end.min((at - at % DISCARDED).saturating_add(DISCARDED));
            self.writing(|volume| volume.discard(at..end))?;
            at = end;
        }
        Ok(())
    }

    // Zeros are written as other data is (nothing else decrypts to them), each megabyte by itself.

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

/// Discards go in pieces of this many bytes, at multiples of it: a device that writes zeros instead
/// has done one in tens of milliseconds.
const DISCARDED: u64 = 16 << 20;

#[cfg(test)]
mod model;
#[cfg(test)]
mod tests;
