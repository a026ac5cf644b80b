//! Key files and headers: in the image, on another device (`PATH:DEVICE`), which is mounted read-only while
//! the file is needed, or a device themselves.

use super::find::Below;
use super::mounting::{Mounted, mount_read_only};
use super::{erase, find};
use crate::output::failure::{Exit, Failure, Result};
use keyway_boot::device_spec::{is_device, parts};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// A file that can be read while this value exists.
pub(super) struct KeyFile {
    path: PathBuf,
    mounted: Option<Mounted>,
}

impl KeyFile {
    /// Makes the file reachable; waits for its device at most `limit`. A device alone is the file itself.
    pub(super) fn reach(named: &OsStr, limit: Duration, below: Below<'_>, what: &str) -> Result<Self> {
        let text = named.to_string_lossy();
        let node = |device: &str| {
            find::reach(device.as_ref(), limit, below)
                .map_err(|why| Failure::new(Exit::Device, format!("The {what}'s device {why}.")))
        };
        match parts(&text)[..] {
            [path, device] => {
                let mounted = mount_read_only(&node(device)?, what)?;
                let path = mounted.file(path).map_err(|why| {
                    Failure::new(Exit::Parameters, format!("The {what} {path} on {device}: {why}."))
                })?;
                Ok(Self { path, mounted: Some(mounted) })
            }
            [device] if is_device(device) => Ok(Self { path: node(device)?, mounted: None }),
            _ => Ok(Self { path: named.into(), mounted: None }),
        }
    }

    /// Erases it, as keyfile-erase asks; one on another device, which is mounted for reading only, stays.
    pub(super) fn erase(&self) {
        if let Err(why) = erase::erase(&self.path, self.mounted.is_none()) {
            say!("WARNING: {} is not erased: {why}.", self.path.display());
        }
    }

    /// Whether it is no file on another device.
    pub(super) fn mounted_nowhere(&self) -> bool {
        self.mounted.is_none()
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }
}
