//! A partition of storage that is no file: of an NBD export, or of an object behind HTTP.
//! (A [`File`](super::File) is opened as its partition itself.)

use super::{Extent, LockTarget, Storage};
use std::io;
use std::ops::Range;
use std::sync::Arc;

/// Some bytes of a storage; nothing outside of them is read or written.
pub struct Part {
    whole: Arc<dyn Storage>,
    extent: Extent,
}

impl Part {
    /// The bytes `extent` of `whole`.
    pub fn new(whole: Arc<dyn Storage>, extent: Extent) -> Self {
        Self { whole, extent }
    }

    /// The place of these bytes in the whole.
    ///
    /// # Errors
    /// The part does not have them; the error is of this kind.
    fn place(&self, offset: u64, len: u64, kind: io::ErrorKind) -> io::Result<u64> {
        let end = offset.checked_add(len).filter(|end| *end <= self.extent.len);
        end.map(|_| self.extent.start + offset).ok_or_else(|| {
            let (own, end) = (self.extent.len, offset.saturating_add(len));
            io::Error::new(kind, format!("it ends at byte {own}, bytes {offset} to {end} were requested"))
        })
    }

    /// As [`Part::place`], for a range.
    fn range(&self, range: &Range<u64>) -> io::Result<Range<u64>> {
        let len = range.end.saturating_sub(range.start);
        let start = self.place(range.start, len, io::ErrorKind::InvalidInput)?;
        Ok(start..start + len)
    }

    /// What of it there is, where the whole has this length.
    fn len_of(&self, whole: u64) -> u64 {
        whole.saturating_sub(self.extent.start).min(self.extent.len)
    }
}

impl Storage for Part {
    fn len(&self) -> u64 {
        self.len_of(self.whole.len())
    }

    fn refresh_len(&self) -> io::Result<u64> {
        self.whole.refresh_len().map(|whole| self.len_of(whole))
    }

    fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<()> {
        let place = self.place(offset, buf.len() as u64, io::ErrorKind::UnexpectedEof)?;
        self.whole.read_at(buf, place)
    }

    fn write_at(&self, buf: &[u8], offset: u64) -> io::Result<()> {
        let place = self.place(offset, buf.len() as u64, io::ErrorKind::StorageFull)?;
        self.whole.write_at(buf, place)
    }

    fn write_from(&self, buf: &mut [u8], offset: u64) -> io::Result<()> {
        let place = self.place(offset, buf.len() as u64, io::ErrorKind::StorageFull)?;
        self.whole.write_from(buf, place)
    }

    fn flush(&self) -> io::Result<()> {
        self.whole.flush()
    }

    fn is_settled(&self) -> bool {
        self.whole.is_settled()
    }

    fn discard(&self, range: Range<u64>) -> io::Result<()> {
        self.whole.discard(self.range(&range)?)
    }

    fn write_zeroes(&self, range: Range<u64>, may_discard: bool) -> io::Result<()> {
        self.whole.write_zeroes(self.range(&range)?, may_discard)
    }

    fn is_read_only(&self) -> bool {
        self.whole.is_read_only()
    }

    fn next_data(&self, offset: u64) -> io::Result<Option<Range<u64>>> {
        let (start, len) = (self.extent.start, self.len());
        if offset >= len {
            return Ok(None);
        }
        let found = self.whole.next_data(start + offset)?;
        let found = found.map(|found| found.start - start..(found.end - start).min(len));
        Ok(found.filter(|found| found.start < len))
    }

    /// The whole's, or as much of it as the partition is aligned to.
    fn unit(&self) -> u64 {
        let (mut unit, mut rest) = (self.whole.unit(), self.extent.start);
        while rest != 0 {
            (unit, rest) = (rest, unit % rest);
        }
        unit
    }

    fn is_exclusive(&self) -> bool {
        self.whole.is_exclusive()
    }

    fn is_distant(&self) -> bool {
        self.whole.is_distant()
    }

    fn is_cached(&self) -> bool {
        self.whole.is_cached()
    }

