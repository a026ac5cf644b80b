//! Files and loop devices that go when a test ends.

use super::super::*;
use crate::device::storage::File;
use std::process::Command;

/// A file of 1 MiB, removed on drop.
pub(super) struct Image(pub(super) PathBuf);

impl Image {
    pub(super) fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("keyway-{name}-{}", std::process::id()));
        std::fs::write(&path, vec![7; 1 << 20]).unwrap();
        Self(path)
    }

    pub(super) fn open(&self) -> File {
        File::open_rw(&self.0).unwrap()
    }
}

impl Drop for Image {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

/// A loop device, detached on drop.
pub(super) struct Attached(pub(super) PathBuf);

impl Attached {
    /// `None`, with a message, where this user cannot create one.
    pub(super) fn over(path: &Path) -> Option<Self> {
        let found = Command::new("losetup").args(["--find", "--show"]).arg(path).output().ok();
        match found.filter(|output| output.status.success()) {
            Some(output) => Some(Self(String::from_utf8(output.stdout).unwrap().trim().into())),
            None => {
                eprintln!("left out: this user has no loop devices");
                None
            }
        }
    }

    pub(super) fn open(&self) -> File {
        File::open_rw(&self.0).unwrap()
    }

    /// Claims it as a mount would.
    pub(super) fn claim(&self) -> nix::Result<OwnedFd> {
        open(&self.0, CLAIM, Mode::empty())
    }
}

impl Drop for Attached {
    fn drop(&mut self) {
        let _ = Command::new("losetup").arg("--detach").arg(&self.0).output();
    }
}
