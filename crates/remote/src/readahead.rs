//! What to fetch before it is requested.
//!
//! Sequential readers are distinguished from random ones by where their reads begin. Each stream of
//! reads has a window that doubles while the stream continues, so that a header is read without the
//! data around it, and a whole volume at the speed of the line. Several streams are tracked at
//! once, because threads that copy a volume read at several places.

use std::ops::Range;

/// The streams being tracked.
#[derive(Debug)]
pub(crate) struct ReadAhead {
    streams: Vec<Stream>,
    /// The maximum window, in blocks.
    limit: u64,
    /// Counts reads, to determine the age of streams.
    clock: u64,
}

#[derive(Debug, Clone, Copy)]
struct Stream {
    /// The block after the last one read.
    next: u64,
    /// The block after the last one requested.
    asked: u64,
    window: u64,
    used: u64,
}

impl ReadAhead {
    /// Windows grow up to `limit` blocks; 0 disables read-ahead.
    pub(crate) fn new(limit: u64) -> Self {
        Self { streams: Vec::new(), limit, clock: 0 }
    }

    /// Records a read of `blocks`; returns what to fetch beyond them, possibly nothing.
    pub(crate) fn note(&mut self, blocks: &Range<u64>) -> Range<u64> {
        self.clock += 1;
        let Some(stream) = self.streams.iter_mut().find(|stream| stream.goes_on(blocks)) else {
            self.begin(blocks);
            return blocks.end..blocks.end;
        };
        stream.used = self.clock;
        if blocks.end <= stream.next {
            return blocks.end..blocks.end;
        }
        stream.next = blocks.end;
        stream.window = (stream.window * 2).max(SMALLEST).min(self.limit);
        let (from, to) = (stream.asked.max(stream.next), stream.next + stream.window);
        // Makes a few large requests instead of one per block.
        if to.saturating_sub(from) * 2 < stream.window {
            return from..from;
        }
        stream.asked = to;
        from..to.max(from)
    }

    fn begin(&mut self, blocks: &Range<u64>) {
        let stream = Stream { next: blocks.end, asked: blocks.end, window: 0, used: self.clock };
        if self.streams.len() < STREAMS {
            self.streams.push(stream);
        } else if let Some(oldest) = self.streams.iter_mut().min_by_key(|stream| stream.used) {
            *oldest = stream;
        }
    }
}

impl Stream {
    /// Whether a read of `blocks` continues this stream: it begins in the last block read, after
    /// it, or within what was fetched ahead.
    fn goes_on(&self, blocks: &Range<u64>) -> bool {
        (self.next.saturating_sub(1)..=self.next.max(self.asked)).contains(&blocks.start)
    }
}

/// The maximum number of streams tracked.
const STREAMS: usize = 8;

/// The initial window, in blocks.
const SMALLEST: u64 = 2;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stream_widens_and_a_jump_fetches_nothing() {
        let mut ahead = ReadAhead::new(16);
        assert!(ahead.note(&(0..1)).is_empty(), "one read is no stream");
        assert!(ahead.note(&(0..1)).is_empty(), "nor is reading it again");
        assert_eq!(ahead.note(&(1..2)), 2..4);
        assert_eq!(ahead.note(&(2..3)), 4..7);
        assert!(ahead.note(&(90..91)).is_empty());
        assert_eq!(ahead.note(&(3..4)), 7..12);
        let mut asked = 12;
        for block in 4..100 {
            let more = ahead.note(&(block..block + 1));
            assert!(more.is_empty() || more.start == asked, "{more:?}");
            asked = asked.max(more.end);
            assert!(asked <= block + 1 + 16);
        }
        assert!(asked > 100);
    }

    #[test]
    fn several_streams_are_followed() {
        let mut ahead = ReadAhead::new(16);
        for block in 0..4 {
            for stream in 0..STREAMS as u64 {
                let at = stream * 1000 + block;
                let more = ahead.note(&(at..at + 1));
                assert_eq!(block == 0, more.is_empty(), "stream {stream}, block {block}");
            }
        }
    }
}
