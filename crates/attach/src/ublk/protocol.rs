//! ublk's numbers and structures, as bytes (Linux, include/uapi/linux/ublk_cmd.h).
//!
//! | structure               | bytes | what                                                          |
//! |-------------------------|-------|---------------------------------------------------------------|
//! | `ublksrv_ctrl_cmd`      | 32    | a command to /dev/ublk-control, in its submission queue entry |
//! | `ublksrv_ctrl_dev_info` | 64    | a device: asked for, then as the kernel made it               |
//! | `ublk_params`           | 60    | the disk: here its basic part and discards                    |
//! | `ublksrv_io_desc`       | 24    | a request, in memory that the kernel shares                   |
//! | `ublksrv_io_cmd`        | 16    | an answer, and the wish for the next request of its tag       |

use keyway_volume::{Rights, Storage};

/// A command to the control device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Control {
    AddDevice,
    DeleteDevice,
    /// Does not wait for the last user of the disk (Linux 6.9).
    DeleteDeviceLater,
    StartDevice,
    StopDevice,
    SetParameters,
    DeviceInfo,
}

impl Control {
    /// The command as an ioctl number, as required by Linux 6.4 and later.
    pub(super) fn opcode(self) -> u32 {
        match self {
            Self::AddDevice => ioctl(READ_WRITE, 0x04, CONTROL_LEN),
            Self::DeleteDevice => ioctl(READ_WRITE, 0x05, CONTROL_LEN),
            Self::StartDevice => ioctl(READ_WRITE, 0x06, CONTROL_LEN),
            Self::StopDevice => ioctl(READ_WRITE, 0x07, CONTROL_LEN),
            Self::SetParameters => ioctl(READ_WRITE, 0x08, CONTROL_LEN),
            Self::DeviceInfo => ioctl(READ, 0x12, CONTROL_LEN),
            Self::DeleteDeviceLater => ioctl(READ, 0x14, CONTROL_LEN),
        }
    }

    /// `ublksrv_ctrl_cmd`. If `path_len` is not 0, the buffer at `address` begins with the device's
    /// path.
    pub(super) fn header(
        self,
        device: u32,
        address: u64,
        len: u16,
        data: u64,
        path_len: u16,
    ) -> [u8; CONTROL_LEN] {
        let mut header = [0; CONTROL_LEN];
        header[0..4].copy_from_slice(&device.to_ne_bytes());
        header[4..6].copy_from_slice(&NO_QUEUE.to_ne_bytes());
        header[6..8].copy_from_slice(&len.to_ne_bytes());
        header[8..16].copy_from_slice(&address.to_ne_bytes());
        header[16..24].copy_from_slice(&data.to_ne_bytes());
        header[24..26].copy_from_slice(&path_len.to_ne_bytes());
        header
    }
}

/// Fetches the first request for a tag.
pub(super) const FETCH: u32 = ioctl(READ_WRITE, 0x20, IO_LEN);
/// Answers a request and fetches the tag's next one.
pub(super) const COMMIT_AND_FETCH: u32 = ioctl(READ_WRITE, 0x21, IO_LEN);

/// `ublksrv_io_cmd`.
pub(super) fn io_command(queue: u16, tag: u16, result: i32, buffer: u64) -> [u8; IO_LEN] {
    let mut command = [0; IO_LEN];
    command[0..2].copy_from_slice(&queue.to_ne_bytes());
    command[2..4].copy_from_slice(&tag.to_ne_bytes());
    command[4..8].copy_from_slice(&result.to_ne_bytes());
    command[8..16].copy_from_slice(&buffer.to_ne_bytes());
    command
}

/// The relevant parts of `ublksrv_ctrl_dev_info`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct DeviceInfo {
    pub(super) queues: u16,
    pub(super) depth: u16,
    /// The maximum length of a request's data.
    pub(super) buffer_len: u32,
    /// N of /dev/ublkbN.
    pub(super) id: u32,
    pub(super) flags: u64,
    /// Whether the disk exists.
    pub(super) live: bool,
    /// The process that serves the device; not positive when there is none.
    pub(super) pid: i32,
}