    fn can_flush(&self) -> bool {
        self.whole.can_flush()
    }

    fn lock_target(&self) -> Option<LockTarget<'_>> {
        let own = |part: Option<Extent>| {
            let start = part.map_or(0, |part| part.start) + self.extent.start;
            Some(Extent { start, len: self.extent.len })
        };
        Some(match self.whole.lock_target()? {
            LockTarget::File { fd, part } => LockTarget::File { fd, part: own(part) },
            LockTarget::BlockDevice { major, minor, fd, part } => {
                LockTarget::BlockDevice { major, minor, fd, part: own(part) }
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device::storage::{File, Memory};

    fn all(storage: &dyn Storage) -> Vec<u8> {
        let mut all = vec![0; storage.len() as usize];
        storage.read_at(&mut all, 0).unwrap();
        all
    }

    #[test]
    fn nothing_outside_of_a_part_is_touched() {
        let whole = Arc::new(Memory::zeroed(16384));
        whole.write_at(&[9; 16384], 0).unwrap();
        let part = Part::new(whole.clone(), Extent { start: 4096, len: 4096 });
        assert_eq!((part.len(), part.refresh_len().unwrap()), (4096, 4096));
        assert!(!part.can_grow() && !part.can_hold(4097) && part.can_hold(4096));
        for (len, offset) in [(4097, 0), (1, 4096), (2, 4095), (1, u64::MAX)] {
            let why = |result: io::Result<()>| result.unwrap_err().kind();
            assert_eq!(why(part.read_at(&mut vec![0; len], offset)), io::ErrorKind::UnexpectedEof);
            assert_eq!(why(part.write_at(&vec![0; len], offset)), io::ErrorKind::StorageFull);
            assert_eq!(why(part.write_from(&mut vec![0; len], offset)), io::ErrorKind::StorageFull);
            let range = offset..offset.saturating_add(len as u64).max(offset);
            if range.end > range.start {
                assert!(part.discard(range.clone()).is_err() && part.write_zeroes(range, true).is_err());
            }
        }
        let error = part.read_at(&mut [0; 2], 4095).unwrap_err();
        assert_eq!(error.to_string(), "it ends at byte 4096, bytes 4095 to 4097 were requested");
        part.write_at(&[1; 512], 0).unwrap();
        part.write_from(&mut [2; 512], 512).unwrap();
        part.write_zeroes(1024..4096, false).unwrap();
        let expected = [vec![1; 512], vec![2; 512], vec![0; 3072]].concat();
        assert_eq!(all(&part), expected);
        part.discard(0..4096).unwrap();
        let mut after = all(&*whole);
        after[4096..8192].fill(9);
        assert!(after == [9; 16384], "nothing outside is touched");
    }

    #[test]
    fn holes_units_and_locks_are_the_parts_own() {
        let path = std::env::temp_dir().join(format!("keyway-part-{}", std::process::id()));
        let file = Arc::new(File::create_new(&path).unwrap());
        std::fs::remove_file(&path).unwrap();
        file.set_len(1 << 20).unwrap();
        file.write_at(&[7; 65536], 131_072).unwrap();
        let extent = Extent { start: 65536, len: 98304 };
        let part = Part::new(file.clone(), extent);
        assert_eq!(part.next_data(0).unwrap(), Some(65536..98304));
        assert_eq!(part.next_data(70_000).unwrap(), Some(70_000..98304));
        assert_eq!(part.next_data(98304).unwrap(), None);
        assert_eq!(Part::new(file.clone(), Extent { start: 0, len: 65536 }).next_data(0).unwrap(), None);
        assert_eq!(part.lock_target().unwrap().part(), Some(extent));
        let inner = Part::new(Arc::new(part), Extent { start: 512, len: 512 });
        assert_eq!(inner.lock_target().unwrap().part(), Some(Extent { start: 66048, len: 512 }));
        // The object becomes shorter.
        file.set_len(65546).unwrap();
        assert_eq!((inner.len(), inner.refresh_len().unwrap()), (0, 0));
    }
}
