//! System calls without a safe interface elsewhere: the ioctls of device-mapper, loop and block
//! devices, keyrings, semaphores.

mod keyctl;
mod loop_device;
mod read_only;
mod semaphore;

pub(super) use keyctl::{KEYCTL_UNLINK, add_key, keyctl, read_key, request_key};
pub(super) use loop_device::{Info, backing, configure, free_number, set_capacity, set_direct_io};
pub(super) use read_only::{read_only, set_read_only};
pub(super) use semaphore::Semaphore;

use keyway_crypto::Secret;
use rustix::fd::{AsFd, OwnedFd};
use rustix::io::Result;
use rustix::ioctl::{Ioctl, IoctlOutput, Opcode, ioctl, opcode};
use std::ffi::c_void;

/// A device-mapper command (include/uapi/linux/dm-ioctl.h).
#[derive(Debug, Clone, Copy)]
pub(super) enum Command {
    Version = 0,
    ListDevices = 2,
    Create = 3,
    Remove = 4,
    Suspend = 6,
    Status = 7,
    TableLoad = 9,
    TableClear = 10,
    TableDeps = 11,
    TableStatus = 12,
    ListVersions = 13,
    TargetMessage = 14,
    GetTargetVersion = 17,
}

/// Passes the buffer to device-mapper, which writes its answer to the same buffer. As in `struct
/// dm_ioctl`, byte 12 holds the buffer's length.
pub(super) fn call(control: &OwnedFd, command: Command, buffer: &mut Secret) -> Result<()> {
    let bytes = buffer.expose_mut();
    let said = u32::from_ne_bytes(bytes[12..16].try_into().expect("four bytes"));
    assert!(bytes.len() >= HEADER && said as usize == bytes.len(), "the buffer says how long it is");
    // SAFETY: the kernel reads and writes no more than the length stored in the buffer, which is
    // the buffer's own.
    unsafe { ioctl(control.as_fd(), Call { command, bytes }) }
}

struct Call<'a> {
    command: Command,
    bytes: &'a mut [u8],
}

// SAFETY: the opcode is the one that dm-ioctl.h defines for the command; the pointer is valid for
// the buffer's length.
unsafe impl Ioctl for Call<'_> {
    type Output = ();
    const IS_MUTATING: bool = true;

    fn opcode(&self) -> Opcode {
        opcode::read_write::<[u8; HEADER]>(0xfd, self.command as u8)
    }

    fn as_ptr(&mut self) -> *mut c_void {
        self.bytes.as_mut_ptr().cast()
    }

    unsafe fn output_from_ptr(_: IoctlOutput, _: *mut c_void) -> Result<()> {
        Ok(())
    }
}

/// `sizeof(struct dm_ioctl)`.
const HEADER: usize = 312;
