//! A file or block device, bypassing the page cache (`O_DIRECT`, open(2)).
//!
//! For volumes whose plaintext the user of the volume already caches (a virtual machine, a file
//! system mounted on a front end): the page cache would only store the ciphertext as well. Offsets,
//! lengths and memory must then be aligned. Aligned requests go straight through; others go through
//! an aligned buffer, and a write that covers a block in part reads, changes and writes it back,
//! with that block locked. Readers need no lock: what is written back around a change was there before.

use super::{File, LockTarget, Storage};
use crate::device::range_lock::RangeLocks;
use rustix::fs::{AtFlags, OFlags, StatxFlags};
use std::cell::Cell;
use std::io;
use std::ops::Range;
use std::sync::Arc;

/// A file or block device, bypassing the page cache.
pub struct Direct {
    file: Arc<File>,
    /// Alignment of offsets and lengths, in bytes.
    block: u64,
    writers: RangeLocks,
}

impl Direct {
    /// Switches `file` to direct access, for all users of it.
    ///
    /// # Errors
    /// Its file system does not support direct access, or its length is not a whole number of
    /// blocks.
    pub fn new(file: Arc<File>) -> io::Result<Self> {
        let block = block_size(&file);
        if !file.len().is_multiple_of(block) {
            let len = file.len();
            let what =
                format!("its length, {len} bytes, is not a multiple of {block}, as direct access requires");
            return Err(io::Error::new(io::ErrorKind::InvalidInput, what));
        }
        if !file.start().is_multiple_of(block) {
            let start = file.start();
            let what =
                format!("it begins at byte {start}, not at a multiple of {block}, as direct access requires");
            return Err(io::Error::new(io::ErrorKind::InvalidInput, what));
        }
        let flags = rustix::fs::fcntl_getfl(file.as_file())?;
        rustix::fs::fcntl_setfl(file.as_file(), flags | OFlags::DIRECT)?;
        Ok(Self { file, block, writers: RangeLocks::default() })
    }

    /// The file.
    pub fn file(&self) -> &Arc<File> {
        &self.file
    }

    fn is_aligned(&self, buf: &[u8], offset: u64) -> bool {
        self.covers_blocks(offset, buf.len()) && buf.as_ptr().align_offset(MEMORY) == 0
    }

    fn covers_blocks(&self, offset: u64, len: usize) -> bool {
        offset.is_multiple_of(self.block) && (len as u64).is_multiple_of(self.block)
    }

    /// The range extended to whole blocks.
    fn blocks(&self, range: Range<u64>) -> Range<u64> {
        range.start - range.start % self.block..range.end.next_multiple_of(self.block)
    }

    fn check(&self, offset: u64, len: usize, kind: io::ErrorKind) -> io::Result<()> {
        match offset.checked_add(len as u64) {
            Some(end) if end <= self.len() => Ok(()),
            _ => Err(io::Error::new(
                kind,
                format!("it ends at byte {}, {len} bytes at {offset} were requested", self.len()),
            )),
        }
    }
}

impl Storage for Direct {
    /// Whole blocks: bytes that others may have added after them cannot be accessed.
    fn is_cached(&self) -> bool {
        false
    }

    fn len(&self) -> u64 {
        let len = self.file.len();
        len - len % self.block
    }

    fn refresh_len(&self) -> io::Result<u64> {
        self.file.refresh_len().map(|_| self.len())
    }

    fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<()> {
        self.check(offset, buf.len(), io::ErrorKind::UnexpectedEof)?;
        if self.is_aligned(buf, offset) {
            return self.file.read_at(buf, offset);
        }
        for (i, piece) in buf.chunks_mut(PIECE).enumerate() {
            let start = offset + (i * PIECE) as u64;
            let blocks = self.blocks(start..start + piece.len() as u64);
            in_aligned(&blocks, |memory| {
                self.file.read_at(memory, blocks.start)?;
                piece.copy_from_slice(&memory[(start - blocks.start) as usize..][..piece.len()]);
                Ok(())
            })?;
        }
        Ok(())
    }

    fn write_at(&self, buf: &[u8], offset: u64) -> io::Result<()> {
        self.check(offset, buf.len(), io::ErrorKind::StorageFull)?;
        let whole = self.covers_blocks(offset, buf.len());
        let blocks = self.blocks(offset..offset + buf.len() as u64);
        let _lock = if whole { self.writers.share(blocks) } else { self.writers.alone(blocks) };
        if self.is_aligned(buf, offset) {
            return self.file.write_at(buf, offset);
        }
        for (i, piece) in buf.chunks(PIECE).enumerate() {
            let start = offset + (i * PIECE) as u64;
            let blocks = self.blocks(start..start + piece.len() as u64);
            in_aligned(&blocks, |memory| {
                if !whole {
                    self.file.read_at(memory, blocks.start)?;
                }
                memory[(start - blocks.start) as usize..][..piece.len()].copy_from_slice(piece);
                self.file.write_at(memory, blocks.start)
            })?;
        }
        Ok(())
    }

