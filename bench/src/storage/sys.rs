//! An io_uring that reads or writes one file, and buffers that O_DIRECT takes.

use io_uring::{IoUring, opcode, types};
use std::fs::File;
use std::os::fd::AsRawFd;

/// Buffers of one size, each at the start of a page.
pub(super) struct Buffers {
    bytes: Vec<u8>,
    start: usize,
    size: usize,
}

impl Buffers {
    pub(super) fn new(count: usize, size: usize) -> Self {
        let bytes = vec![0xa5; count * size + PAGE];
        let start = bytes.as_ptr().align_offset(PAGE);
        Self { bytes, start, size }
    }

    pub(super) fn get(&mut self, index: usize) -> &mut [u8] {
        let start = self.start + index * self.size;
        &mut self.bytes[start..start + self.size]
    }
}

/// A ring that keeps as many requests under way as it has buffers.
pub(super) struct Ring<'a> {
    ring: IoUring,
    file: &'a File,
    buffers: Buffers,
    depth: usize,
    size: usize,
    writes: bool,
}

impl<'a> Ring<'a> {
    pub(super) fn new(file: &'a File, depth: usize, size: usize, writes: bool) -> Self {
        let ring = IoUring::new(depth as u32).unwrap_or_else(|e| panic!("io_uring: {e}"));
        Self { ring, file, buffers: Buffers::new(depth, size), depth, size, writes }
    }

    /// One request at each of `places`.
    pub(super) fn run(&mut self, mut places: impl Iterator<Item = u64>) {
        let mut free: Vec<usize> = (0..self.depth).collect();
        loop {
            while let Some(buffer) = free.pop() {
                let Some(place) = places.next() else {
                    free.push(buffer);
                    break;
                };
                self.push(buffer, place);
            }
            let under_way = self.depth - free.len();
            if under_way == 0 {
                return;
            }
            self.ring.submit_and_wait(1).unwrap_or_else(|e| panic!("io_uring: {e}"));
            for done in self.ring.completion() {
                assert_eq!(done.result(), self.size as i32, "io_uring");
                free.push(done.user_data() as usize);
            }
        }
    }

    fn push(&mut self, buffer: usize, place: u64) {
        let fd = types::Fd(self.file.as_raw_fd());
        let bytes = self.buffers.get(buffer);
        let (start, len) = (bytes.as_mut_ptr(), bytes.len() as u32);
        let entry = if self.writes {
            opcode::Write::new(fd, start, len).offset(place).build()
        } else {
            opcode::Read::new(fd, start, len).offset(place).build()
        };
        // SAFETY: the buffer and the file live as long as the ring; `run` gives
        // no buffer away again before the ring has said that its request is done,
        // and leaves only when none is under way.
        unsafe { self.ring.submission().push(&entry.user_data(buffer as u64)) }
            .unwrap_or_else(|e| panic!("io_uring: {e}"));
    }
}

const PAGE: usize = 4096;
