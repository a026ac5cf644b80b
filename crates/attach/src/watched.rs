//! A storage that is monitored on its way to clients: whether there is unflushed data that could be
//! lost, and why it fails.

use keyway_volume::Storage;
use std::collections::BTreeSet;
use std::io;
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A storage to which nobody else writes.
pub struct Watched<S> {
    storage: Arc<S>,
    report: Box<dyn Fn(&str) + Send + Sync>,
    causes: Mutex<BTreeSet<String>>,
    changes: Changes,
}

impl<S: Storage> Watched<S> {
    /// Monitors `storage`; `report` is called with a line for each cause of failure.
    pub fn new(storage: S, report: impl Fn(&str) + Send + Sync + 'static) -> Self {
        Self::over(Arc::new(storage), report)
    }

    /// As [`Watched::new`], of a storage that somebody else has, too, without writing to it.
    pub fn over(storage: Arc<S>, report: impl Fn(&str) + Send + Sync + 'static) -> Self {
        let report = Box::new(report);
        Self { storage, report, causes: Mutex::default(), changes: Changes::default() }
    }

    fn reporting<T>(&self, doing: &str, result: io::Result<T>) -> io::Result<T> {
        if let Err(error) = &result {
            self.tell(doing, error);
        }
        result
    }

    fn tell(&self, doing: &str, error: &io::Error) {
        // The same error at another offset counts as the same cause.
        let line = format!("{doing}: {error}");
        let cause = line.replace(|c: char| c.is_ascii_digit(), "");
        let mut causes = self.causes.lock().unwrap_or_else(PoisonError::into_inner);
        let is_new = causes.len() < MOST_CAUSES && causes.insert(cause);
        drop(causes);
        if is_new {
            (self.report)(&line);
        }
    }

    fn changing(&self, doing: &str, change: impl FnOnce(&S) -> io::Result<()>) -> io::Result<()> {
        let _under_way = self.changes.begin();
        self.reporting(doing, change(&self.storage))
    }
}

impl<S: Storage> Storage for Watched<S> {
    fn len(&self) -> u64 {
        self.storage.len()
    }

    fn refresh_len(&self) -> io::Result<u64> {
        self.storage.refresh_len()
    }

    fn can_grow(&self) -> bool {
        self.storage.can_grow()
    }

    fn can_hold(&self, len: u64) -> bool {
        self.storage.can_hold(len)
    }

    fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<()> {
        self.reporting("reading failed", self.storage.read_at(buf, offset))
    }

    fn write_at(&self, buf: &[u8], offset: u64) -> io::Result<()> {
        self.changing("writing failed", |storage| storage.write_at(buf, offset))
    }

    fn write_from(&self, buf: &mut [u8], offset: u64) -> io::Result<()> {
        self.changing("writing failed", |storage| storage.write_from(buf, offset))
    }

    fn flush(&self) -> io::Result<()> {
        let mark = self.changes.mark();
        self.reporting("flushing failed", self.storage.flush())?;
        self.changes.settle(mark);
        Ok(())
    }

    fn discard(&self, range: Range<u64>) -> io::Result<()> {
        self.changing("discarding failed", |storage| storage.discard(range))
    }

    fn write_zeroes(&self, range: Range<u64>, may_discard: bool) -> io::Result<()> {
        self.changing("writing zeros failed", |storage| storage.write_zeroes(range, may_discard))
    }

    fn is_read_only(&self) -> bool {
        self.storage.is_read_only()
    }

    fn next_data(&self, offset: u64) -> io::Result<Option<Range<u64>>> {
        self.reporting("looking for data failed", self.storage.next_data(offset))
    }

    fn unit(&self) -> u64 {
        self.storage.unit()
    }

    fn is_exclusive(&self) -> bool {
        self.storage.is_exclusive()
    }

    fn is_cached(&self) -> bool {
        self.storage.is_cached()
    }

    fn can_flush(&self) -> bool {
        self.storage.can_flush()
    }

    fn is_distant(&self) -> bool {
        self.storage.is_distant()
    }