    fn flush(&self) -> io::Result<()> {
        self.file.flush()
    }

    fn discard(&self, range: Range<u64>) -> io::Result<()> {
        self.file.discard(range)
    }

    fn is_read_only(&self) -> bool {
        self.file.is_read_only()
    }

    fn next_data(&self, offset: u64) -> io::Result<Option<Range<u64>>> {
        self.file.next_data(offset)
    }

    fn unit(&self) -> u64 {
        self.block
    }

    fn lock_target(&self) -> Option<LockTarget<'_>> {
        self.file.lock_target()
    }
}

/// The alignment that the file system requires (Linux 6.1); otherwise the sector size of a block
/// device, or a size that every file system accepts.
fn block_size(file: &File) -> u64 {
    let told = rustix::fs::statx(file.as_file(), "", AtFlags::EMPTY_PATH, StatxFlags::DIOALIGN);
    match told.map_or(0, |stat| stat.stx_dio_offset_align) {
        0 => file.sectors().map_or(MEMORY as u64, |sectors| sectors.logical.into()),
        align => align.into(),
    }
}

/// Runs `work` on aligned memory of the range's length; this thread keeps the memory.
fn in_aligned(range: &Range<u64>, work: impl FnOnce(&mut [u8]) -> io::Result<()>) -> io::Result<()> {
    thread_local!(static KEPT: Cell<Vec<u8>> = const { Cell::new(Vec::new()) });
    let len = (range.end - range.start) as usize;
    let mut memory = KEPT.take();
    if memory.len() < len + MEMORY {
        memory.resize(len + MEMORY, 0);
    }
    let start = memory.as_ptr().align_offset(MEMORY);
    let result = work(&mut memory[start..start + len]);
    KEPT.set(memory);
    result
}

/// Memory is aligned to pages, which is sufficient for every device.
const MEMORY: usize = 4096;

/// Requests that need the aligned buffer are split into pieces of this many bytes.
const PIECE: usize = 1 << 20;

#[cfg(test)]
mod tests {
    use super::*;
    use std::thread;

    /// In the build directory: the file systems of temporary directories may lack direct access.
    fn file(name: &str, len: u64) -> Arc<File> {
        let path = std::env::current_exe().unwrap().with_file_name(format!("{name}-{}", std::process::id()));
        let file = File::create_new(&path).unwrap();
        std::fs::remove_file(&path).unwrap();
        file.set_len(len).unwrap();
        Arc::new(file)
    }

    #[test]
    fn requests_need_no_alignment() {
        let Ok(direct) = Direct::new(file("keyway-direct", 4 << 20)) else {
            return eprintln!("left out: there is no direct access here");
        };
        let bytes: Vec<u8> = (0..3 << 20).map(|i: u32| (i.wrapping_mul(0x9e37_79b1) >> 24) as u8).collect();
        for (offset, len) in [(0, 4096), (1, 1), (511, 4098), (100_000, 2_500_001), (4 << 20, 0)] {
            direct.write_at(&bytes[..len], offset).unwrap();
            let mut back = vec![0; len];
            direct.read_at(&mut back, offset).unwrap();
            assert!(back == bytes[..len], "{len} bytes at {offset}");
        }
        let mut before = [0xff; 3];
        direct.read_at(&mut before, 99_998).unwrap();
        assert_eq!(before, [0, 0, bytes[0]]);
        assert!(direct.read_at(&mut [0; 2], (4 << 20) - 1).is_err());
        assert!(direct.write_at(&[0; 2], (4 << 20) - 1).is_err());
        assert_eq!(direct.len(), 4 << 20);
    }

    #[test]
    fn neighbours_in_a_block_lose_nothing() {
        let Ok(direct) = Direct::new(file("keyway-neighbours", 1 << 16)) else {
            return eprintln!("left out: there is no direct access here");
        };
        thread::scope(|scope| {
            for part in 0..8u8 {
                let direct = &direct;
                scope.spawn(move || {
                    for _ in 0..50 {
                        direct.write_at(&[part + 1; 100], 8192 + u64::from(part) * 100).unwrap();
                    }
                });
            }
        });
        let mut back = [0; 800];
        direct.read_at(&mut back, 8192).unwrap();
        assert!(back.chunks(100).zip(1..).all(|(part, number)| part.iter().all(|byte| *byte == number)));
    }

    #[test]
    fn a_length_between_blocks_is_refused() {
        let error = Direct::new(file("keyway-odd", 1000)).err().unwrap();
        assert!(error.to_string().contains("1000 bytes"), "{error}");
    }
}
