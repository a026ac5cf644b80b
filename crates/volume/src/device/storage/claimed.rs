//! Storage that is marked as in use until the last reference to it is dropped.

use super::{LockTarget, Storage};
use crate::InUse;
use std::io;
use std::ops::Range;
use std::sync::Arc;

/// A storage and its mark.
pub struct Claimed {
    storage: Arc<dyn Storage>,
    mark: InUse,
}

impl Claimed {
    /// Ties `mark` to `storage`.
    pub fn new(storage: Arc<dyn Storage>, mark: InUse) -> Self {
        Self { storage, mark }
    }
}

impl Storage for Claimed {
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
        self.storage.read_at(buf, offset)
    }

    fn write_at(&self, buf: &[u8], offset: u64) -> io::Result<()> {
        self.storage.write_at(buf, offset)
    }

    fn write_from(&self, buf: &mut [u8], offset: u64) -> io::Result<()> {
        self.storage.write_from(buf, offset)
    }

    fn flush(&self) -> io::Result<()> {
        self.storage.flush()
    }

    fn discard(&self, range: Range<u64>) -> io::Result<()> {
        self.storage.discard(range)
    }

    fn write_zeroes(&self, range: Range<u64>, may_discard: bool) -> io::Result<()> {
        self.storage.write_zeroes(range, may_discard)
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

    fn is_read_only(&self) -> bool {
        self.storage.is_read_only()
    }

    fn next_data(&self, offset: u64) -> io::Result<Option<Range<u64>>> {
        self.storage.next_data(offset)
    }

    fn unit(&self) -> u64 {
        self.storage.unit()
    }

    fn is_exclusive(&self) -> bool {
        self.mark.is_exclusive() || self.storage.is_exclusive()
    }

    fn lock_target(&self) -> Option<LockTarget<'_>> {
        self.storage.lock_target()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device::in_use::Access;
    use crate::device::storage::{File, Memory};
    use std::sync::Mutex;

    /// Storage whose answers all differ from the defaults, and that records the calls.
    #[derive(Default)]
    struct Odd {
        asked: Mutex<Vec<String>>,
        flag: bool,
    }

    impl Odd {
        fn note(&self, what: String) -> io::Result<()> {
            self.asked.lock().unwrap().push(what);
            Ok(())
        }
    }

    impl Storage for Odd {
        fn len(&self) -> u64 {
            77
        }

        fn refresh_len(&self) -> io::Result<u64> {
            Ok(78)
        }

        fn can_grow(&self) -> bool {
            self.flag
        }

        fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<()> {
            self.note(format!("read {} at {offset}", buf.len()))
        }

        fn write_at(&self, buf: &[u8], offset: u64) -> io::Result<()> {
            self.note(format!("write {buf:?} at {offset}"))
        }

        fn write_from(&self, buf: &mut [u8], offset: u64) -> io::Result<()> {
            self.note(format!("write from {buf:?} at {offset}"))
        }

        fn flush(&self) -> io::Result<()> {
            self.note("flush".into())
        }

        fn discard(&self, range: Range<u64>) -> io::Result<()> {
            self.note(format!("discard {range:?}"))
        }

        fn write_zeroes(&self, range: Range<u64>, may_discard: bool) -> io::Result<()> {
            self.note(format!("zeroes {range:?} {may_discard}"))
        }

        fn is_distant(&self) -> bool {
            self.flag
        }

        fn is_read_only(&self) -> bool {
            self.flag
        }

        fn next_data(&self, offset: u64) -> io::Result<Option<Range<u64>>> {
            Ok(Some(offset..offset + 3))
        }

        fn unit(&self) -> u64 {
            16
        }

        fn is_exclusive(&self) -> bool {
            self.flag
        }
    }

    #[test]
    fn what_is_claimed_is_as_it_was() {
        for flag in [false, true] {
            let odd = Arc::new(Odd { flag, ..Odd::default() });
            let claimed = Claimed::new(odd.clone(), InUse::default());
            assert_eq!((claimed.len(), claimed.refresh_len().unwrap(), claimed.unit()), (77, 78, 16));
            assert_eq!([claimed.can_grow(), claimed.is_distant(), claimed.is_read_only()], [flag; 3]);
            assert_eq!([claimed.can_hold(77), claimed.can_hold(78)], [true, flag]);
            assert_eq!(claimed.is_exclusive(), flag);
            assert_eq!(claimed.next_data(5).unwrap(), Some(5..8));
            claimed.read_at(&mut [0; 2], 1).unwrap();
            claimed.write_at(&[1], 2).unwrap();
            claimed.write_from(&mut [2], 3).unwrap();
            claimed.flush().unwrap();
            claimed.discard(4..5).unwrap();
            claimed.write_zeroes(5..6, true).unwrap();
            let expected = [
                "read 2 at 1",
                "write [1] at 2",
                "write from [2] at 3",
                "flush",
                "discard 4..5",
                "zeroes 5..6 true",
            ];
            assert_eq!(*odd.asked.lock().unwrap(), expected);
        }
        let program = File::open(std::env::current_exe().unwrap()).unwrap();
        assert!(Claimed::new(Arc::new(program), InUse::default()).lock_target().is_some());
        let mark = InUse::acquire(&Memory::zeroed(1), Access::Write, false).unwrap();
        assert!(Claimed::new(Arc::new(Odd::default()), mark).is_exclusive());
    }
}