    fn lock_target(&self) -> Option<keyway_volume::device::storage::LockTarget<'_>> {
        self.storage.lock_target()
    }

    fn is_settled(&self) -> bool {
        self.changes.are_settled()
    }
}

/// Which changes a flush has brought to stable storage.
#[derive(Debug, Default)]
struct Changes(Mutex<Count>);

#[derive(Debug, Default)]
struct Count {
    begun: u64,
    ended: u64,
    /// The number of changes begun, all of which had ended, when a successful flush began.
    settled: u64,
}

/// A change in progress, until it is dropped; whether it succeeded does not matter.
struct UnderWay<'a>(&'a Changes);

impl Drop for UnderWay<'_> {
    fn drop(&mut self) {
        self.0.count().ended += 1;
    }
}

impl Changes {
    fn begin(&self) -> UnderWay<'_> {
        self.count().begun += 1;
        UnderWay(self)
    }

    /// The number of changes that a flush beginning now will settle; none while a change is in
    /// progress.
    fn mark(&self) -> u64 {
        let count = self.count();
        if count.begun == count.ended { count.begun } else { 0 }
    }

    fn settle(&self, mark: u64) {
        let mut count = self.count();
        count.settled = count.settled.max(mark);
    }

    fn are_settled(&self) -> bool {
        let count = self.count();
        count.settled == count.begun
    }

    fn count(&self) -> MutexGuard<'_, Count> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// No more causes than this are reported.
const MOST_CAUSES: usize = 32;

#[cfg(test)]
mod tests {
    use super::*;
    use keyway_volume::device::storage::{Faulty, LockTarget, Memory};
    use std::sync::Arc;

    fn watched<S: Storage>(storage: S) -> (Watched<S>, Arc<Mutex<Vec<String>>>) {
        let lines = Arc::new(Mutex::new(Vec::new()));
        let told = Arc::clone(&lines);
        (Watched::new(storage, move |line| told.lock().unwrap().push(line.to_owned())), lines)
    }

    #[test]
    fn only_a_flush_settles_what_was_changed_before() {
        let (storage, lines) = watched(Memory::zeroed(8192));
        type Change<'a> = &'a dyn Fn(&Watched<Memory>);
        let changes: [Change<'_>; 4] = [
            &|storage| storage.write_at(&[1; 512], 0).unwrap(),
            &|storage| storage.write_from(&mut [2; 512], 0).unwrap(),
            &|storage| storage.write_zeroes(0..512, true).unwrap(),
            &|storage| storage.discard(0..512).unwrap(),
        ];
        assert!(storage.can_hold(1) && !storage.can_hold(1 << 40));
        assert!(!storage.can_grow() && !storage.is_read_only() && !storage.is_distant());
        assert!(storage.is_settled());
        for change in changes {
            change(&storage);
            storage.read_at(&mut [0; 512], 0).unwrap();
            assert!(!storage.is_settled());
            storage.flush().unwrap();
            assert!(storage.is_settled());
        }
        assert!(lines.lock().unwrap().is_empty());
    }

    #[test]
    fn a_change_beside_a_flush_is_not_settled_by_it() {
        let changes = Changes::default();
        drop(changes.begin());
        let mark = changes.mark();
        let later = changes.begin();
        changes.settle(mark);
        assert!(!changes.are_settled(), "it began later");
        let mark = changes.mark();
        drop(later);
        changes.settle(mark);
        assert!(!changes.are_settled(), "it had not ended");
        let mark = changes.mark();
        changes.settle(mark);
        assert!(changes.are_settled());
        changes.settle(0);
        assert!(changes.are_settled(), "an older flush ends later");
    }

    #[test]
    fn a_failed_flush_settles_nothing() {
        let (storage, lines) = watched(Faulty::breaking_at(vec![0; 8192], 1, 0));
        storage.write_at(&[1; 512], 0).unwrap();
        assert!(storage.write_at(&[2; 512], 512).is_err());
        assert!(storage.flush().is_err() && storage.flush().is_err());
        assert!(!storage.is_settled());
        assert_eq!(lines.lock().unwrap().len(), 2);
    }

