//! The volume behind a door, which can be taken away (its key is wiped then) and put back. Requests wait meanwhile.

use crate::failure::{Exit, Failure, Result};
use keyway_crypto::Secret;
use keyway_volume::Storage;
use std::io;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

/// Builds the volume again from its key, which it checks; what it keeps is public.
pub(crate) type Rebuild = Box<dyn Fn(&Secret) -> Result<Arc<dyn Storage>> + Send + Sync>;

/// A volume that may be away for a while.
pub(crate) struct Gate {
    volume: RwLock<Option<Arc<dyn Storage>>>,
    rebuild: Option<Rebuild>,
    len: AtomicU64,
    unit: u64,
    read_only: bool,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Open,
    Suspended,
    /// Requests fail: the door is being closed while the key is away.
    Shut,
}

impl Gate {
    /// A gate before `volume`. Without `rebuild` it cannot be suspended.
    pub(crate) fn new(volume: Arc<dyn Storage>, rebuild: Option<Rebuild>) -> Self {
        Self {
            rebuild,
            len: AtomicU64::new(volume.len()),
            unit: volume.unit(),
            read_only: volume.is_read_only(),
            volume: RwLock::new(Some(volume)),
            state: Mutex::new(State::Open),
            changed: Condvar::new(),
        }
    }

    /// Whether the key is away.
    pub(crate) fn is_suspended(&self) -> bool {
        self.lock().is_none()
    }

    /// Waits for requests under way, flushes, and drops the volume with its key. Requests wait from now on.
    pub(crate) fn suspend(&self) -> Result<()> {
        if self.rebuild.is_none() {
            return Err(Failure::new(Exit::Parameters, "This volume cannot be suspended."));
        }
        let mut volume = self.lock_alone();
        let Some(open) = &*volume else {
            return Err(Failure::new(Exit::Parameters, "It is suspended already."));
        };
        open.flush().map_err(|e| Failure::new(Exit::Device, format!("It could not be flushed: {e}.")))?;
        *self.state() = State::Suspended;
        *volume = None;
        Ok(())
    }

    /// Puts the volume back; requests that waited go on.
    pub(crate) fn resume(&self, key: &Secret) -> Result<()> {
        if !self.is_suspended() {
            return Err(Failure::new(Exit::Parameters, "It is not suspended."));
        }
        self.replace(key)
    }

    /// Builds the volume again, which then has the length that its device has now.
    pub(crate) fn replace(&self, key: &Secret) -> Result<()> {
        let Some(rebuild) = &self.rebuild else {
            return Err(Failure::new(Exit::Parameters, "This volume cannot be opened again."));
        };
        let fresh = rebuild(key)?;
        let mut volume = self.lock_alone();
        self.len.store(fresh.len(), Ordering::Relaxed);
        *volume = Some(fresh);
        drop(volume);
        *self.state() = State::Open;
        self.changed.notify_all();
        Ok(())
    }

    /// Lets requests that wait for a suspended volume fail, so that its door can be closed.
    pub(crate) fn shut(&self) {
        let mut state = self.state();
        if *state == State::Suspended {
            *state = State::Shut;
            self.changed.notify_all();
        }
    }

    /// Drops the volume with its key for good.
    pub(crate) fn wipe(&self) {
        *self.state() = State::Shut;
        *self.lock_alone() = None;
        self.changed.notify_all();
    }

    /// The volume, waiting while it is away.
    fn with<T>(&self, work: impl FnOnce(&dyn Storage) -> io::Result<T>) -> io::Result<T> {
        loop {
            if let Some(volume) = &*self.lock() {
                return work(&**volume);
            }
            let mut state = self.state();
            while *state == State::Suspended {
                state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
            }
            if *state == State::Shut {
                return Err(io::Error::other("the volume is suspended and being closed"));
            }
        }
    }

    fn lock(&self) -> RwLockReadGuard<'_, Option<Arc<dyn Storage>>> {
        self.volume.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn lock_alone(&self) -> RwLockWriteGuard<'_, Option<Arc<dyn Storage>>> {
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
        self.with(|volume| volume.write_at(buf, offset))
    }

    fn write_from(&self, buf: &mut [u8], offset: u64) -> io::Result<()> {
        self.with(|volume| volume.write_from(buf, offset))
    }

    fn flush(&self) -> io::Result<()> {
        self.with(|volume| volume.flush())
    }

    fn discard(&self, range: Range<u64>) -> io::Result<()> {
        self.with(|volume| volume.discard(range))
    }

    fn write_zeroes(&self, range: Range<u64>, may_discard: bool) -> io::Result<()> {
        self.with(|volume| volume.write_zeroes(range, may_discard))
    }

    fn is_read_only(&self) -> bool {
        self.read_only
    }

    fn next_data(&self, offset: u64) -> io::Result<Option<Range<u64>>> {
        self.with(|volume| volume.next_data(offset))
    }

    fn unit(&self) -> u64 {
        self.unit
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use keyway_volume::storage::Memory;
    use std::thread;
    use std::time::Duration;

    fn gate() -> Arc<Gate> {
        let memory: Arc<dyn Storage> = Arc::new(Memory::from(vec![7; 4096]));
        let again = Arc::clone(&memory);
        Arc::new(Gate::new(memory, Some(Box::new(move |_| Ok(Arc::clone(&again))))))
    }

    #[test]
    fn requests_wait_while_the_volume_is_away() {
        let gate = gate();
        gate.suspend().unwrap();
        assert!(gate.suspend().is_err(), "twice");
        let reader = {
            let gate = Arc::clone(&gate);
            thread::spawn(move || {
                let mut buf = [0; 16];
                gate.read_at(&mut buf, 0).map(|()| buf)
            })
        };
        thread::sleep(Duration::from_millis(50));
        assert!(!reader.is_finished());
        gate.resume(&Secret::zeroed(1)).unwrap();
        assert_eq!(reader.join().unwrap().unwrap(), [7; 16]);
        assert!(gate.resume(&Secret::zeroed(1)).is_err(), "twice");
    }

    #[test]
    fn a_closing_door_gets_its_waiting_requests_back() {
        let gate = gate();
        gate.suspend().unwrap();
        let writer = {
            let gate = Arc::clone(&gate);
            thread::spawn(move || gate.write_at(&[1], 0))
        };
        thread::sleep(Duration::from_millis(20));
        gate.shut();
        assert!(writer.join().unwrap().is_err());
        assert!(gate.flush().is_err());
    }
}
