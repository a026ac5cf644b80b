//! Storage that fails. It records every write and flush, so that the image after a crash at any
//! byte can be reconstructed from the record; and it can fail at a chosen write, to test how an
//! operation reports that.

use super::Storage;
use keyway_format::Sectors;
use std::io;
use std::ops::Range;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// An operation's access to its storage.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// Bytes written at an offset.
    Write {
        /// The offset.
        offset: u64,
        /// The bytes.
        bytes: Vec<u8>,
    },
    /// Everything written before was on stable storage when this returned.
    Flush,
}

/// Where an operation is interrupted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cut {
    /// The event that is not completed, counted from 0.
    pub event: usize,
    /// If it is a write, this many of its bytes land.
    pub bytes: usize,
    /// What happens to the writes since the last flush.
    pub unflushed: Unflushed,
}

/// What happens to writes that were not flushed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unflushed {
    /// All landed: the process was killed, the machine went on.
    Landed,
    /// None landed: power was lost.
    Lost,
    /// Only the last of them landed: power was lost, and the device had reordered them.
    OnlyLast,
}

/// An image in memory that records all accesses.
#[derive(Debug)]
pub struct Faulty {
    before: Vec<u8>,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    image: Vec<u8>,
    events: Vec<Event>,
    /// The event at which the storage fails, and how many bytes of it still land.
    fuse: Option<(usize, usize)>,
}

impl Faulty {
    /// Storage that holds `image` and works.
    pub fn new(image: Vec<u8>) -> Self {
        let state = State { image: image.clone(), events: Vec::new(), fuse: None };
        Self { before: image, state: Mutex::new(state) }
    }

    /// Storage that holds `image`; its event number `event` fails after
    /// `bytes` bytes, and so does every later one.
    pub fn breaking_at(image: Vec<u8>, event: usize, bytes: usize) -> Self {
        let faulty = Self::new(image);
        faulty.lock().fuse = Some((event, bytes));
        faulty
    }

    /// The events so far.
    pub fn events(&self) -> Vec<Event> {
        self.lock().events.clone()
    }

    /// Its current content.
    pub fn image(&self) -> Vec<u8> {
        self.lock().image.clone()
    }

    /// The content that it would have after this cut.
    pub fn image_at(&self, cut: Cut) -> Vec<u8> {
        let events = &self.lock().events;
        let done = &events[..cut.event.min(events.len())];
        let stable = done.iter().rposition(|event| *event == Event::Flush).map_or(0, |flush| flush + 1);
        let mut image = self.before.clone();
        done[..stable].iter().for_each(|event| apply(&mut image, event, usize::MAX));
        let torn = events.get(cut.event).filter(|_| cut.bytes > 0).map(|event| (event, cut.bytes));
        let pending = done[stable..].iter().map(|event| (event, usize::MAX)).chain(torn);
        match cut.unflushed {
            Unflushed::Landed => pending.for_each(|(event, bytes)| apply(&mut image, event, bytes)),
            Unflushed::Lost => {}
            Unflushed::OnlyLast => {
                if let Some((event, bytes)) = pending.last() {
                    apply(&mut image, event, bytes);
                }
            }
        }
        image
    }

    /// Every cut worth testing: each write at its ends, at its middle, around the sector boundaries
    /// in it and within the bytes that it changes; and each flush.
    pub fn cuts(&self) -> Vec<Cut> {
        let events = self.events();
        let mut image = self.before.clone();
        let mut cuts = Vec::new();
        for (event, what) in events.iter().enumerate() {
            match what {
                Event::Write { offset, bytes } => {
                    let mut counts = cut_bytes(*offset, bytes.len());
                    counts.extend(cuts_in_changes(&image, *offset as usize, bytes));
                    counts.sort_unstable();
                    counts.dedup();
                    for bytes in counts {
                        cuts.push(Cut { event, bytes, unflushed: Unflushed::Landed });
                    }
                    apply(&mut image, what, usize::MAX);
                }
                Event::Flush => {
                    for unflushed in [Unflushed::Landed, Unflushed::Lost, Unflushed::OnlyLast] {
                        cuts.push(Cut { event, bytes: 0, unflushed });
                    }
                }
            }
        }
        cuts.push(Cut { event: events.len(), bytes: 0, unflushed: Unflushed::Landed });
        cuts.push(Cut { event: events.len(), bytes: 0, unflushed: Unflushed::Lost });
        cuts
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// Records an event, unless the storage has failed.
    fn run(&mut self, event: Event) -> io::Result<()> {
        let at = self.events.len();
        match self.fuse {
            Some((fuse, bytes)) if at >= fuse => {
                if at == fuse {
                    apply(&mut self.image, &event, bytes);
                }
                self.fuse = Some((0, 0));
                Err(io::Error::new(io::ErrorKind::StorageFull, "the storage broke down, as planned"))
            }
            _ => {
                apply(&mut self.image, &event, usize::MAX);
                self.events.push(event);
                Ok(())
            }
        }
    }
}

impl Storage for Faulty {
    fn len(&self) -> u64 {
        self.lock().image.len() as u64
    }

    fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<()> {
        let state = self.lock();
        let span = usize::try_from(offset).ok().and_then(|start| Some(start..start.checked_add(buf.len())?));
        let source = span.and_then(|span| state.image.get(span)).ok_or(io::ErrorKind::UnexpectedEof)?;
        buf.copy_from_slice(source);
        Ok(())
    }

    fn write_at(&self, buf: &[u8], offset: u64) -> io::Result<()> {
        self.lock().run(Event::Write { offset, bytes: buf.to_vec() })
    }

    fn flush(&self) -> io::Result<()> {
        self.lock().run(Event::Flush)
    }

    fn discard(&self, _: Range<u64>) -> io::Result<()> {
        Ok(())
    }
}

/// Applies the first `limit` bytes of a write.
fn apply(image: &mut Vec<u8>, event: &Event, limit: usize) {
    if let Event::Write { offset, bytes } = event {
        let bytes = &bytes[..limit.min(bytes.len())];
        let start = *offset as usize;
        let end = start + bytes.len();
        if !bytes.is_empty() && image.len() < end {
            image.resize(end, 0);
        }
        if !bytes.is_empty() {
            image[start..end].copy_from_slice(bytes);
        }
    }
}

/// How many bytes of a write at `offset` of `len` bytes may have landed: nothing, one, half, all
/// but one, and around the first and the last sector boundary in it.
fn cut_bytes(offset: u64, len: usize) -> Vec<usize> {
    let first = (SECTOR - offset as usize % SECTOR) % SECTOR;
    let first = if first == 0 { SECTOR } else { first };
    let last = len.saturating_sub((offset as usize + len) % SECTOR).max(1);
    let mut counts =
        vec![0, 1, len / 2, len.saturating_sub(1), first - 1, first, first + 1, last - 1, last, 4096];
    counts.retain(|&count| count < len);
    counts.sort_unstable();
    counts.dedup();
    counts
}

/// Lengths that cut a write within the bytes that it changes, spread evenly over the bytes that
/// differ.
fn cuts_in_changes(image: &[u8], offset: usize, bytes: &[u8]) -> Vec<usize> {
    let old = |at: usize| image.get(offset + at).copied().unwrap_or(0);
    let changed: Vec<usize> = (0..bytes.len()).filter(|&at| old(at) != bytes[at]).collect();
    let step = changed.len().div_ceil(CUTS_IN_CHANGES).max(1);
    changed.iter().copied().step_by(step).chain(changed.last().copied()).collect()
}

const SECTOR: usize = Sectors::SIZE as usize;
const CUTS_IN_CHANGES: usize = 8;

#[cfg(test)]
mod tests {
    use super::*;

    fn recorded() -> Faulty {
        let faulty = Faulty::new(vec![0; 8]);
        faulty.write_at(&[1, 2], 0).unwrap();
        faulty.flush().unwrap();
        faulty.write_at(&[3, 4], 2).unwrap();
        faulty.write_at(&[5, 6], 4).unwrap();
        faulty.flush().unwrap();
        faulty
    }

    #[test]
    fn images_are_made_from_the_record() {
        let faulty = recorded();
        let image = |event, bytes, unflushed| faulty.image_at(Cut { event, bytes, unflushed });
        assert_eq!(image(0, 1, Unflushed::Landed), [1, 0, 0, 0, 0, 0, 0, 0]);
        assert_eq!(image(1, 0, Unflushed::Lost), [0; 8]);
        assert_eq!(image(3, 1, Unflushed::Landed), [1, 2, 3, 4, 5, 0, 0, 0]);
        assert_eq!(image(3, 1, Unflushed::Lost), [1, 2, 0, 0, 0, 0, 0, 0]);
        assert_eq!(image(4, 0, Unflushed::OnlyLast), [1, 2, 0, 0, 5, 6, 0, 0]);
        assert_eq!(image(5, 0, Unflushed::Lost), [1, 2, 3, 4, 5, 6, 0, 0]);
        assert_eq!(faulty.image(), [1, 2, 3, 4, 5, 6, 0, 0]);
    }

    #[test]
    fn a_fuse_ends_everything_after_it() {
        let faulty = Faulty::breaking_at(vec![0; 4], 1, 1);
        faulty.write_at(&[1], 0).unwrap();
        assert_eq!(faulty.write_at(&[2, 2], 1).unwrap_err().kind(), io::ErrorKind::StorageFull);
        assert!(faulty.flush().is_err());
        assert!(faulty.write_at(&[3], 3).is_err());
        assert_eq!(faulty.image(), [1, 2, 0, 0]);
    }

    #[test]
    fn cuts_stand_where_bytes_change() {
        assert_eq!(cuts_in_changes(&[0, 1, 2, 3], 1, &[1, 9, 3, 8]), [1, 3, 3]);
        assert!(cuts_in_changes(&[5; 4], 0, &[5; 4]).is_empty());
    }

    #[test]
    fn cuts_stand_around_sector_boundaries() {
        assert_eq!(cut_bytes(0, 4), [0, 1, 2, 3]);
        assert_eq!(cut_bytes(500, 40), [0, 1, 11, 12, 13, 20, 39]);
        assert_eq!(cut_bytes(0, 592), [0, 1, 296, 511, 512, 513, 591]);
    }
}
