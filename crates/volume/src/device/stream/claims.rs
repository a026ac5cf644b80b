//! Assigns chunks to workers: cuts the source into chunks, in order, and skips its holes.

use super::{Failure, Holes, Meter, Moved, Options, Source};
use crate::Storage;
use std::io::{self, Read};
use std::ops::Range;

/// Hands out chunks. All positions count from the start of the transferred range.
pub(super) struct Claims<'a> {
    input: Input<'a>,
    position: u64,
    /// The end of the last chunk.
    handed_out: u64,
    ticket: u64,
    holes: u64,
    keep_holes: bool,
    extend_to: u64,
    cut: Cut,
    /// The extension starts at the end of the source, rounded up to a multiple of this.
    pad: u64,
}

/// A chunk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Step {
    /// Its position in the order.
    pub(super) ticket: u64,
    pub(super) at: u64,
    pub(super) len: usize,
    pub(super) content: Content,
}

/// Where a chunk's bytes come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Content {
    /// The source; they still have to be read.
    Stored,
    /// The claimant's buffer; they were already read.
    Piped,
    /// Nowhere: the extension.
    Zeros,
}

impl Content {
    /// How many of a chunk's `len` bytes are not zeros.
    pub(super) fn filled(self, len: usize) -> usize {
        if self == Self::Zeros { 0 } else { len }
    }
}

enum Input<'a> {
    Storage {
        storage: &'a dyn Storage,
        origin: u64,
        /// The length to read; anything beyond it is a hole.
        len: u64,
        /// The last run of data that was found.
        data: Range<u64>,
    },
    Pipe {
        pipe: &'a mut (dyn Read + Send),
        limit: u64,
        headroom: u64,
        ended: bool,
    },
}

impl<'a> Claims<'a> {
    /// Chunks end at multiples of the options' chunk size plus `phase`, data at
    /// multiples of `unit` (or a page) plus `phase`.
    pub(super) fn new(source: Source<'a>, unit: u64, phase: u64, pad: u64, options: &Options) -> Self {
        let mut extend_to = options.extend_to;
        let input = match source {
            Source::Storage(storage, range) => {
                let asked = range.end - range.start;
                extend_to = extend_to.max(asked.saturating_add(options.headroom));
                let len = storage.len().clamp(range.start, range.end) - range.start;
                Input::Storage { storage, origin: range.start, len, data: 0..0 }
            }
            Source::Pipe(pipe) => Input::Pipe {
                pipe,
                limit: options.limit.unwrap_or(u64::MAX),
                headroom: options.headroom,
                ended: false,
            },
        };
        let cut = Cut { chunk: options.chunk as u64, unit: unit.max(PAGE), phase };
        let keep_holes = options.holes == Holes::Keep;
        Self { input, position: 0, handed_out: 0, ticket: 0, holes: 0, keep_holes, extend_to, cut, pad }
    }

    /// The next chunk; a pipe is read into `buf`.
    pub(super) fn next(&mut self, buf: &mut [u8], meter: &Meter) -> Result<Option<Step>, Failure> {
        let claimed = match self.input {
            Input::Storage { .. } => self.next_stored(meter)?,
            Input::Pipe { .. } => self.next_piped(buf)?,
        };
        let (len, content) = match claimed {
            Some(claimed) => claimed,
            None => match self.next_extension(meter) {
                Some(len) => (len, Content::Zeros),
                None => return Ok(None),
            },
        };
        let (at, ticket) = (self.position, self.ticket);
        self.position += len;
        self.handed_out = self.position;
        self.ticket += 1;
        Ok(Some(Step { ticket, at, len: len as usize, content }))
    }

    /// The totals of chunks handed out and holes skipped, once nothing is left.
    pub(super) fn moved(&self) -> Moved {
        Moved { length: self.position, holes: self.holes }
    }

