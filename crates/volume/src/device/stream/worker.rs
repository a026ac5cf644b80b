//! The loop of every worker: claim, read, write, until nothing is left or something fails.

use super::claims::{Claims, Content, Step};
use super::turns::Turns;
use super::{Failure, Holes, Meter, Moved, Options, Sink, Source};
use crate::Storage;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;

/// The state that the workers share.
pub(super) struct Work<'a> {
    claims: Mutex<Claims<'a>>,
    source: Option<&'a dyn Storage>,
    /// Where the source's range starts.
    origin: u64,
    target: Target<'a>,
    /// The last chunk is filled up with zeros to a multiple of this.
    pad: usize,
    chunk: usize,
    failure: Mutex<Option<Failure>>,
    broken: AtomicBool,
    meter: &'a Meter,
}

enum Target<'a> {
    Storage(&'a dyn Storage, u64),
    Turns(Turns<'a>),
}

impl<'a> Work<'a> {
    pub(super) fn new(source: Source<'a>, sink: Sink<'a>, options: &Options, meter: &'a Meter) -> Self {
        let (from, origin) = match &source {
            Source::Storage(storage, range) => (Some(*storage), range.start),
            Source::Pipe(_) => (None, 0),
        };
        let sink_unit = match &sink {
            Sink::Storage(storage, _) => storage.unit(),
            Sink::Pipe(_) => 1,
        };
        // Chunk boundaries are sector boundaries of the side that has sectors.
        let from_unit = from.map_or(1, |s| s.unit());
        let (target, unit, phase, holes) = match sink {
            Sink::Storage(storage, at) if sink_unit > 1 => {
                (Target::Storage(storage, at), sink_unit, at, options.holes)
            }
            Sink::Storage(storage, at) => (Target::Storage(storage, at), from_unit, origin, options.holes),
            Sink::Pipe(pipe) => (Target::Turns(Turns::new(pipe)), from_unit, origin, Holes::Fill),
        };
        let pad = if options.pad { sink_unit } else { 1 };
        let options = Options { holes, ..options.clone() };
        Self {
            claims: Mutex::new(Claims::new(source, unit, phase, pad, &options)),
            source: from,
            origin,
            target,
            pad: pad as usize,
            chunk: options.chunk,
            failure: Mutex::new(None),
            broken: AtomicBool::new(false),
            meter,
        }
    }

    pub(super) fn run(self, threads: usize) -> Result<Moved, Failure> {
        thread::scope(|scope| {
            for _ in 1..threads {
                // If a thread cannot be started, the others do its share.
                let _ = thread::Builder::new().spawn_scoped(scope, || self.work());
            }
            self.work();
        });
        match self.failure.into_inner().unwrap_or_else(PoisonError::into_inner) {
            Some(failure) => Err(failure),
            None => Ok(self.claims.into_inner().unwrap_or_else(PoisonError::into_inner).moved()),
        }
    }

    /// Runs one worker.
    fn work(&self) {
        let _wake = WakeOnPanic(self);
        let mut buf = vec![0; self.chunk + self.pad];
        while !self.broken.load(Ordering::Relaxed) {
            match self.chunk(&mut buf) {
                Ok(true) => {}
                Ok(false) => return,
                Err(failure) => return self.fail(failure),
            }
        }
    }

    /// Transfers one chunk; false when there are no more.
    fn chunk(&self, buf: &mut [u8]) -> Result<bool, Failure> {
        if self.meter.is_stopped() {
            return Err(Failure::Stopped);
        }
        let claimed = {
            let mut claims = self.claims.lock().unwrap_or_else(PoisonError::into_inner);
            claims.next(&mut buf[..self.chunk], self.meter)?
        };
        let Some(step) = claimed else { return Ok(false) };
        let (filled, padded) = (step.content.filled(step.len), step.len.next_multiple_of(self.pad));
        if let (Content::Stored, Some(source)) = (step.content, self.source) {
            let at = self.origin + step.at;
            source.read_at(&mut buf[..step.len], at).map_err(|source| Failure::Read { at, source })?;
        }
        let buf = &mut buf[..padded];
        buf[filled..].fill(0);
        self.write(&step, buf)?;
        self.meter.add(step.len as u64);
        Ok(true)
    }

    fn write(&self, step: &Step, buf: &mut [u8]) -> Result<(), Failure> {
        let (at, written) = match &self.target {
            Target::Storage(storage, base) => (base + step.at, storage.write_from(buf, base + step.at)),
            Target::Turns(turns) => (step.at, turns.write(step.ticket, buf, &self.broken)),
        };
        written.map_err(|source| Failure::Write { at, source })
    }

    fn fail(&self, failure: Failure) {
        self.failure.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(failure);
        self.abandon();
    }

    /// Makes the other workers stop, including those that wait for their turn.
    fn abandon(&self) {
        self.broken.store(true, Ordering::Relaxed);
        if let Target::Turns(turns) = &self.target {
            turns.wake();
        }
    }
}

/// Makes sure that a worker that panics does not leave others waiting for its turn.
struct WakeOnPanic<'w, 'a>(&'w Work<'a>);

impl Drop for WakeOnPanic<'_, '_> {
    fn drop(&mut self) {
        if thread::panicking() {
            self.0.abandon();
        }
    }
}
