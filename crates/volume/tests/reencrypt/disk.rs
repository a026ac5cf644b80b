//! Disks with a volatile cache, whose power fails: what was written since the last flush arrives in
//! any order, in part or not at all.

use keyway_volume::Storage;
use std::io;
use std::ops::Range;
use std::sync::{Arc, Mutex};

/// Two disks that lose power together.
#[derive(Clone)]
pub(crate) struct Disks {
    state: Arc<Mutex<State>>,
}

/// One of them.
pub(crate) struct Disk {
    state: Arc<Mutex<State>>,
    number: usize,
}

struct State {
    images: [Vec<u8>; 2],
    log: Vec<Event>,
    /// After so many events, nothing works any more.
    fuse: Option<usize>,
}

#[derive(Clone)]
enum Event {
    Write { disk: usize, offset: usize, bytes: Vec<u8> },
    Flush { disk: usize },
}

impl Disks {
    pub(crate) fn new(images: [Vec<u8>; 2]) -> Self {
        Self { state: Arc::new(Mutex::new(State { images, log: Vec::new(), fuse: None })) }
    }

    pub(crate) fn disk(&self, number: usize) -> Arc<dyn Storage> {
        Arc::new(Disk { state: self.state.clone(), number })
    }

    pub(crate) fn images(&self) -> [Vec<u8>; 2] {
        self.state.lock().unwrap().images.clone()
    }

    pub(crate) fn events(&self) -> usize {
        self.state.lock().unwrap().log.len()
    }

    /// On both disks.
    pub(crate) fn bytes_written(&self) -> usize {
        let log = &self.state.lock().unwrap().log;
        log.iter().map(|event| if let Event::Write { bytes, .. } = event { bytes.len() } else { 0 }).sum()
    }

    /// From this event on, every access fails.
    pub(crate) fn break_after(&self, events: usize) {
        self.state.lock().unwrap().fuse = Some(events);
    }

    /// From now on, everything works again.
    pub(crate) fn mend(&self) {
        self.state.lock().unwrap().fuse = None;
    }

    /// How many of the first `events` are certainly on the disk after a cut that follows them: those
    /// before its last flush.
    pub(crate) fn flushed(&self, disk: usize, events: usize) -> usize {
        let log = &self.state.lock().unwrap().log[..events];
        log.iter().rposition(|event| matches!(event, Event::Flush { disk: d } if *d == disk)).unwrap_or(0)
    }

    /// What is on the disks when the power fails after `events`: of each `unit` bytes that were
    /// written since their disk's last flush, one of the versions, by `choose` (below its argument).
    pub(crate) fn cut(
        &self,
        before: &[Vec<u8>; 2],
        events: usize,
        unit: usize,
        choose: &mut dyn FnMut(usize) -> usize,
    ) -> [Vec<u8>; 2] {
        let log = &self.state.lock().unwrap().log[..events];
        let mut images = before.clone();
        for (disk, image) in images.iter_mut().enumerate() {
            let is_flush = |event: &Event| matches!(event, Event::Flush { disk: d } if *d == disk);
            let stable = log.iter().rposition(is_flush).map_or(0, |at| at + 1);
            for (offset, bytes) in writes(&log[..stable], disk) {
                image[offset..offset + bytes.len()].copy_from_slice(bytes);
            }
            // A whole power cut in one of four ways: nothing, everything, or each unit by itself.
            let manner = choose(4);
            for (offset, bytes) in writes(&log[stable..], disk) {
                let mut at = 0;
                while at < bytes.len() {
                    let end = ((offset + at) / unit * unit + unit - offset).min(bytes.len());
                    let lands = match manner {
                        0 => false,
                        1 => true,
                        _ => choose(2) == 1,
                    };
                    if lands {
                        image[offset + at..offset + end].copy_from_slice(&bytes[at..end]);
                    }
                    at = end;
                }
            }
        }
        images
    }
}

/// The writes to one disk.
fn writes(events: &[Event], disk: usize) -> impl Iterator<Item = (usize, &[u8])> {
    events.iter().filter_map(move |event| match event {
        Event::Write { disk: d, offset, bytes } if *d == disk => Some((*offset, &bytes[..])),
        _ => None,
    })
}

impl State {
    fn run(&mut self, event: Event) -> io::Result<()> {
        if self.fuse.is_some_and(|fuse| self.log.len() >= fuse) {
            return Err(io::Error::other("no power"));
        }
        if let Event::Write { disk, offset, bytes } = &event {
            let image = &mut self.images[*disk];
            let target = image.get_mut(*offset..offset + bytes.len()).ok_or(io::ErrorKind::StorageFull)?;
            target.copy_from_slice(bytes);
        }
        self.log.push(event);
        Ok(())
    }
}

impl Storage for Disk {
    fn len(&self) -> u64 {
        self.state.lock().unwrap().images[self.number].len() as u64
    }

    fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<()> {
        let state = self.state.lock().unwrap();
        if state.fuse.is_some_and(|fuse| state.log.len() >= fuse) {
            return Err(io::Error::other("no power"));
        }
        let source = state.images[self.number].get(offset as usize..offset as usize + buf.len());
        buf.copy_from_slice(source.ok_or(io::ErrorKind::UnexpectedEof)?);
        Ok(())
    }

    fn write_at(&self, buf: &[u8], offset: u64) -> io::Result<()> {
        let event = Event::Write { disk: self.number, offset: offset as usize, bytes: buf.to_vec() };
        self.state.lock().unwrap().run(event)
    }

    fn flush(&self) -> io::Result<()> {
        self.state.lock().unwrap().run(Event::Flush { disk: self.number })
    }

    /// Zeros, which arrive as writes do.
    fn discard(&self, range: Range<u64>) -> io::Result<()> {
        self.write_at(&vec![0; (range.end - range.start) as usize], range.start)
    }
}