impl DeviceInfo {
    pub(super) fn to_bytes(self) -> [u8; INFO_LEN] {
        let mut info = [0; INFO_LEN];
        info[0..2].copy_from_slice(&self.queues.to_ne_bytes());
        info[2..4].copy_from_slice(&self.depth.to_ne_bytes());
        info[8..12].copy_from_slice(&self.buffer_len.to_ne_bytes());
        info[12..16].copy_from_slice(&self.id.to_ne_bytes());
        info[16..20].copy_from_slice(&self.pid.to_ne_bytes());
        info[24..32].copy_from_slice(&self.flags.to_ne_bytes());
        info
    }

    pub(super) fn from_bytes(info: &[u8; INFO_LEN]) -> Self {
        Self {
            queues: u16::from_ne_bytes(part(info, 0)),
            depth: u16::from_ne_bytes(part(info, 2)),
            live: u16::from_ne_bytes(part(info, 4)) != STATE_DEAD,
            buffer_len: u32::from_ne_bytes(part(info, 8)),
            id: u32::from_ne_bytes(part(info, 12)),
            pid: i32::from_ne_bytes(part(info, 16)),
            flags: u64::from_ne_bytes(part(info, 24)),
        }
    }

    /// Whether its owner may control it without root privileges.
    pub(super) fn is_unprivileged(&self) -> bool {
        self.flags & FLAG_UNPRIVILEGED != 0
    }
}

/// `ublk_params` for a disk that exposes `storage`.
pub(super) fn parameters(storage: &dyn Storage, rights: Rights, buffer_len: u32) -> [u8; PARAMETERS_LEN] {
    let sector = logical_sector(storage);
    let sectors = (storage.len() - storage.len() % sector) / 512;
    let mut basic = ATTRIBUTE_VOLATILE_CACHE | ATTRIBUTE_FUA;
    if rights.read_only {
        basic |= ATTRIBUTE_READ_ONLY;
    }
    let page = PAGE.ilog2() as u8;
    let mut bytes = [0; PARAMETERS_LEN];
    bytes[0..4].copy_from_slice(&(PARAMETERS_LEN as u32).to_ne_bytes());
    bytes[4..8].copy_from_slice(&(WITH_BASIC | WITH_DISCARD).to_ne_bytes());
    bytes[8..12].copy_from_slice(&basic.to_ne_bytes());
    bytes[12..16].copy_from_slice(&[sector.ilog2() as u8, page, page, page]);
    bytes[16..20].copy_from_slice(&(buffer_len / 512).to_ne_bytes());
    bytes[24..32].copy_from_slice(&sectors.to_ne_bytes());
    bytes[44..48].copy_from_slice(&PAGE.to_ne_bytes());
    bytes[48..52].copy_from_slice(&if rights.discards { MOST_DISCARDED } else { 0 }.to_ne_bytes());
    bytes[52..56].copy_from_slice(&MOST_ZEROED.to_ne_bytes());
    bytes[56..58].copy_from_slice(&u16::from(rights.discards).to_ne_bytes());
    bytes
}

/// The minimum request size: as with dm-crypt, a sector of the volume's encryption.
fn logical_sector(storage: &dyn Storage) -> u64 {
    let unit = storage.unit();
    if unit.is_power_of_two() { unit.clamp(512, u64::from(PAGE)) } else { 512 }
}

/// A request, as described by its descriptor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Request {
    pub(super) operation: Operation,
    /// Whether the data must be on stable storage before the request is answered.
    pub(super) fua: bool,
    /// Whether zeros must stay allocated on the device.
    pub(super) keep_allocated: bool,
    /// In bytes.
    pub(super) offset: u64,
    /// In bytes.
    pub(super) len: u64,
}

/// The operation of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Operation {
    Read,
    Write,
    Flush,
    Discard,
    WriteZeroes,
    /// An operation for zoned devices; this device is not one.
    Other,
}

impl Request {
    /// `ublksrv_io_desc`.
    pub(super) fn from_bytes(descriptor: &[u8; DESCRIPTOR_LEN]) -> Self {
        let word = u32::from_ne_bytes(part(descriptor, 0));
        let sectors = u64::from(u32::from_ne_bytes(part(descriptor, 4)));
        let start = u64::from_ne_bytes(part(descriptor, 8));
        let operation = match word & 0xff {
            0 => Operation::Read,
            1 => Operation::Write,
            2 => Operation::Flush,
            3 => Operation::Discard,
            5 => Operation::WriteZeroes,
            _ => Operation::Other,
        };
        let (fua, keep_allocated) = (word & (1 << 13) != 0, word & (1 << 15) != 0);
        Self { operation, fua, keep_allocated, offset: start.saturating_mul(512), len: sectors * 512 }
    }
}

