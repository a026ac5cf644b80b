//! Closing a session that is still in use: by a program that was told to end but has not written
//! everything yet, such as fuse2fs after its file system was unmounted.

use super::{Close, Session, registry};
use crate::say::failure::{Exit, Failure, Result};
use keyway_attach::fuse;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

impl Session {
    /// The directory that the session's FUSE door is mounted on.
    pub(crate) fn mount_point(&self) -> Option<&Path> {
        Path::new(&self.facts.place).parent().filter(|_| self.facts.door == "fuse")
    }

    /// Whether the session is mounted at `place`, or its file is there.
    pub(crate) fn is_at(&self, place: &Path) -> bool {
        self.mount_point().is_some_and(|mount| mount == place || Path::new(&self.facts.place) == place)
    }

    /// Closes the session as soon as its file is no longer in use, waiting at most `limit`. Returns
    /// when its process has ended, with the message to show.
    pub(crate) fn close_when_unused(&self, limit: Duration) -> Result<String> {
        let Some(mount) = self.mount_point() else { return self.close(Close::Now) };
        patiently(mount, limit, || match self.close(Close::Now) {
            // Another process has closed it in the meantime.
            Err(failure) if failure.exit() != Exit::Busy && registry::find(&self.facts.name).is_none() => {
                Ok(String::new())
            }
            closed => closed,
        })
    }
}

/// Tries `work` until what is mounted at `mount` is no longer busy, or `limit` has passed. If that
/// takes long, says which programs use it.
pub(crate) fn patiently<T>(
    mount: &Path,
    limit: Duration,
    mut attempt: impl FnMut() -> Result<T>,
) -> Result<T> {
    let begun = Instant::now();
    let mut told = false;
    loop {
        let failure = match attempt() {
            Err(failure) if failure.exit() == Exit::Busy => failure,
            done => return done,
        };
        if begun.elapsed() >= limit {
            let users = fuse::users(mount).join(", ");
            return Err(if users.is_empty() {
                failure
            } else {
                failure.adding(&format!("It is used by {users}."))
            });
        }
        if !told && begun.elapsed() >= SILENCE {
            told = true;
            let (mount, limit) = (mount.display(), limit.as_secs());
            say!(
                "{mount} is still used by {}: waiting, {limit} s at most.",
                users(Path::new(&mount.to_string()))
            );
        }
        thread::sleep(POLL);
    }
}

/// Waits until `is_over`, as [`patiently`] does.
pub(crate) fn wait_until(mount: &Path, limit: Duration, is_over: impl Fn() -> bool) -> Result<()> {
    let busy = || Failure::new(Exit::Busy, format!("{} is still in use.", mount.display()));
    patiently(mount, limit, || if is_over() { Ok(()) } else { Err(busy()) })
}

fn users(mount: &Path) -> String {
    let found = fuse::users(mount);
    if found.is_empty() { "by whom cannot be seen".to_owned() } else { format!("by {}", found.join(", ")) }
}

/// How long to wait before saying which programs are waited for.
const SILENCE: Duration = Duration::from_secs(3);
const POLL: Duration = Duration::from_millis(50);
