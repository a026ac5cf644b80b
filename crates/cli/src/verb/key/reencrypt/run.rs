//! Runs a re-encryption to its end, or until somebody stops it.

use super::rate_limit::RateLimit;
use super::{Asked, Extent};
use crate::output::failure::{Exit, Failure, Result};
use crate::output::progress::{self, Progress};
use crate::output::stdio;
use crate::process::interrupt;
use keyway::Reencryption;
use std::fmt::Display;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

/// What goes on zone by zone.
pub(in crate::verb) trait Steps {
    /// Does the next part; whether it was the last.
    fn step(&mut self) -> Result<bool>;

    /// Bytes that are done, and of all.
    fn progress(&self) -> (u64, u64);
}

/// A re-encryption, with the command whose words its errors get.
struct Offline<'a>(Reencryption, &'a Asked);

impl Steps for Offline<'_> {
    fn step(&mut self) -> Result<bool> {
        self.0.step().map_err(|error| self.1.failed(error))
    }

    fn progress(&self) -> (u64, u64) {
        self.0.progress()
    }
}

impl Asked {
    /// Goes on to the end. A signal stops it where the data is whole.
    pub(super) fn go_on(&self, job: Reencryption) -> Result<()> {
        self.go_on_by(job, &self.again("--resume-only"))
    }

    /// The same, where this line goes on.
    pub(super) fn go_on_by(&self, job: Reencryption, line: &str) -> Result<()> {
        self.drive(Offline(job, self), line)
    }

    /// Says with `-v` that only the header was written.
    pub(super) fn note_prepared(&self, what: impl Display) -> Result<()> {
        stdio::verbose(self.target.manner, &format!("Reencryption of {what} is prepared."))
    }

    /// The same of whatever goes zone by zone.
    pub(super) fn drive(&self, job: impl Steps, line: &str) -> Result<()> {
        let (progress, device) = (self.progress, &self.target.device);
        if self.extent == Extent::Begin {
            return self.note_prepared(device.display());
        }
        match to_end(job, progress, device, self.limit_rate) {
            Ok(true) => {
                self.end_backup();
                Ok(())
            }
            Ok(false) => {
                let message = "Reencryption interrupted.";
                let way = format!("The data is intact. Resume with \"{line}\".");
                Err(Failure::new(Exit::Parameters, message).hinting(way))
            }
            Err(failure) => Err(failure.hinting(format!("Nothing is lost. Resume with \"{line}\"."))),
        }
    }
}

/// Takes steps until the last, and shows how far it is; whether that was done, or a signal stopped it
/// between two steps.
pub(in crate::verb) fn to_end(
    mut job: impl Steps,
    progress: Progress,
    device: &Path,
    limit_rate: Option<u64>,
) -> Result<bool> {
    let stopped = Arc::new(AtomicBool::new(false));
    let asked = Arc::clone(&stopped);
    let stopping = interrupt::stop_by(move |_| asked.store(true, Ordering::Relaxed));
    let (before, len) = job.progress();
    let done = progress::watch_from(before, progress, device, Some(len), |meter| {
        let mut told = before;
        let mut tell = |done: u64| {
            meter.add(done - told);
            told = done;
        };
        let (mut done, mut rate_limit) =
            (before, limit_rate.map(|rate| RateLimit::new(rate, Instant::now())));
        loop {
            if stopped.load(Ordering::Relaxed) {
                return Ok(false);
            }
            let is_last = job.step()?;
            let now = job.progress().0;
            tell(now);
            if is_last {
                return Ok(true);
            }
            if let Some(rate_limit) = &mut rate_limit {
                let wait = rate_limit.wait(now.saturating_sub(done), Instant::now());
                RateLimit::rest(wait, || stopped.load(Ordering::Relaxed));
            }
            done = now;
        }
    });
    drop(stopping);
    done
}
