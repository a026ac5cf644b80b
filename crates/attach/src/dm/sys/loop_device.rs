//! Loop devices' ioctls (include/uapi/linux/loop.h).
//!
//! ```text
//! struct loop_info64, 232 bytes    device u64 · inode u64 · rdevice u64 · offset u64 · sizelimit u64 · number u32 ·
//!                                  encrypt_type u32 · encrypt_key_size u32 · flags u32 · file_name[64] · crypt_name[64] ·
//!                                  encrypt_key[32] · init[2] u64
//! struct loop_config, 304 bytes    fd u32 · block_size u32 · info · reserved[8] u64
//! ```

use rustix::fd::{AsRawFd, BorrowedFd};
use rustix::io::Result;
use rustix::ioctl::{Getter, IntegerSetter, Ioctl, IoctlOutput, NoArg, Opcode, Setter, ioctl};
use std::ffi::c_void;

/// `LOOP_CTL_GET_FREE`: the number of an unused device, from `/dev/loop-control`.
pub(in crate::dm) fn free_number(control: BorrowedFd<'_>) -> Result<u32> {
    // SAFETY: the ioctl takes no argument and answers with a number.
    unsafe { ioctl(control, GetFree) }
}

/// `LOOP_CONFIGURE` (Linux 5.8), or `LOOP_SET_FD` and `LOOP_SET_STATUS64` before.
pub(in crate::dm) fn configure(
    device: BorrowedFd<'_>,
    file: BorrowedFd<'_>,
    block_size: u32,
    info: Info<'_>,
) -> Result<()> {
    use rustix::io::Errno;
    let info = info.to_bytes();
    let mut config = [0; CONFIG];
    config[..4].copy_from_slice(&file.as_raw_fd().to_ne_bytes());
    config[4..8].copy_from_slice(&block_size.to_ne_bytes());
    config[8..8 + INFO].copy_from_slice(&info);
    // SAFETY: the kernel reads a loop_config, which has this size.
    match unsafe { ioctl(device, Setter::<LOOP_CONFIGURE, _>::new(config)) } {
        Err(Errno::INVAL | Errno::NOTTY | Errno::NOSYS) => {}
        other => return other,
    }
    // SAFETY: the argument is a file descriptor, by value.
    unsafe { ioctl(device, IntegerSetter::<LOOP_SET_FD>::new_usize(file.as_raw_fd() as usize)) }?;
    // SAFETY: the kernel reads a loop_info64, which has this size.
    let set = unsafe { ioctl(device, Setter::<LOOP_SET_STATUS64, _>::new(info)) };
    let set = set.and_then(|()| match block_size {
        // SAFETY: the argument is a number, by value.
        1.. => unsafe { ioctl(device, IntegerSetter::<LOOP_SET_BLOCK_SIZE>::new_usize(block_size as usize)) },
        0 => Ok(()),
    });
    set.inspect_err(|_| {
        let _ = clear_fd(device);
    })
}

/// `LOOP_GET_STATUS64`: the number of the file system that the file is on, as `st_dev` is encoded in the
/// kernel, and its inode.
pub(in crate::dm) fn backing(device: BorrowedFd<'_>) -> Result<(u64, u64)> {
    // SAFETY: the kernel writes a loop_info64, which has this size and no invalid bytes.
    let info: [u8; INFO] = unsafe { ioctl(device, Getter::<LOOP_GET_STATUS64, [u8; INFO]>::new()) }?;
    let number = |at: usize| u64::from_ne_bytes(std::array::from_fn(|i| info[at + i]));
    Ok((number(DEVICE), number(INODE)))
}

/// `LOOP_SET_DIRECT_IO`.
pub(in crate::dm) fn set_direct_io(device: BorrowedFd<'_>, on: bool) -> Result<()> {
    // SAFETY: the argument is a number, by value.
    unsafe { ioctl(device, IntegerSetter::<LOOP_SET_DIRECT_IO>::new_usize(usize::from(on))) }
}

/// Adjusts the device to the current length of the file.
pub(in crate::dm) fn set_capacity(device: BorrowedFd<'_>) -> Result<()> {
    // SAFETY: the ioctl takes no argument.
    unsafe { ioctl(device, NoArg::<LOOP_SET_CAPACITY>::new()) }
}

/// `LOOP_CLR_FD`: detaches the file, at the latest when the device is closed.
fn clear_fd(device: BorrowedFd<'_>) -> Result<()> {
    // SAFETY: the ioctl takes no argument.
    unsafe { ioctl(device, NoArg::<LOOP_CLR_FD>::new()) }
}

/// What a `loop_info64` says.
pub(in crate::dm) struct Info<'a> {
    /// Where the device begins in the file.
    pub(in crate::dm) offset: u64,
    /// Its length; 0 for all that follows.
    pub(in crate::dm) size_limit: u64,
    pub(in crate::dm) flags: u32,
    pub(in crate::dm) file_name: &'a [u8],
}

impl Info<'_> {
    fn to_bytes(&self) -> [u8; INFO] {
        let mut info = [0; INFO];
        info[OFFSET..][..8].copy_from_slice(&self.offset.to_ne_bytes());
        info[SIZE_LIMIT..][..8].copy_from_slice(&self.size_limit.to_ne_bytes());
        info[FLAGS..][..4].copy_from_slice(&self.flags.to_ne_bytes());
        let file_name = &self.file_name[..self.file_name.len().min(NAME_LEN - 1)];
        info[FILE_NAME..][..file_name.len()].copy_from_slice(file_name);
        info
    }
}

struct GetFree;

// SAFETY: the ioctl takes no argument; its result is the number.
unsafe impl Ioctl for GetFree {
    type Output = u32;
    const IS_MUTATING: bool = false;

    fn opcode(&self) -> Opcode {
        LOOP_CTL_GET_FREE
    }

    fn as_ptr(&mut self) -> *mut c_void {
        std::ptr::null_mut()
    }

    unsafe fn output_from_ptr(result: IoctlOutput, _: *mut c_void) -> Result<u32> {
        Ok(result as u32)
    }
}

const INFO: usize = 232;
const CONFIG: usize = 304;
const DEVICE: usize = 0;
const INODE: usize = 8;
const OFFSET: usize = 24;
const SIZE_LIMIT: usize = 32;
const FLAGS: usize = 52;
const FILE_NAME: usize = 56;
const NAME_LEN: usize = 64;

const LOOP_SET_FD: Opcode = 0x4c00;
const LOOP_CLR_FD: Opcode = 0x4c01;
const LOOP_SET_STATUS64: Opcode = 0x4c04;
const LOOP_GET_STATUS64: Opcode = 0x4c05;
const LOOP_SET_CAPACITY: Opcode = 0x4c07;
const LOOP_SET_DIRECT_IO: Opcode = 0x4c08;
const LOOP_SET_BLOCK_SIZE: Opcode = 0x4c09;
const LOOP_CONFIGURE: Opcode = 0x4c0a;
const LOOP_CTL_GET_FREE: Opcode = 0x4c82;