fn part<const N: usize>(bytes: &[u8], at: usize) -> [u8; N] {
    std::array::from_fn(|i| bytes[at + i])
}

/// `_IOC` from include/uapi/asm-generic/ioctl.h, with type 'u'.
const fn ioctl(direction: u32, number: u32, size: usize) -> u32 {
    direction << 30 | (size as u32) << 16 | (b'u' as u32) << 8 | number
}

const READ: u32 = 2;
const READ_WRITE: u32 = 3;

pub(super) const CONTROL_LEN: usize = 32;
pub(super) const INFO_LEN: usize = 64;
pub(super) const IO_LEN: usize = 16;
pub(super) const DESCRIPTOR_LEN: usize = 24;
const PARAMETERS_LEN: usize = 60;

/// The command concerns the device, not one of its queues.
const NO_QUEUE: u16 = u16::MAX;
/// Any free device number.
pub(super) const ANY_DEVICE: u32 = u32::MAX;
/// The maximum number of tags of a queue, which is the distance between the descriptors of two
/// queues.
pub(super) const MOST_TAGS: usize = 4096;
/// The result of a command whose device is being stopped: `-ENODEV`.
pub(super) const ABORTED: i32 = -19;

const STATE_DEAD: u16 = 0;
/// Ignored for root.
pub(super) const FLAG_UNPRIVILEGED: u64 = 1 << 5;
pub(super) const FLAG_IOCTL_ENCODE: u64 = 1 << 6;

const ATTRIBUTE_READ_ONLY: u32 = 1 << 0;
const ATTRIBUTE_VOLATILE_CACHE: u32 = 1 << 2;
const ATTRIBUTE_FUA: u32 = 1 << 3;
const WITH_BASIC: u32 = 1 << 0;
const WITH_DISCARD: u32 = 1 << 1;

const PAGE: u32 = 4096;
/// 1 GiB, in sectors: a hole costs the storage little.
const MOST_DISCARDED: u32 = 1 << 21;
/// 16 MiB, in sectors: they are encrypted and written.
const MOST_ZEROED: u32 = 1 << 15;

#[cfg(test)]
mod tests {
    use super::*;
    use keyway_volume::device::storage::Memory;

    #[test]
    fn opcodes_are_the_headers() {
        assert_eq!(Control::AddDevice.opcode(), 0xc020_7504);
        assert_eq!(Control::DeviceInfo.opcode(), 0x8020_7512);
        assert_eq!(COMMIT_AND_FETCH, 0xc010_7521);
    }

    #[test]
    fn a_device_is_read_as_it_is_written() {
        let info =
            DeviceInfo { queues: 2, depth: 64, buffer_len: 1 << 19, id: 7, flags: 96, live: false, pid: 5 };
        assert_eq!(DeviceInfo::from_bytes(&info.to_bytes()), info);
        assert!(info.is_unprivileged());
    }

    #[test]
    fn a_descriptor_is_taken_apart() {
        let mut bytes = [0; DESCRIPTOR_LEN];
        bytes[0..4].copy_from_slice(&(1u32 | 1 << 13).to_ne_bytes());
        bytes[4..8].copy_from_slice(&8u32.to_ne_bytes());
        bytes[8..16].copy_from_slice(&16u64.to_ne_bytes());
        let request = Request::from_bytes(&bytes);
        let expected = (Operation::Write, true, false, 8192, 4096);
        let found = (request.operation, request.fua, request.keep_allocated, request.offset, request.len);
        assert_eq!(found, expected);
    }

    #[test]
    fn a_disk_ends_with_its_last_whole_sector() {
        let parameters =
            parameters(&Memory::zeroed(1536 + 100), Rights { read_only: false, discards: true }, 65536);
        assert_eq!(u64::from_ne_bytes(part(&parameters, 24)), 3);
        assert_eq!(parameters[12], 9);
        assert_eq!(u32::from_ne_bytes(part(&parameters, 16)), 128);
    }
}
