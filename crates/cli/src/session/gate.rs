//! The volume behind a door, which can be taken away (its key is wiped then) and put back, and which can get another
//! length, other rights. Requests wait meanwhile.

use super::source::Source;
use crate::failure::{Exit, Failure, Result};
use keyway_crypto::Secret;
use keyway_volume::{Storage, Volume};
use std::io::{self, ErrorKind};
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

/// A volume that may be away for a while.
pub(crate) struct Gate {
    volume: RwLock<Option<Volume>>,
    source: Source,
    len: AtomicU64,
    unit: u64,
    read_only: AtomicBool,
    discards: AtomicBool,
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
    /// A gate before the volume of `source`, which `key` opens.
    pub(crate) fn open(source: Source, key: &Secret) -> Result<Self> {
        let volume = source.build(key)?;
        Ok(Self {
            source,
            len: AtomicU64::new(volume.len()),
            unit: volume.unit(),
            read_only: AtomicBool::new(volume.is_read_only()),
            discards: AtomicBool::new(false),
            volume: RwLock::new(Some(volume)),
            state: Mutex::new(State::Open),
            changed: Condvar::new(),
        })
    }

    /// Whether the key is away.
    pub(crate) fn is_suspended(&self) -> bool {
        self.lock().is_none()
    }

    /// Waits for requests under way, flushes, and drops the volume with its key. Requests wait from now on.
    pub(crate) fn suspend(&self) -> Result<()> {
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
        let fresh = self.source.build(key)?;
        // What was resized keeps its size.
        let fresh =
            if fresh.len() == self.len() { fresh } else { self.source.resized(&fresh, Some(self.len()))? };
        *self.lock_alone() = Some(fresh);
        *self.state() = State::Open;
        self.changed.notify_all();
        Ok(())
    }

    /// Gives the volume `size` bytes, or without it all that there are. Whoever reads or writes beyond its end is told so.
    pub(crate) fn resize(&self, size: Option<u64>) -> Result<()> {
        let mut volume = self.lock_alone();
        let Some(open) = &*volume else {
            return Err(Failure::new(Exit::Parameters, "It is suspended; luksResume lets it go on."));
        };
        let fresh = self.source.resized(open, size)?;
        self.len.store(fresh.len(), Ordering::Relaxed);
        *volume = Some(fresh);
        Ok(())
    }

    /// Refuses writes from now on.
    pub(crate) fn make_read_only(&self) {
        // Those under way have ended when this returns.
        let _alone = self.lock_alone();
        self.read_only.store(true, Ordering::Relaxed);
    }

    /// Whether discards go through; otherwise they are accepted, and nothing happens.
    pub(crate) fn passes_discards(&self) -> bool {
        self.discards.load(Ordering::Relaxed)
    }

    /// Lets discards through, or no longer.
    pub(crate) fn pass_discards(&self, pass: bool) {
        self.discards.store(pass, Ordering::Relaxed);
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
    fn with<T>(&self, work: impl FnOnce(&Volume) -> io::Result<T>) -> io::Result<T> {
        loop {
            if let Some(volume) = &*self.lock() {
                return work(volume);
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

    /// [`Gate::with`] for what changes the volume.
    fn writing<T>(&self, work: impl FnOnce(&Volume) -> io::Result<T>) -> io::Result<T> {
        self.with(|volume| match self.is_read_only() {
            true => Err(ErrorKind::ReadOnlyFilesystem.into()),
            false => work(volume),
        })
    }

    fn lock(&self) -> RwLockReadGuard<'_, Option<Volume>> {
        self.volume.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn lock_alone(&self) -> RwLockWriteGuard<'_, Option<Volume>> {
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
        self.with(|volume| volume.flush())
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

    fn unit(&self) -> u64 {
        self.unit
    }
}

#[cfg(test)]
mod tests {
    use super::super::source::Check;
    use super::*;
    use keyway_volume::storage::Memory;
    use keyway_volume::{Layout, MappedSegment, Mapping};
    use std::path::PathBuf;
    use std::sync::Arc;
    use std::thread;
    use std::time::Duration;

    fn key() -> Secret {
        Secret::copy_from(&[9; 32])
    }

    fn gate() -> Arc<Gate> {
        let segment = MappedSegment {
            plaintext_start: 0,
            length: Some(4096),
            storage_offset: 512,
            mapping: Mapping::Linear,
        };
        let source = Source {
            device: PathBuf::from("disk"),
            storage: Arc::new(Memory::from(vec![7; 8192])),
            layout: Layout { segments: vec![segment] },
            check: Check::of_key(&key()).unwrap(),
        };
        Arc::new(Gate::open(source, &key()).unwrap())
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
        assert!(gate.resume(&Secret::zeroed(32)).is_err(), "with another key");
        assert!(!reader.is_finished());
        gate.resume(&key()).unwrap();
        assert_eq!(reader.join().unwrap().unwrap(), [7; 16]);
        assert!(gate.resume(&key()).is_err(), "twice");
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

    #[test]
    fn another_length_is_kept_while_the_key_is_away() {
        let gate = gate();
        gate.resize(Some(1024)).unwrap();
        assert!(gate.len() == 1024 && gate.read_at(&mut [0], 1024).is_err());
        for (size, why) in
            [(8192, "Device disk is too small."), (700, "not aligned to requested sector size")]
        {
            assert!(gate.resize(Some(size)).unwrap_err().message().contains(why));
        }
        gate.suspend().unwrap();
        assert!(gate.resize(None).unwrap_err().message().contains("suspended"));
        gate.resume(&key()).unwrap();
        assert_eq!(gate.len(), 1024);
        gate.resize(None).unwrap();
        assert_eq!(gate.len(), 7680, "a volume without a header takes all there is");
    }

    #[test]
    fn rights_change_while_it_is_open() {
        let gate = gate();
        gate.discard(0..4096).unwrap();
        let mut byte = [0];
        gate.read_at(&mut byte, 0).unwrap();
        assert_eq!(byte, [7], "discarded though it was not allowed");
        gate.pass_discards(true);
        gate.write_at(&[1], 5).unwrap();
        gate.make_read_only();
        assert_eq!(gate.write_at(&[2], 5).unwrap_err().kind(), ErrorKind::ReadOnlyFilesystem);
        assert!(gate.write_zeroes(0..16, true).is_err() && gate.discard(0..512).is_err());
        gate.read_at(&mut byte, 5).unwrap();
        assert_eq!(byte, [1]);
    }
}
