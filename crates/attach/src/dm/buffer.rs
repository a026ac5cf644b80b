//! The request passed to device-mapper in one ioctl; the kernel's answer is written to the same
//! memory ([`super::reply`]).
//!
//! ```text
//! struct dm_ioctl, 312 bytes      version 3×u32 · data_size u32 · data_start u32 · target_count u32 · open_count i32 ·
//!                                 flags u32 · event_nr u32 · padding u32 · dev u64 · name[128] · uuid[129] · data[7]
//! then, by command:
//! struct dm_target_spec, 40       sector_start u64 · length u64 · status i32 · next u32 · target_type[16]
//!                                 parameters as text, NUL, padding to 8; `next` counts from this target
//! struct dm_target_msg            sector u64 · text, NUL
//! ```
//!
//! Source: include/uapi/linux/dm-ioctl.h. Table lines contain keys, so every buffer is locked in
//! memory and wiped.

use super::{DeviceNumber, Target};
use keyway_crypto::Secret;

/// A request to the kernel.
pub(super) struct Buffer {
    header: [u8; HEADER],
    data: Secret,
    targets: u32,
}

impl Buffer {
    /// A request that concerns no mapping.
    pub(super) fn empty() -> Self {
        let mut buffer = Self { header: [0; HEADER], data: Secret::zeroed(0), targets: 0 };
        buffer.word(0, INTERFACE);
        buffer.word(DATA_START, HEADER as u32);
        buffer
    }

    /// A request about the mapping with this (mangled) name.
    pub(super) fn named(name: &str) -> Self {
        let mut buffer = Self::empty();
        buffer.header[NAME..][..name.len()].copy_from_slice(name.as_bytes());
        buffer
    }

    /// Adds this (mangled) UUID.
    pub(super) fn uuid(mut self, uuid: &str) -> Self {
        self.header[UUID..][..uuid.len()].copy_from_slice(uuid.as_bytes());
        self
    }

    /// A request about the mapping with this device number.
    pub(super) fn device(mut self, device: DeviceNumber) -> Self {
        self.header[DEVICE..][..8].copy_from_slice(&device.to_huge().to_ne_bytes());
        self
    }

    /// Sets the number carried by the event to udev.
    pub(super) fn event(mut self, number: u32) -> Self {
        self.word(EVENT, number);
        self
    }

    pub(super) fn read_only(self) -> Self {
        self.flag(READ_ONLY)
    }

    pub(super) fn suspend(self) -> Self {
        self.flag(SUSPEND)
    }

    pub(super) fn no_flush(self) -> Self {
        self.flag(NO_FLUSH)
    }

    pub(super) fn skip_lockfs(self) -> Self {
        self.flag(SKIP_LOCKFS)
    }

    pub(super) fn deferred(self) -> Self {
        self.flag(DEFERRED_REMOVE)
    }

    /// Asks for the table's lines, not the targets' state.
    pub(super) fn table_wanted(self) -> Self {
        self.flag(STATUS_TABLE)
    }

    /// Has the kernel wipe its copies, because the buffer contains keys.
    pub(super) fn secure(self) -> Self {
        self.flag(SECURE_DATA)
    }

    pub(super) fn table(mut self, targets: &[Target]) -> Self {
        let lengths = targets.iter().map(|target| spec_len(target.parameters.len()));
        self.data = Secret::zeroed(lengths.sum());
        let mut rest = self.data.expose_mut();
        for target in targets {
            let (spec, after) = rest.split_at_mut(spec_len(target.parameters.len()));
            write_spec(spec, target);
            rest = after;
        }
        self.targets = targets.len() as u32;
        self
    }

    pub(super) fn message(mut self, sector: u64, text: &[u8]) -> Self {
        self.data = Secret::zeroed(8 + text.len() + 1);
        self.data.expose_mut()[..8].copy_from_slice(&sector.to_ne_bytes());
        self.data.expose_mut()[8..][..text.len()].copy_from_slice(text);
        self
    }

    /// The bytes passed to the kernel, with at least `room` bytes after the header for its answer.
    pub(super) fn bytes(&self, room: usize) -> Secret {
        let len = HEADER + room.max(self.data.len());
        let mut bytes = Secret::zeroed(len);
        let out = bytes.expose_mut();
        out[..HEADER].copy_from_slice(&self.header);
        out[DATA_SIZE..][..4].copy_from_slice(&(len as u32).to_ne_bytes());
        out[TARGETS..][..4].copy_from_slice(&self.targets.to_ne_bytes());
        out[HEADER..][..self.data.len()].copy_from_slice(self.data.expose());
        bytes
    }

    fn flag(mut self, flag: u32) -> Self {
        let flags = u32::from_ne_bytes(self.header[FLAGS..][..4].try_into().expect("four bytes"));
        self.word(FLAGS, flags | flag);
        self
    }

    fn word(&mut self, at: usize, word: u32) {
        self.header[at..][..4].copy_from_slice(&word.to_ne_bytes());
    }
}

fn spec_len(parameters: usize) -> usize {
    (SPEC + parameters + 1).next_multiple_of(8)
}

fn write_spec(spec: &mut [u8], target: &Target) {
    let next = spec.len() as u32;
    spec[..8].copy_from_slice(&target.start.to_ne_bytes());
    spec[8..16].copy_from_slice(&target.length.to_ne_bytes());
    spec[SPEC_NEXT..][..4].copy_from_slice(&next.to_ne_bytes());
    let kind = target.kind.as_bytes();
    let kind = &kind[..kind.len().min(KIND - 1)];
    spec[SPEC_KIND..][..kind.len()].copy_from_slice(kind);
    spec[SPEC..][..target.parameters.len()].copy_from_slice(target.parameters.expose());
}

/// The interface's major version. Minor version 0 is the oldest, and every kernel supports it.
const INTERFACE: u32 = 4;

pub(super) const HEADER: usize = 312;
pub(super) const DATA_SIZE: usize = 12;
pub(super) const DATA_START: usize = 16;
pub(super) const TARGETS: usize = 20;
pub(super) const FLAGS: usize = 28;
pub(super) const EVENT: usize = 32;
pub(super) const DEVICE: usize = 40;
pub(super) const NAME: usize = 48;
pub(super) const UUID: usize = NAME + 128;

pub(super) const SPEC: usize = 40;
pub(super) const SPEC_NEXT: usize = 20;
pub(super) const SPEC_KIND: usize = 24;
const KIND: usize = 16;

pub(super) const READ_ONLY: u32 = 1 << 0;
pub(super) const SUSPEND: u32 = 1 << 1;
const STATUS_TABLE: u32 = 1 << 4;
const SKIP_LOCKFS: u32 = 1 << 10;
const NO_FLUSH: u32 = 1 << 11;
const SECURE_DATA: u32 = 1 << 15;
pub(super) const DEFERRED_REMOVE: u32 = 1 << 17;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_header_is_the_kernels() {
        let buffer =
            Buffer::named("a").uuid("u").secure().read_only().event(0x60_1234).message(0, b"key wipe");
        let bytes = buffer.bytes(64);
        let bytes = bytes.expose();
        assert_eq!(bytes.len(), 312 + 64);
        let words = [4, 0, 0, 376, 312, 0, 0, 0x8001, 0x60_1234, 0];
        for (index, expected) in words.into_iter().enumerate() {
            assert_eq!(bytes[index * 4..][..4], u32::to_ne_bytes(expected), "word {index}");
        }
        assert_eq!(&bytes[48..50], b"a\0");
        assert_eq!(&bytes[176..178], b"u\0");
        assert_eq!(&bytes[320..329], b"key wipe\0");
    }
}
