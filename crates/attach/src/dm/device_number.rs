//! Device numbers, as the kernel encodes them (include/linux/kdev_t.h, "huge" encoding) and as they
//! are written in table lines (`MAJOR:MINOR`).

use crate::{Error, Refusal, Result};
use rustix::fs::{FileType, major, makedev, minor, stat};
use std::fmt;
use std::path::Path;
use std::str::FromStr;

/// A block device's number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct DeviceNumber {
    /// The major number: which driver.
    pub major: u32,
    /// The minor number: which of the driver's devices.
    pub minor: u32,
}

impl DeviceNumber {
    /// The number of the block device at `path`.
    ///
    /// # Errors
    /// If there is not a block device at `path`.
    pub fn at(path: &Path) -> Result<Self> {
        let what = || format!("looking at {}", path.display());
        let status = stat(path).map_err(|error| Error::Io { what: what(), source: error.into() })?;
        if FileType::from_raw_mode(status.st_mode) != FileType::BlockDevice {
            return Err(Refusal::NotMappable.because(format!("{} is not a block device", path.display())));
        }
        Ok(Self::from_dev(status.st_rdev))
    }

    /// Converts from `st_rdev`.
    pub fn from_dev(dev: u64) -> Self {
        Self { major: major(dev), minor: minor(dev) }
    }

    /// Converts to `st_rdev`.
    pub(crate) fn to_dev(self) -> u64 {
        makedev(self.major, self.minor)
    }

    /// Converts from the kernel's encoding: major in bits 8–19, minor in bits 0–7 and 20–31.
    pub(super) fn from_huge(number: u64) -> Self {
        let major = (number & 0xf_ff00) >> 8;
        let minor = (number & 0xff) | ((number >> 12) & 0xf_ff00);
        Self { major: major as u32, minor: minor as u32 }
    }

    /// Converts to the kernel's encoding.
    pub(super) fn to_huge(self) -> u64 {
        let (major, minor) = (u64::from(self.major), u64::from(self.minor));
        (minor & 0xff) | (major << 8) | ((minor & !0xff) << 12)
    }

    /// The kernel's name for the device (`sda1`, `dm-0`, `loop3`), as found in `/dev` and
    /// `/sys/class/block`.
    pub fn kernel_name(self) -> Option<String> {
        let link = std::fs::read_link(format!("/sys/dev/block/{self}")).ok()?;
        Some(link.file_name()?.to_str()?.to_owned())
    }

    /// Whether another block device is stacked on top of it.
    pub fn has_holders(self) -> bool {
        let holders = std::fs::read_dir(format!("/sys/dev/block/{self}/holders"));
        holders.is_ok_and(|mut holders| holders.next().is_some())
    }

    /// The block devices that are stacked on top of it.
    pub fn holders(self) -> Vec<Self> {
        let holders = std::fs::read_dir(format!("/sys/dev/block/{self}/holders"));
        let number = |holder: std::fs::DirEntry| {
            std::fs::read_to_string(holder.path().join("dev")).ok()?.trim().parse().ok()
        };
        holders.into_iter().flatten().flatten().filter_map(number).collect()
    }
}

impl fmt::Display for DeviceNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.major, self.minor)
    }
}

impl FromStr for DeviceNumber {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let parsed = text
            .split_once(':')
            .and_then(|(major, minor)| Some(Self { major: major.parse().ok()?, minor: minor.parse().ok()? }));
        parsed.ok_or_else(|| {
            Refusal::DeviceNumber.because(format!("{text:?} is not a device number MAJOR:MINOR"))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernels_encoding_of_small_and_large_numbers() {
        for (major, minor, huge) in
            [(254, 3, 0xfe03), (8, 0x1_2345, 0x1230_0845), (0xfff, 0xf_ffff, 0xffff_ffff)]
        {
            let number = DeviceNumber { major, minor };
            assert_eq!(number.to_huge(), huge, "{number}");
            assert_eq!(DeviceNumber::from_huge(huge), number);
            assert_eq!(DeviceNumber::from_dev(number.to_dev()), number);
            assert_eq!(number.to_string().parse::<DeviceNumber>().unwrap(), number);
        }
    }

    #[test]
    fn other_text_is_no_number() {
        for text in ["", "254", "254:", ":3", "a:b", "254:-1", "/dev/sda"] {
            assert!(text.parse::<DeviceNumber>().is_err(), "{text}");
        }
    }
}
