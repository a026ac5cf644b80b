//! Storage in memory, for tests and for headers that are created before there is a place to write
//! them to.

use super::Storage;
use std::io;
use std::ops::Range;
use std::sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

/// Bytes in memory that grow when written past their end. Pages that are all zeros count as holes.
#[derive(Debug, Default)]
pub struct Memory {
    bytes: RwLock<Vec<u8>>,
}

impl Memory {
    /// `len` zero bytes.
    pub fn zeroed(len: usize) -> Self {
        Self::from(vec![0; len])
    }

    /// A copy of everything.
    pub fn to_vec(&self) -> Vec<u8> {
        self.read().clone()
    }

    /// Truncates or extends to `len` bytes.
    pub fn set_len(&self, len: usize) {
        self.write().resize(len, 0);
    }

    fn read(&self) -> RwLockReadGuard<'_, Vec<u8>> {
        self.bytes.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, Vec<u8>> {
        self.bytes.write().unwrap_or_else(PoisonError::into_inner)
    }
}

impl From<Vec<u8>> for Memory {
    fn from(bytes: Vec<u8>) -> Self {
        Self { bytes: RwLock::new(bytes) }
    }
}

impl Storage for Memory {
    fn len(&self) -> u64 {
        self.read().len() as u64
    }

    fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<()> {
        let bytes = self.read();
        let source = span(offset, buf.len())
            .and_then(|span| bytes.get(span))
            .ok_or_else(|| io::Error::new(io::ErrorKind::UnexpectedEof, "memory ends before"))?;
        buf.copy_from_slice(source);
        Ok(())
    }

    fn write_at(&self, buf: &[u8], offset: u64) -> io::Result<()> {
        let span = span(offset, buf.len()).ok_or(io::ErrorKind::FileTooLarge)?;
        let mut bytes = self.write();
        if bytes.len() < span.end {
            bytes.resize(span.end, 0);
        }
        bytes[span].copy_from_slice(buf);
        Ok(())
    }

    fn flush(&self) -> io::Result<()> {
        Ok(())
    }

    fn discard(&self, range: Range<u64>) -> io::Result<()> {
        let mut bytes = self.write();
        let len = bytes.len() as u64;
        bytes[range.start.min(len) as usize..range.end.min(len) as usize].fill(0);
        Ok(())
    }

    fn next_data(&self, offset: u64) -> io::Result<Option<Range<u64>>> {
        let bytes = self.read();
        let is_hole = |page: usize| {
            let end = ((page + 1) * PAGE).min(bytes.len());
            bytes[page * PAGE..end].iter().all(|&b| b == 0)
        };
        let pages = bytes.len().div_ceil(PAGE);
        let Some(first) = (offset as usize / PAGE..pages).find(|&page| !is_hole(page)) else {
            return Ok(None);
        };
        let end = (first..pages).find(|&page| is_hole(page)).unwrap_or(pages);
        let data = offset.max((first * PAGE) as u64)..((end * PAGE).min(bytes.len())) as u64;
        Ok((!data.is_empty()).then_some(data))
    }
}

fn span(offset: u64, len: usize) -> Option<Range<usize>> {
    let start = usize::try_from(offset).ok()?;
    Some(start..start.checked_add(len)?)
}

/// The granularity of holes, as on a file system.
const PAGE: usize = 4096;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zero_pages_are_holes() {
        let memory = Memory::zeroed(5 * PAGE + 10);
        memory.write_at(&[1], PAGE as u64 + 7).unwrap();
        memory.write_at(&[1; 2 * PAGE], 3 * PAGE as u64 - 1).unwrap();
        memory.write_at(&[9], 5 * PAGE as u64 + 9).unwrap();
        let page = PAGE as u64;
        assert_eq!(memory.next_data(0).unwrap(), Some(page..5 * page + 10));
        memory.discard(2 * page..3 * page).unwrap();
        assert_eq!(memory.next_data(0).unwrap(), Some(page..2 * page));
        assert_eq!(memory.next_data(page + 5).unwrap(), Some(page + 5..2 * page));
        assert_eq!(memory.next_data(2 * page).unwrap(), Some(3 * page..5 * page + 10));
        assert_eq!(memory.next_data(5 * page + 10).unwrap(), None);
    }

    #[test]
    fn reading_past_the_end_is_an_error_and_writing_there_extends() {
        let memory = Memory::zeroed(10);
        assert_eq!(memory.read_at(&mut [0; 4], 7).unwrap_err().kind(), io::ErrorKind::UnexpectedEof);
        assert_eq!(memory.read_at(&mut [0; 4], u64::MAX).unwrap_err().kind(), io::ErrorKind::UnexpectedEof);
        memory.write_at(&[1, 2], 11).unwrap();
        assert_eq!(memory.to_vec(), [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 2]);
    }
}
