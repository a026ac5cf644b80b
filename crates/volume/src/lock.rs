//! Locks that cryptsetup honours, so that both can work on one device at the same time.
//!
//! Regular files are locked by `flock` on the file itself; block devices through `/run/cryptsetup/L_major:minor` where
//! that directory exists, otherwise by `flock` on the device. Readers share, writers exclude.

use std::time::Duration;

/// Whether and how long to wait for the header's lock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Locking {
    /// Take the lock, waiting at most this long for its holder.
    Wait(Duration),
    /// Take no lock at all (`--disable-locks`): recovery of a damaged copy is then off, as in cryptsetup.
    Disabled,
}

impl Default for Locking {
    fn default() -> Self {
        Self::Wait(Duration::from_secs(10))
    }
}
