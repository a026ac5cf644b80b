//! Device-mapper by its ioctls (include/uapi/linux/dm-ioctl.h, version 4): one device whose table
//! is replaced.
//!
//! Every call passes one buffer in both directions:
//!
//! ```text
//! struct dm_ioctl, 312 bytes      version 3×u32 · data_size u32 · data_start u32 · target_count u32 · open_count i32 ·
//!                                 flags u32 · event_nr u32 · padding u32 · dev u64 · name[128] · uuid[129] · data[7]
//! struct dm_target_spec, 40 bytes sector_start u64 · length u64 · status i32 · next u32 · target_type[16]
//! parameters                      text, NUL
//! ```

use rustix::fd::{AsFd, OwnedFd};
use rustix::io::Result;
use rustix::ioctl::{Ioctl, IoctlOutput, Opcode, ioctl, opcode};
use std::ffi::c_void;
use std::fs::File;

/// A mapped device created by this process. Removed on drop.
pub(crate) struct Mapping {
    control: OwnedFd,
    name: String,
    /// Its minor number: it appears as `/dev/dm-MINOR`.
    pub(crate) minor: u32,
}

impl Mapping {
    /// A new device without a table.
    pub(crate) fn new(name: &str) -> std::io::Result<Self> {
        let control = File::options().read(true).write(true).open("/dev/mapper/control")?.into();
        let mut mapping = Self { control, name: name.into(), minor: 0 };
        let answer = mapping.call(DEV_CREATE, 0, None)?;
        let device = u64::from_ne_bytes(answer.0[DEVICE..DEVICE + 8].try_into().expect("8 bytes"));
        // The kernel's "huge" encoding of a device number: minor bits 0–7 and 20–31.
        mapping.minor = (device & 0xff | (device >> 12) & 0xfff00) as u32;
        Ok(mapping)
    }

    /// Gives it one target of `sectors` 512-byte sectors, to be used
    /// from the next [`Mapping::resume`] on.
    pub(crate) fn load(&self, sectors: u64, target: &str, parameters: &str) -> Result<()> {
        self.call(TABLE_LOAD, 0, Some((sectors, target, parameters))).map(drop)
    }

    /// Discards a loaded table that was not resumed.
    pub(crate) fn clear(&self) -> Result<()> {
        self.call(TABLE_CLEAR, 0, None).map(drop)
    }

    /// Activates the loaded table in place of the previous one.
    pub(crate) fn resume(&self) -> Result<()> {
        self.call(DEV_SUSPEND, 0, None).map(drop)
    }

    fn call(&self, command: u8, flags: u32, table: Option<(u64, &str, &str)>) -> Result<Box<Buffer>> {
        let mut buffer = Box::new(Buffer([0; BUFFER]));
        buffer.header(&self.name, flags, u32::from(table.is_some()));
        if let Some((sectors, target, parameters)) = table {
            buffer.target(sectors, target, parameters);
        }
        // SAFETY: the buffer states its length in `data_size`, and the kernel writes no more than
        // that.
        unsafe { ioctl(self.control.as_fd(), Call { command, buffer: &mut buffer }) }?;
        Ok(buffer)
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        let _ = self.call(DEV_REMOVE, 0, None);
    }
}

/// The buffer that goes to the kernel and comes back.
#[repr(C, align(8))]
struct Buffer([u8; BUFFER]);

impl Buffer {
    fn header(&mut self, name: &str, flags: u32, targets: u32) {
        let words = [4, 0, 0, BUFFER as u32, HEADER as u32, targets, 0, flags];
        for (field, word) in self.0.chunks_exact_mut(4).zip(words) {
            field.copy_from_slice(&word.to_ne_bytes());
        }
        self.0[NAME..NAME + name.len()].copy_from_slice(name.as_bytes());
    }

    fn target(&mut self, sectors: u64, kind: &str, parameters: &str) {
        let spec = &mut self.0[HEADER..];
        spec[8..16].copy_from_slice(&sectors.to_ne_bytes());
        let length = (SPEC + parameters.len() + 1).next_multiple_of(8) as u32;
        spec[20..24].copy_from_slice(&length.to_ne_bytes());
        spec[24..24 + kind.len()].copy_from_slice(kind.as_bytes());
        spec[SPEC..SPEC + parameters.len()].copy_from_slice(parameters.as_bytes());
    }
}

struct Call<'a> {
    command: u8,
    buffer: &'a mut Buffer,
}

// SAFETY: the opcode is the one that dm-ioctl.h defines for the command; the pointer is valid for
// the buffer's length.
unsafe impl Ioctl for Call<'_> {
    type Output = ();
    const IS_MUTATING: bool = true;

    fn opcode(&self) -> Opcode {
        opcode::read_write::<[u8; HEADER]>(0xfd, self.command)
    }

    fn as_ptr(&mut self) -> *mut c_void {
        std::ptr::from_mut(self.buffer).cast()
    }

    unsafe fn output_from_ptr(_: IoctlOutput, _: *mut c_void) -> Result<()> {
        Ok(())
    }
}

const HEADER: usize = 312;
const DEVICE: usize = 40;
const NAME: usize = 48;
const SPEC: usize = 40;
/// Room for sixty-five keys in hexadecimal.
const BUFFER: usize = 32 << 10;

const DEV_CREATE: u8 = 3;
const DEV_REMOVE: u8 = 4;
const DEV_SUSPEND: u8 = 6;
const TABLE_LOAD: u8 = 9;
const TABLE_CLEAR: u8 = 10;
