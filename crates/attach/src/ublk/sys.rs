//! Kernel interfaces for ublk that have no safe wrapper: io_uring's submission queue, and memory
//! that the kernel reads and writes.

use super::protocol::{
    ABORTED, COMMIT_AND_FETCH, CONTROL_LEN, Control, DESCRIPTOR_LEN, FETCH, MOST_TAGS, Request, io_command,
};
use io_uring::{IoUring, cqueue, opcode, squeue, types};
use rustix::mm::{MapFlags, ProtFlags, mmap, mmap_anonymous, munmap};
use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::ptr::{self, NonNull};
use std::slice;

/// A ring for one command at a time; its entries have room for `ublksrv_ctrl_cmd`.
pub(super) struct ControlRing(IoUring<squeue::Entry128, cqueue::Entry>);

impl ControlRing {
    pub(super) fn new() -> io::Result<Self> {
        IoUring::builder().build(1).map(Self)
    }

    /// Runs a command and waits for its completion. `buffer`, which the command reads and writes,
    /// begins with the device's path of `path_len` bytes.
    pub(super) fn command(
        &mut self,
        control: &File,
        command: Control,
        device: u32,
        buffer: &mut [u8],
        data: u64,
        path_len: usize,
    ) -> io::Result<()> {
        let too_long = || io::Error::from(io::ErrorKind::InvalidInput);
        let len = u16::try_from(buffer.len()).map_err(|_| too_long())?;
        let path_len = u16::try_from(path_len).map_err(|_| too_long())?;
        let address = if buffer.is_empty() { 0 } else { buffer.as_mut_ptr() as u64 };
        let mut bytes = [0; 80];
        bytes[..CONTROL_LEN].copy_from_slice(&command.header(device, address, len, data, path_len));
        let entry =
            opcode::UringCmd80::new(types::Fd(control.as_raw_fd()), command.opcode()).cmd(bytes).build();
        // SAFETY: the command uses the descriptor and `len` bytes of the buffer. Both are borrowed
        // until this function returns, and it does not return before the command has completed.
        unsafe { self.0.submission().push(&entry) }
            .map_err(|_| io::Error::from(io::ErrorKind::OutOfMemory))?;
        loop {
            match self.0.submit_and_wait(1) {
                Err(e) if e.kind() != io::ErrorKind::Interrupted => abandon(&e),
                _ => {}
            }
            if let Some(done) = self.0.completion().next() {
                return checked(done.result());
            }
        }
    }
}

/// A queue of a device: its requests, their buffers, and the ring that delivers them.
pub(super) struct Queue {
    ring: IoUring,
    device: File,
    id: u16,
    depth: u16,
    buffer_len: usize,
    descriptors: Mapping,
    buffers: Mapping,
    /// The number of commands held by the kernel.
    waiting: usize,
}

impl Queue {
    /// The queue `id` of the open character device `device`; no other thread may serve it.
    pub(super) fn new(device: File, id: u16, depth: u16, buffer_len: usize) -> io::Result<Self> {
        let ring = IoUring::new(u32::from(depth))?;
        let apart = (MOST_TAGS * DESCRIPTOR_LEN).next_multiple_of(PAGE);
        let len = (usize::from(depth) * DESCRIPTOR_LEN).next_multiple_of(PAGE);
        let descriptors = Mapping::shared(&device, len, (usize::from(id) * apart) as u64)?;
        let buffers = Mapping::anonymous(usize::from(depth) * buffer_len)?;
        Ok(Self { ring, device, id, depth, buffer_len, descriptors, buffers, waiting: 0 })
    }

    /// Fetches requests for all tags.
    pub(super) fn fetch_all(&mut self) -> io::Result<()> {
        for tag in 0..self.depth {
            self.push(FETCH, tag, 0)?;
        }
        self.ring.submit()?;
        // The kernel holds on to commands that it accepts; one that completed at once was refused.
        match self.ring.completion().next() {
            Some(refused) => checked(refused.result()),
            None => Ok(()),
        }
    }

    /// Whether the kernel can still deliver requests.
    pub(super) fn is_open(&self) -> bool {
        self.waiting > 0
    }

    /// Sends answers and waits for a request.
    pub(super) fn wait(&mut self) -> io::Result<()> {
        match self.ring.submit_and_wait(1) {
            Err(e) if e.kind() != io::ErrorKind::Interrupted => Err(e),
            _ => Ok(()),
        }
    }

    /// The tag of a request that has arrived.
    pub(super) fn next(&mut self) -> io::Result<Option<u16>> {
        while let Some(done) = self.ring.completion().next() {
            self.waiting -= 1;
            match done.result() {
                ABORTED => {}
                result => return checked(result).map(|()| Some(done.user_data() as u16)),
            }
        }
        Ok(None)
    }

