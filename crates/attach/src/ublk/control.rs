//! Commands to /dev/ublk-control, and the meaning of their errors.

use super::protocol::{ANY_DEVICE, Control, DeviceInfo, FLAG_IOCTL_ENCODE, FLAG_UNPRIVILEGED, INFO_LEN};
use super::sys::ControlRing;
use crate::{Error, Result};
use std::fs::File;
use std::io::{self, ErrorKind};

/// The control device.
pub(super) struct ControlDevice {
    file: File,
    ring: ControlRing,
}

impl ControlDevice {
    /// Opens the device, or names what is missing.
    pub(super) fn open() -> Result<Self> {
        let file = File::options().read(true).write(true).open(PATH).map_err(cannot_open)?;
        let ring = ControlRing::new().map_err(no_ring)?;
        Ok(Self { file, ring })
    }

    /// Adds a device with any free number; [`ControlDevice::start`] gives it a disk.
    pub(super) fn add(&mut self, queues: u16, depth: u16, buffer_len: u32) -> Result<DeviceInfo> {
        let flags = FLAG_IOCTL_ENCODE | FLAG_UNPRIVILEGED;
        let wanted = DeviceInfo { queues, depth, buffer_len, id: ANY_DEVICE, flags, live: false, pid: 0 };
        let mut info = wanted.to_bytes();
        self.ring.command(&self.file, Control::AddDevice, ANY_DEVICE, &mut info, 0, 0).map_err(cannot_add)?;
        Ok(DeviceInfo::from_bytes(&info))
    }

    /// Sets the disk's parameters.
    pub(super) fn set_parameters(&mut self, device: &DeviceInfo, parameters: &[u8]) -> Result<()> {
        self.command(Control::SetParameters, device, parameters, 0, "describing")
    }

    /// Makes the disk appear. The queues must be served already, because the kernel reads from the
    /// disk.
    pub(super) fn start(&mut self, device: &DeviceInfo) -> Result<()> {
        self.command(Control::StartDevice, device, &[], u64::from(std::process::id()), "starting")
    }

    /// Makes the disk disappear; pending requests in its queues are aborted.
    pub(super) fn stop(&mut self, device: &DeviceInfo) -> Result<()> {
        self.command(Control::StopDevice, device, &[], 0, "stopping")
    }

    /// Removes a stopped device. Its number stays busy while anybody has it open; this is not
    /// waited for if the kernel supports that.
    pub(super) fn delete(&mut self, device: &DeviceInfo) -> Result<()> {
        if !device.is_unprivileged()
            && self.command(Control::DeleteDeviceLater, device, &[], 0, "removing").is_ok()
        {
            return Ok(());
        }
        self.command(Control::DeleteDevice, device, &[], 0, "removing")
    }

    /// Information about device `id`; `None` if there is none.
    pub(super) fn info(&mut self, id: u32) -> Result<Option<DeviceInfo>> {
        let path = device_path(id);
        let mut buffer = path.clone();
        buffer.resize(path.len() + INFO_LEN, 0);
        match self.ring.command(&self.file, Control::DeviceInfo, id, &mut buffer, 0, path.len()) {
            Ok(()) => {
                let info: [u8; INFO_LEN] = std::array::from_fn(|i| buffer[path.len() + i]);
                Ok(Some(DeviceInfo::from_bytes(&info)))
            }
            Err(e) if e.kind() == ErrorKind::NotFound || e.raw_os_error() == Some(NO_DEVICE) => Ok(None),
            Err(source) => Err(Error::Io { what: format!("asking for ublk device {id}"), source }),
        }
    }

    /// The owner of an unprivileged device proves access to it by passing its path first.
    fn command(
        &mut self,
        command: Control,
        device: &DeviceInfo,
        payload: &[u8],
        data: u64,
        doing: &str,
    ) -> Result<()> {
        let path = if device.is_unprivileged() { device_path(device.id) } else { Vec::new() };
        let mut buffer = path.clone();
        buffer.extend_from_slice(payload);
        let done = self.ring.command(&self.file, command, device.id, &mut buffer, data, path.len());
        done.map_err(|source| Error::Io { what: format!("{doing} ublk device {}", device.id), source })
    }
}

/// The character device's path, with the terminating NUL.
fn device_path(id: u32) -> Vec<u8> {
    format!("/dev/ublkc{id}\0").into_bytes()
}

fn cannot_open(why: io::Error) -> Error {
    match why.kind() {
        ErrorKind::NotFound => Error::Unavailable(format!(
            "this kernel offers no user-space block devices ({PATH} is missing): load its module with \
             \"modprobe ublk_drv\"; it comes with Linux 6.0 and later, Debian 12 with the 6.12 kernel of its \
             security archive"
        )),
        ErrorKind::PermissionDenied => Error::Permission(format!(
            "this user cannot use {PATH}: be root, or give the device to the user with a udev rule"
        )),
        _ => Error::Io { what: format!("opening {PATH}"), source: why },
    }
}

fn no_ring(why: io::Error) -> Error {
    match why.kind() {
        ErrorKind::PermissionDenied | ErrorKind::Unsupported => Error::Unavailable(
            "io_uring is switched off here (sysctl kernel.io_uring_disabled, or a container's rules), and ublk needs it"
                .into(),
        ),
        _ => Error::Io { what: "setting io_uring up".into(), source: why },
    }
}

fn cannot_add(why: io::Error) -> Error {
    match why.kind() {
        ErrorKind::Unsupported | ErrorKind::InvalidInput => {
            Error::Unavailable("this kernel's ublk_drv is too old: Linux 6.4 or later is needed".into())
        }
        ErrorKind::PermissionDenied => Error::Permission(
            "this user cannot add a ublk device: ublk_drv's parameter ublks_max allows no more".into(),
        ),
        _ => Error::Io { what: "adding a ublk device".into(), source: why },
    }
}

const PATH: &str = "/dev/ublk-control";
/// `ENODEV`
const NO_DEVICE: i32 = 19;
