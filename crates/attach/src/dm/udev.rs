//! Waiting for udev's rules, with libdevmapper's protocol.
//!
//! The kernel passes the number that came with the ioctl on to udev (`DM_COOKIE`). Its lower half
//! is the key of a System V semaphore, and its upper half says what the rules must skip. The last
//! of device-mapper's rules (`95-dm-notify.rules`) runs `dmsetup udevcomplete DM_COOKIE`, which
//! decrements the semaphore. Until then the links below `/dev` may be missing. Source:
//! libdm/libdm-common.c (dm_task_set_cookie, dm_udev_wait), libdm/libdevmapper.h.

use super::sys::Semaphore;
use crate::{Error, Result};
use rustix::io::Errno;
use std::path::Path;
use std::time::Duration;

/// Whether udev is running here with the rules that make device-mapper's links and notify on
/// completion.
pub(super) fn runs() -> bool {
    Path::new("/run/udev/control").exists()
        && RULES.iter().any(|directory| Path::new(directory).join("95-dm-notify.rules").exists())
}

/// What to wait for after a call that involves udev.
pub(super) struct Cookie {
    semaphore: Option<Semaphore>,
    number: u32,
}

impl Cookie {
    /// A cookie to wait for. `private`: udev makes the mapping's node and does nothing else.
    pub(super) fn new(private: bool) -> Result<Self> {
        for _ in 0..TRIES {
            let mut half = [0; 2];
            getrandom::fill(&mut half).map_err(|error| Error::Io {
                what: "asking for a random number".into(),
                source: error.into(),
            })?;
            // 0 would mean that nobody is waiting.
            let half = u32::from(u16::from_ne_bytes(half).max(1));
            match Semaphore::new((MAGIC << 16 | half) as i32, 1) {
                Err(Errno::EXIST) => {}
                Ok(semaphore) => {
                    return Ok(Self { semaphore: Some(semaphore), number: flags(private) << 16 | half });
                }
                // No semaphores (ENOSYS, ENOSPC): the links appear all the same, a moment later.
                Err(_) => break,
            }
        }
        Ok(Self::none(private))
    }

    /// A cookie that nobody waits for.
    pub(super) fn none(private: bool) -> Self {
        Self { semaphore: None, number: flags(private) << 16 }
    }

    /// The number passed with the ioctl.
    pub(super) fn number(&self) -> u32 {
        self.number
    }

    /// Returns when the rules have run, if the kernel notified udev at all. A udev that hangs is
    /// not waited for indefinitely.
    pub(super) fn wait(self, told: bool) {
        if let Some(semaphore) = self.semaphore.filter(|_| told) {
            while semaphore.wait_for_zero(LIMIT) == Err(Errno::INTR) {}
        }
    }
}

fn flags(private: bool) -> u32 {
    let private =
        if private { DISABLE_SUBSYSTEM_RULES | DISABLE_DISK_RULES | DISABLE_OTHER_RULES } else { 0 };
    PRIMARY_SOURCE | DISABLE_LIBRARY_FALLBACK | private
}

/// `DM_COOKIE_MAGIC`.
const MAGIC: u32 = 0x0d4d;

/// `DM_UDEV_…_FLAG`.
const DISABLE_SUBSYSTEM_RULES: u32 = 0x02;
const DISABLE_DISK_RULES: u32 = 0x04;
const DISABLE_OTHER_RULES: u32 = 0x08;
const DISABLE_LIBRARY_FALLBACK: u32 = 0x20;
const PRIMARY_SOURCE: u32 = 0x40;

const RULES: [&str; 4] =
    ["/usr/lib/udev/rules.d", "/lib/udev/rules.d", "/etc/udev/rules.d", "/run/udev/rules.d"];
const TRIES: u32 = 100;
/// The default time limit that udev gives to a program run by a rule.
const LIMIT: Duration = Duration::from_secs(180);
