//! Ioctls without a safe interface elsewhere: btrfs's for a device of a file system over several
//! (include/uapi/linux/btrfs.h: `_IOW(0x94, 4, struct btrfs_ioctl_vol_args)`, which is an i64 and the path,
//! NUL-terminated, in 4088 bytes), and those of the console's keyboard (include/uapi/linux/kd.h).

use rustix::fd::BorrowedFd;
use rustix::io::{Errno, Result};
use rustix::ioctl::{Getter, IntegerSetter, Opcode, Setter, ioctl, opcode};

/// Tells btrfs that a part of a file system is at `path`.
pub(super) fn scan_device(control: BorrowedFd<'_>, path: &[u8]) -> Result<()> {
    let mut named = [0; SIZE];
    let room = &mut named[NAME..SIZE - 1];
    room.get_mut(..path.len()).ok_or(Errno::NAMETOOLONG)?.copy_from_slice(path);
    // SAFETY: the kernel reads SIZE bytes, which are those of the array; its name ends with a NUL.
    unsafe { ioctl(control, Setter::<SCAN_DEV, [u8; SIZE]>::new(named)) }
}

/// `KDSKBMODE` `K_UNICODE`: keys type UTF-8.
pub(super) fn type_unicode(console: BorrowedFd<'_>) -> Result<()> {
    // SAFETY: the argument is a number, by value.
    unsafe { ioctl(console, IntegerSetter::<KDSKBMODE>::new_usize(K_UNICODE)) }
}

/// `KDSKBENT`: what this key types with these modifiers.
pub(super) fn set_key(console: BorrowedFd<'_>, table: u8, key: u8, value: u16) -> Result<()> {
    // struct kbentry: kb_table u8 · kb_index u8 · kb_value u16
    let [low, high] = value.to_ne_bytes();
    // SAFETY: the kernel reads a kbentry, which has these four bytes.
    unsafe { ioctl(console, Setter::<KDSKBENT, _>::new([table, key, low, high])) }
}

/// `KDGKBLED`: the locks that are on.
pub(super) fn locks(console: BorrowedFd<'_>) -> Result<u8> {
    // SAFETY: the kernel writes one byte.
    unsafe { ioctl(console, Getter::<KDGKBLED, u8>::new()) }
}

const SCAN_DEV: Opcode = opcode::write::<[u8; SIZE]>(0x94, 4);
const SIZE: usize = 4096;
const NAME: usize = 8;
const KDSKBMODE: Opcode = 0x4b45;
const KDSKBENT: Opcode = 0x4b47;
const KDGKBLED: Opcode = 0x4b64;
const K_UNICODE: usize = 3;
