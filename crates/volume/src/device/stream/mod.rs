//! Transfers whole volumes in one pass: every core claims the next chunk, reads it into its own
//! buffer, and writes it.
//!
//! ```text
//!   Source ── claim (in order) ──► worker: read ► decrypt ─ or ─ encrypt ► write ──► Sink
//!             holes are stepped over      one cache-sized buffer a worker           at its offset, or in turn
//! ```
//!
//! The storage at either end processes the bytes: a [`Volume`](crate::Volume) decrypts data that is
//! read from it and encrypts data that is written to it, in the worker's buffer. Memory use is the
//! number of workers times [`Options::chunk`], whatever the length. A pipe at either end is read or
//! written in order, without a copy in between.

mod claims;
mod turns;
mod worker;

use crate::Storage;
use crate::device::spread::cores;
use keyway_crypto::Stop;
use std::fmt;
use std::io::{self, Read, Write};
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use worker::Work;

/// Where bytes come from.
pub enum Source<'a> {
    /// A range of a storage. The part beyond its end reads as a hole.
    Storage(&'a dyn Storage, Range<u64>),
    /// A pipe, to its end.
    Pipe(&'a mut (dyn Read + Send)),
}

/// Where bytes go.
pub enum Sink<'a> {
    /// A storage, from this offset on.
    Storage(&'a dyn Storage, u64),
    /// A pipe, in order. It has no holes: they are written as zeros.
    Pipe(&'a mut (dyn Write + Send)),
}

/// What to do with holes of the source: ranges that were never written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Holes {
    /// Skip them and leave the sink there unchanged.
    Keep,
    /// Read and write them like everything else.
    Fill,
}

/// How to transfer.
#[derive(Debug, Clone)]
pub struct Options {
    /// What to do with holes of the source.
    pub holes: Holes,
    /// Maximum number of bytes a pipe may deliver; more is [`Failure::TooLong`].
    pub limit: Option<u64>,
    /// Fill up with zeros (or, when holes are kept, with a hole) to this length.
    pub extend_to: u64,
    /// Extend this far beyond the source's end, in the same way.
    pub headroom: u64,
    /// The sink is new: a sector that the source fills in part is padded with zeros, instead of
    /// keeping the previous bytes.
    pub pad: bool,
    /// Number of bytes a worker handles at a time.
    pub chunk: usize,
    /// Number of workers.
    pub threads: usize,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            holes: Holes::Fill,
            limit: None,
            extend_to: 0,
            headroom: 0,
            pad: false,
            chunk: CHUNK,
            threads: cores(),
        }
    }
}

/// The progress of the work; other threads can read it and stop the work. Clones are the same
/// meter.
#[derive(Debug, Clone, Default)]
pub struct Meter {
    done: Arc<AtomicU64>,
    stop: Arc<Stop>,
}

impl Meter {
    /// A new meter with nothing done yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// A meter that counts in `done` and that `stop` stops, like a key derivation.
    pub fn over(done: Arc<AtomicU64>, stop: Arc<Stop>) -> Self {
        Self { done, stop }
    }

    /// Bytes of the source processed so far, including holes.
    pub fn done(&self) -> u64 {
        self.done.load(Ordering::Relaxed)
    }

    /// Stops the work after the current chunks, with [`Failure::Stopped`].
    pub fn stop(&self) {
        self.stop.stop();
    }

    /// Counts bytes that were processed.
    pub fn add(&self, bytes: u64) {
        self.done.fetch_add(bytes, Ordering::Relaxed);
    }

    pub(crate) fn is_stopped(&self) -> bool {
        self.stop.is_stopped()
    }
}

/// The result of a transfer, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Moved {
    /// From the first byte to the last, including the extension, before rounding up to the sink's
    /// unit.
    pub length: u64,
    /// The part of it that was holes, left unwritten.
    pub holes: u64,
}

/// Why the work ended early. Bytes written until then stay written.
#[derive(Debug)]
#[non_exhaustive]
#[allow(missing_docs)]
pub enum Failure {
    /// Reading the source failed at this byte.
    Read { at: u64, source: io::Error },
    /// Writing the sink failed at this byte.
    Write { at: u64, source: io::Error },
    /// The pipe delivered more than [`Options::limit`].
    TooLong { limit: u64 },
    /// [`Meter::stop`] was called.
    Stopped,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Read { at, source } => write!(f, "reading at byte {at}: {source}"),
            Self::Write { at, source } => write!(f, "writing at byte {at}: {source}"),
            Self::TooLong { limit } => write!(f, "the input is longer than {limit} bytes"),
            Self::Stopped => f.write_str("stopped"),
        }
    }
}

impl std::error::Error for Failure {}

/// Transfers everything from `source` to `sink`.
///
/// # Errors
/// The first [`Failure`] of any worker.
#[expect(clippy::needless_match, reason = "taken apart and put together, the borrows may end with this call")]
pub fn transfer(
    source: Source<'_>,
    sink: Sink<'_>,
    options: &Options,
    meter: &Meter,
) -> Result<Moved, Failure> {
    let source = match source {
        Source::Storage(storage, range) => Source::Storage(storage, range),
        Source::Pipe(pipe) => Source::Pipe(pipe),
    };
    let sink = match sink {
        Sink::Storage(storage, at) => Sink::Storage(storage, at),
        Sink::Pipe(pipe) => Sink::Pipe(pipe),
    };
    Work::new(source, sink, options, meter).run(options.threads.max(1))
}

/// Small enough to stay in a core's second-level cache between read and write.
const CHUNK: usize = 512 << 10;

#[cfg(test)]
mod tests;
