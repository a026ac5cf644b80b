//! Closing a session that is still in use: by a program that was told to end but has not written
//! everything yet, such as fuse2fs after its file system was unmounted.

use super::Session;
use super::error::{Error, Result};
use super::life::Close;
use super::registry::Registry;
use crate::fuse;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

impl Session {
    /// The directory that the session's FUSE front end is mounted on.
    pub fn mount_point(&self) -> Option<&Path> {
        Path::new(&self.facts.place).parent().filter(|_| self.facts.backend == "fuse")
    }

    /// Whether the session is mounted at `place`, or its file is there.
    pub fn is_at(&self, place: &Path) -> bool {
        self.mount_point().is_some_and(|mount| mount == place || Path::new(&self.facts.place) == place)
    }

    /// Closes the session as soon as its file is no longer in use, waiting at most `limit`. Returns
    /// when its process has ended, with the message to show.
    ///
    /// # Errors
    /// [`Error::StillUsed`], and those of [`Session::close`].
    pub fn close_when_unused(
        &self,
        registry: Registry,
        limit: Duration,
        waits: impl FnOnce(&Waiting),
    ) -> Result<String> {
        let Some(mount) = self.mount_point() else { return self.close(Close::Now) };
        retry_while_busy(mount, limit, waits, || match self.close(Close::Now) {
            // Another process has closed it in the meantime.
            Err(error) if !error.is_busy() && registry.find(&self.facts.name).is_none() => Ok(String::new()),
            closed => closed,
        })
    }
}

/// What is waited for.
#[derive(Debug)]
pub struct Waiting<'a> {
    /// What is mounted here.
    pub mount: &'a Path,
    /// Its users, as far as they are visible.
    pub users: Vec<String>,
    /// The longest time to wait.
    pub limit: Duration,
}

/// Tries `attempt` until what is mounted at `mount` is no longer busy, or `limit` has passed. If
/// that takes long, calls `waits`, once.
///
/// # Errors
/// Those of `attempt`; the last one is in an [`Error::StillUsed`] if users are known.
pub fn retry_while_busy<T>(
    mount: &Path,
    limit: Duration,
    waits: impl FnOnce(&Waiting),
    mut attempt: impl FnMut() -> Result<T>,
) -> Result<T> {
    let begun = Instant::now();
    let mut waits = Some(waits);
    loop {
        let error = match attempt() {
            Err(error) if error.is_busy() => error,
            done => return done,
        };
        if begun.elapsed() >= limit {
            let users = fuse::users(mount);
            return Err(match users.is_empty() {
                true => error,
                false => Error::StillUsed { error: Box::new(error), users },
            });
        }
        if begun.elapsed() >= SILENCE
            && let Some(waits) = waits.take()
        {
            waits(&Waiting { mount, users: fuse::users(mount), limit });
        }
        thread::sleep(POLL);
    }
}

/// Waits until `is_over`, as [`retry_while_busy`] does.
///
/// # Errors
/// [`Error::StillUsed`], or that the mount is busy.
pub fn wait_until(
    mount: &Path,
    limit: Duration,
    waits: impl FnOnce(&Waiting),
    is_over: impl Fn() -> bool,
) -> Result<()> {
    let busy = || Error::FrontEnd(crate::Error::Busy(format!("{} is still in use", mount.display())));
    retry_while_busy(mount, limit, waits, || if is_over() { Ok(()) } else { Err(busy()) })
}

/// How long to wait before saying which programs are waited for.
const SILENCE: Duration = Duration::from_secs(3);
const POLL: Duration = Duration::from_millis(50);
