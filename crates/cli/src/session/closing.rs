//! Closing what is still in use: by programs that were told to end and have not yet written
//! everything, as fuse2fs after its file system was unmounted.

use super::{Close, Session, registry};
use crate::say::failure::{Exit, Failure, Result};
use keyway_attach::fuse;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

impl Session {
    /// The directory that its FUSE door is mounted on.
    pub(crate) fn mount_point(&self) -> Option<&Path> {
        Path::new(&self.facts.place).parent().filter(|_| self.facts.door == "fuse")
    }

    /// Whether it is mounted there, or its file is there.
    pub(crate) fn is_at(&self, place: &Path) -> bool {
        self.mount_point().is_some_and(|mount| mount == place || Path::new(&self.facts.place) == place)
    }

    /// Closes it as soon as those are done who use its file, if that is within `limit`. Returns
    /// when its process has ended, with what there is to say about it.
    pub(crate) fn close_when_unused(&self, limit: Duration) -> Result<String> {
        let Some(mount) = self.mount_point() else { return self.close(Close::Now) };
        patiently(mount, limit, || match self.close(Close::Now) {
            // Somebody else has closed it meanwhile.
            Err(failure) if failure.exit() != Exit::Busy && registry::find(&self.facts.name).is_none() => {
                Ok(String::new())
            }
            closed => closed,
        })
    }
}

/// Tries until what is mounted at `mount` is not busy any more, or `limit`
/// is over; says who uses it when that takes long.
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

/// Before it is said who is waited for.
const SILENCE: Duration = Duration::from_secs(3);
const POLL: Duration = Duration::from_millis(50);
