//! device-mapper's answers.
//!
//! ```text
//! struct dm_ioctl                 as it was asked ([`super::buffer`]), filled in; then, by command:
//! struct dm_target_spec           as in a request, but `next` counts from the first one
//! struct dm_name_list             dev u64 · next u32 · name, NUL …
//! struct dm_target_versions       next u32 · version 3×u32 · name, NUL …
//! struct dm_target_deps           count u32 · padding u32 · dev u64 …
//! ```
//!
//! Source: include/uapi/linux/dm-ioctl.h.

use super::buffer::{
    DATA_SIZE, DATA_START, DEFERRED_REMOVE, DEVICE, EVENT, FLAGS, NAME, READ_ONLY, SPEC, SPEC_KIND,
    SPEC_NEXT, SUSPEND, TARGETS, UUID,
};
use super::name::unmangle;
use super::{DeviceNumber, Info, Target, Version};
use keyway_crypto::Secret;

/// The kernel's answer. Parsing it never panics, whatever it contains.
pub(super) struct Reply(Secret);

impl Reply {
    pub(super) fn new(bytes: Secret) -> Self {
        Self(bytes)
    }

    pub(super) fn version(&self) -> Version {
        (word(self.bytes(), 0), word(self.bytes(), 4), word(self.bytes(), 8))
    }

    /// Whether the answer was truncated.
    pub(super) fn is_cut(&self) -> bool {
        self.has(BUFFER_FULL)
    }

    /// Whether the kernel sent an event to udev.
    pub(super) fn tells_udev(&self) -> bool {
        self.has(UEVENT_GENERATED)
    }

    pub(super) fn is_removed_on_close(&self) -> bool {
        self.has(DEFERRED_REMOVE)
    }

    pub(super) fn info(&self) -> Info {
        let bytes = self.bytes();
        Info {
            name: unmangle(&text(&bytes[NAME..UUID])),
            uuid: unmangle(&text(&bytes[UUID..UUID_END])),
            device: DeviceNumber::from_huge(long(bytes, DEVICE)),
            open_count: word(bytes, OPEN_COUNT),
            targets: word(bytes, TARGETS),
            suspended: self.has(SUSPEND),
            read_only: self.has(READ_ONLY),
            has_table: self.has(ACTIVE_PRESENT),
            has_waiting_table: self.has(INACTIVE_PRESENT),
            removed_on_close: self.has(DEFERRED_REMOVE),
            event: word(bytes, EVENT),
        }
    }

    pub(super) fn targets(&self) -> Vec<Target> {
        let (data, mut at) = (self.data(), 0);
        let mut targets = Vec::new();
        for _ in 0..word(self.bytes(), TARGETS) {
            let Some(spec) = data.get(at..).filter(|spec| spec.len() > SPEC) else { break };
            let parameters = &spec[SPEC..];
            let end = parameters.iter().position(|&byte| byte == 0).unwrap_or(parameters.len());
            targets.push(Target {
                start: long(spec, 0),
                length: long(spec, 8),
                kind: text(&spec[SPEC_KIND..SPEC]),
                parameters: Secret::copy_from(&parameters[..end]),
            });
            let next = word(spec, SPEC_NEXT) as usize;
            if next <= at {
                break;
            }
            at = next;
        }
        targets
    }

    pub(super) fn names(&self) -> Vec<(String, DeviceNumber)> {
        let mut names = Vec::new();
        self.each(NAMES_NEXT, NAMES_NAME, |entry| {
            // A single entry without a device means that there are no mappings.
            let device = long(entry, 0);
            if device != 0 {
                names.push((unmangle(&text(&entry[NAMES_NAME..])), DeviceNumber::from_huge(device)));
            }
        });
        names
    }

    pub(super) fn target_versions(&self) -> Vec<(String, Version)> {
        let mut versions = Vec::new();
        self.each(0, VERSIONS_NAME, |entry| {
            let version = (word(entry, 4), word(entry, 8), word(entry, 12));
            versions.push((text(&entry[VERSIONS_NAME..]), version));
        });
        versions
    }

    pub(super) fn devices(&self) -> Vec<DeviceNumber> {
        let data = self.data();
        let count = data.get(..4).map_or(0, |_| word(data, 0)) as usize;
        let numbers = data.get(8..).unwrap_or_default().chunks_exact(8).take(count);
        numbers.map(|number| DeviceNumber::from_huge(long(number, 0))).collect()
    }

    /// Visits entries that hold at `next` the distance to the following entry (0 for the last one),
    /// and a name at `name`.
    fn each(&self, next: usize, name: usize, mut visit: impl FnMut(&[u8])) {
        let mut rest = self.data();
        while rest.len() > name {
            visit(rest);
            let step = word(rest, next) as usize;
            if step == 0 || step > rest.len() {
                break;
            }
            rest = &rest[step..];
        }
    }