    /// A storage whose every answer differs from the default.
    struct Unusual;

    impl Storage for Unusual {
        fn len(&self) -> u64 {
            77
        }

        fn refresh_len(&self) -> io::Result<u64> {
            Ok(78)
        }

        fn can_grow(&self) -> bool {
            true
        }

        fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<()> {
            buf.fill(offset as u8);
            Ok(())
        }

        fn write_at(&self, _: &[u8], _: u64) -> io::Result<()> {
            Err(io::ErrorKind::ReadOnlyFilesystem.into())
        }

        fn write_zeroes(&self, _: Range<u64>, may_discard: bool) -> io::Result<()> {
            if may_discard { Ok(()) } else { Err(io::ErrorKind::StorageFull.into()) }
        }

        fn flush(&self) -> io::Result<()> {
            Ok(())
        }

        fn discard(&self, _: Range<u64>) -> io::Result<()> {
            Err(io::ErrorKind::Unsupported.into())
        }

        fn is_read_only(&self) -> bool {
            true
        }

        fn next_data(&self, offset: u64) -> io::Result<Option<Range<u64>>> {
            Ok(Some(offset..offset + 5))
        }

        fn unit(&self) -> u64 {
            4096
        }

        fn is_distant(&self) -> bool {
            true
        }

        fn lock_target(&self) -> Option<LockTarget<'_>> {
            Some(LockTarget::File { fd: rustix::stdio::stdin(), part: None })
        }
    }

    #[test]
    fn whoever_is_watched_answers_as_ever() {
        let (storage, _) = watched(Unusual);
        assert_eq!((storage.len(), storage.refresh_len().unwrap(), storage.unit()), (77, 78, 4096));
        assert!(storage.can_grow() && storage.is_read_only() && storage.is_distant());
        assert!(matches!(storage.lock_target(), Some(LockTarget::File { .. })));
        let mut byte = [0];
        storage.read_at(&mut byte, 9).unwrap();
        assert_eq!((byte, storage.next_data(9).unwrap()), ([9], Some(9..14)));
        let refused = |result: io::Result<()>| result.unwrap_err().kind();
        assert_eq!(refused(storage.write_at(&[1], 0)), io::ErrorKind::ReadOnlyFilesystem);
        assert_eq!(refused(storage.write_from(&mut [1], 0)), io::ErrorKind::ReadOnlyFilesystem);
        assert_eq!(refused(storage.discard(0..1)), io::ErrorKind::Unsupported);
        assert_eq!(refused(storage.write_zeroes(0..1, false)), io::ErrorKind::StorageFull);
        storage.write_zeroes(0..1, true).unwrap();
    }

    /// Fails with the offset in its message.
    struct Gone;

    impl Storage for Gone {
        fn len(&self) -> u64 {
            1 << 30
        }

        fn read_at(&self, _: &mut [u8], offset: u64) -> io::Result<()> {
            let why = if offset < 1 << 20 { "the object has changed" } else { "the server is gone" };
            Err(io::Error::other(format!("byte {offset}: {why}")))
        }

        fn write_at(&self, _: &[u8], offset: u64) -> io::Result<()> {
            // Each failure has a different cause.
            Err(io::Error::other("x".repeat(offset as usize)))
        }

        fn flush(&self) -> io::Result<()> {
            Ok(())
        }

        fn discard(&self, _: Range<u64>) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn each_cause_is_told_once() {
        let (storage, lines) = watched(Gone);
        for offset in [7, 4096, 1 << 20, 8192, 1 << 21] {
            assert!(storage.read_at(&mut [0; 16], offset).is_err());
        }
        let told = [
            "reading failed: byte 7: the object has changed",
            "reading failed: byte 1048576: the server is gone",
        ];
        assert_eq!(*lines.lock().unwrap(), told);
        (0..100).for_each(|cause| assert!(storage.write_at(&[1], cause).is_err()));
        assert_eq!(lines.lock().unwrap().len(), MOST_CAUSES);
    }
}