    /// The request of `tag`.
    pub(super) fn request(&self, tag: u16) -> Request {
        assert!(tag < self.depth, "the kernel returned a tag that it was not given");
        let at = usize::from(tag) * DESCRIPTOR_LEN;
        // SAFETY: the mapping has `depth` descriptors, and the kernel does not change a descriptor
        // while its request is unanswered.
        let bytes = unsafe { ptr::read_volatile(self.descriptors.start.as_ptr().add(at).cast()) };
        Request::from_bytes(&bytes)
    }

    /// The first `len` bytes of the data buffer of `tag`, whose request has arrived and is
    /// unanswered.
    pub(super) fn buffer(&mut self, tag: u16, len: usize) -> &mut [u8] {
        assert!(tag < self.depth && len <= self.buffer_len, "a request is not longer than its buffer");
        // SAFETY: the range lies within the mapping, which `self` owns. The kernel copies into and
        // out of it only while this thread is in a system call for this ring, by which time the
        // borrow has ended.
        unsafe {
            let start = self.buffers.start.as_ptr().add(usize::from(tag) * self.buffer_len);
            slice::from_raw_parts_mut(start, len)
        }
    }

    /// Answers the request of `tag` with the number of bytes transferred, or with a negative error
    /// number; the answer is sent by [`Queue::wait`].
    pub(super) fn answer(&mut self, tag: u16, result: i32) -> io::Result<()> {
        self.push(COMMIT_AND_FETCH, tag, result)
    }

    fn push(&mut self, operation: u32, tag: u16, result: i32) -> io::Result<()> {
        let buffer = self.buffers.start.as_ptr() as u64 + (usize::from(tag) * self.buffer_len) as u64;
        let command = io_command(self.id, tag, result, buffer);
        let entry = opcode::UringCmd16::new(types::Fd(self.device.as_raw_fd()), operation)
            .cmd(command)
            .build()
            .user_data(u64::from(tag));
        // SAFETY: the descriptor and the buffer live as long as the ring: they belong to `self`,
        // whose ring is dropped first, and the kernel copies the data of a request only on behalf
        // of commands that the ring holds.
        unsafe { self.ring.submission().push(&entry) }
            .map_err(|_| io::Error::from(io::ErrorKind::OutOfMemory))?;
        self.waiting += 1;
        Ok(())
    }
}

/// Lets this thread's writes use the kernel's memory reserves: when memory is short, the kernel may
/// wait for these writes.
pub(super) fn serve_block_device() {
    // SAFETY: the call takes only numbers. Without the capability for it (CAP_SYS_RESOURCE) it
    // changes nothing.
    unsafe { libc::prctl(SET_IO_FLUSHER, 1, 0, 0, 0) };
}

/// Mapped memory.
struct Mapping {
    start: NonNull<u8>,
    len: usize,
}

// SAFETY: the memory is not referenced from anywhere else in this process.
unsafe impl Send for Mapping {}

impl Mapping {
    /// Maps a device's memory for reading.
    fn shared(device: &File, len: usize, offset: u64) -> io::Result<Self> {
        let flags = MapFlags::SHARED | MapFlags::POPULATE;
        // SAFETY: a new mapping at an address of the kernel's choice.
        let start = unsafe { mmap(ptr::null_mut(), len, ProtFlags::READ, flags, device, offset) }?;
        Ok(Self { start: NonNull::new(start.cast()).ok_or(io::ErrorKind::OutOfMemory)?, len })
    }

    /// Maps memory for reading and writing, which is allocated when it is touched.
    fn anonymous(len: usize) -> io::Result<Self> {
        let protection = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: a new mapping at an address of the kernel's choice.
        let start = unsafe { mmap_anonymous(ptr::null_mut(), len, protection, MapFlags::PRIVATE) }?;
        Ok(Self { start: NonNull::new(start.cast()).ok_or(io::ErrorKind::OutOfMemory)?, len })
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: the mapping is owned by this value alone, and nothing borrowed from it outlives
        // it.
        let _ = unsafe { munmap(self.start.as_ptr().cast(), self.len) };
    }
}

fn checked(result: i32) -> io::Result<()> {
    if result < 0 { Err(io::Error::from_raw_os_error(-result)) } else { Ok(()) }
}

/// Aborts: the kernel may still be using the command's buffer, and nothing tells when it stops.
fn abandon(why: &io::Error) -> ! {
    panic!("io_uring took a command, and waiting for it failed: {why}")
}

const PAGE: usize = 4096;
/// `PR_SET_IO_FLUSHER` (include/uapi/linux/prctl.h)
const SET_IO_FLUSHER: libc::c_int = 57;