    fn has(&self, flag: u32) -> bool {
        word(self.bytes(), FLAGS) & flag != 0
    }

    fn bytes(&self) -> &[u8] {
        self.0.expose()
    }

    fn data(&self) -> &[u8] {
        let (start, end) = (word(self.bytes(), DATA_START) as usize, word(self.bytes(), DATA_SIZE) as usize);
        self.bytes().get(start..end.min(self.bytes().len())).unwrap_or_default()
    }
}

fn word(bytes: &[u8], at: usize) -> u32 {
    u32::from_ne_bytes(bytes[at..][..4].try_into().expect("four bytes"))
}

fn long(bytes: &[u8], at: usize) -> u64 {
    u64::from_ne_bytes(bytes[at..][..8].try_into().expect("eight bytes"))
}

/// The text up to the NUL.
fn text(bytes: &[u8]) -> String {
    let end = bytes.iter().position(|&byte| byte == 0).unwrap_or(bytes.len());
    String::from_utf8_lossy(&bytes[..end]).into_owned()
}

const OPEN_COUNT: usize = 24;
const UUID_END: usize = UUID + 129;
const NAMES_NEXT: usize = 8;
const NAMES_NAME: usize = 12;
const VERSIONS_NAME: usize = 16;

const ACTIVE_PRESENT: u32 = 1 << 5;
const INACTIVE_PRESENT: u32 = 1 << 6;
const BUFFER_FULL: u32 = 1 << 8;
const UEVENT_GENERATED: u32 = 1 << 13;

#[cfg(test)]
mod tests {
    use super::super::buffer::{Buffer, HEADER};
    use super::*;

    #[test]
    fn a_table_reads_as_it_was_written() {
        let device = DeviceNumber { major: 8, minor: 1 };
        let table = [Target::linear(0, 16, device, 34), Target::error(16, 8)];
        let mut bytes = Buffer::named("home").table(&table).bytes(0);
        // In its answers the kernel counts from the first target.
        let first = word(bytes.expose(), HEADER + SPEC_NEXT);
        let end = bytes.len() as u32 - HEADER as u32;
        assert_eq!(first + word(bytes.expose(), HEADER + first as usize + SPEC_NEXT), end);
        bytes.expose_mut()[HEADER + first as usize + SPEC_NEXT..][..4].copy_from_slice(&end.to_ne_bytes());

        let reply = Reply::new(bytes);
        let read = reply.targets();
        assert_eq!(read.len(), 2);
        assert_eq!((read[0].start, read[0].length, &*read[0].kind), (0, 16, "linear"));
        assert_eq!(read[0].parameters.expose(), b"8:1 34");
        assert_eq!((read[1].start, read[1].length, &*read[1].kind), (16, 8, "error"));
        assert_eq!(reply.info().name, "home");
    }

    #[test]
    fn lists_of_names_and_versions() {
        let mut data = Vec::new();
        for (device, next, name) in [(0xfe00_u64, 16_u32, "one"), (0xfe01, 0, "my\\x20two")] {
            data.extend(device.to_ne_bytes());
            data.extend(next.to_ne_bytes());
            data.extend(name.as_bytes());
            data.push(0);
            data.resize(data.len().next_multiple_of(8), 0);
        }
        let names = reply(&data).names();
        let expected = [("one", 0), ("my two", 1)];
        assert_eq!(names, expected.map(|(name, minor)| (name.into(), DeviceNumber { major: 254, minor })));
        assert_eq!(reply(&[0; 16]).names(), []);

        let mut data = Vec::new();
        for word in [0_u32, 1, 24, 0] {
            data.extend(word.to_ne_bytes());
        }
        data.extend(b"crypt\0\0\0");
        assert_eq!(reply(&data).target_versions(), [("crypt".into(), (1, 24, 0))]);
    }

    #[test]
    fn damaged_answers_do_no_harm() {
        for seed in 0..2000_u32 {
            let mut bytes = Secret::zeroed(HEADER + 64);
            let mut state = seed.wrapping_mul(2_654_435_761) | 1;
            for byte in bytes.expose_mut() {
                state ^= state << 13;
                state ^= state >> 17;
                state ^= state << 5;
                *byte = if state.is_multiple_of(3) { 0 } else { (state >> 8) as u8 };
            }
            if seed.is_multiple_of(2) {
                bytes.expose_mut()[DATA_START..][..4].copy_from_slice(&(HEADER as u32).to_ne_bytes());
            }
            let reply = Reply::new(bytes);
            let _ = (reply.info(), reply.names(), reply.target_versions(), reply.devices());
            let _ = reply.targets();
        }
    }

    fn reply(data: &[u8]) -> Reply {
        let mut bytes = Buffer::empty().bytes(data.len());
        bytes.expose_mut()[HEADER..].copy_from_slice(data);
        Reply::new(bytes)
    }
}