    fn next_stored(&mut self, meter: &Meter) -> Result<Option<(u64, Content)>, Failure> {
        let Input::Storage { storage, origin, len, ref data } = self.input else { return Ok(None) };
        let mut data = data.clone();
        if self.keep_holes && self.position >= data.end && self.position < len {
            let found = storage.next_data(origin + self.position);
            let found = found.map_err(|source| Failure::Read { at: origin + self.position, source })?;
            let Some(found) = found.filter(|found| found.start < origin + len) else {
                self.step_over(len, meter);
                return Ok(None);
            };
            let found = found.start - origin..found.end - origin;
            data = self.cut.unit_start(found.start).max(self.position)..self.cut.unit_end(found.end).min(len);
            self.step_over(data.start, meter);
            self.set_data(data.clone());
        }
        if self.position >= len {
            return Ok(None);
        }
        let end = if self.keep_holes { data.end } else { len };
        let end = self.cut.chunk_end(self.position).min(end);
        Ok(Some((end - self.position, Content::Stored)))
    }

    fn set_data(&mut self, found: Range<u64>) {
        if let Input::Storage { data, .. } = &mut self.input {
            *data = found;
        }
    }

    fn next_piped(&mut self, buf: &mut [u8]) -> Result<Option<(u64, Content)>, Failure> {
        let at = self.position;
        let Input::Pipe { pipe, limit, headroom, ended } = &mut self.input else { return Ok(None) };
        if *ended {
            return Ok(None);
        }
        let failed = |source| Failure::Read { at, source };
        let wanted = (self.cut.chunk_end(at) - at).min(limit.saturating_sub(at)) as usize;
        let len = read_full(pipe, &mut buf[..wanted]).map_err(failed)?;
        *ended = len < wanted;
        if wanted == 0 {
            if read_full(pipe, &mut buf[..1]).map_err(failed)? > 0 {
                return Err(Failure::TooLong { limit: *limit });
            }
            *ended = true;
        }
        if *ended {
            self.extend_to = self.extend_to.max((at + len as u64).saturating_add(*headroom));
        }
        Ok((len > 0).then_some((len as u64, Content::Piped)))
    }

    /// The length of the next chunk of zeros after the source.
    fn next_extension(&mut self, meter: &Meter) -> Option<u64> {
        // If the source ended with data, its last chunk was already filled up to here.
        let padded = self.position.next_multiple_of(self.pad).min(self.extend_to);
        if padded > self.position && self.position == self.handed_out {
            meter.add(padded - self.position);
            self.position = padded;
        }
        if self.keep_holes && self.position < self.extend_to {
            self.step_over(self.extend_to, meter);
        }
        let end = self.cut.chunk_end(self.position).min(self.extend_to);
        (end > self.position).then(|| end - self.position)
    }

    fn step_over(&mut self, to: u64, meter: &Meter) {
        self.holes += to - self.position;
        meter.add(to - self.position);
        self.position = to;
    }
}

/// The minimum granularity of holes: a file system has no smaller holes, and a fragment that is
/// neither data nor a hole would read as noise in a copy.
const PAGE: u64 = 4096;

/// Where to cut.
#[derive(Debug, Clone, Copy)]
struct Cut {
    chunk: u64,
    unit: u64,
    phase: u64,
}

impl Cut {
    /// The end of the chunk that starts at or contains `at`.
    fn chunk_end(self, at: u64) -> u64 {
        at + self.chunk - (self.phase + at) % self.chunk
    }

    fn unit_start(self, at: u64) -> u64 {
        at.saturating_sub((self.phase + at) % self.unit)
    }

    fn unit_end(self, at: u64) -> u64 {
        at.saturating_add((self.unit - (self.phase + at) % self.unit) % self.unit)
    }
}

/// Reads until `buf` is full or the pipe ends.
fn read_full(pipe: &mut dyn Read, buf: &mut [u8]) -> io::Result<usize> {
    let mut len = 0;
    while len < buf.len() {
        match pipe.read(&mut buf[len..]) {
            Ok(0) => break,
            Ok(n) => len += n,
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Err(e) => return Err(e),
        }
    }
    Ok(len)
}
