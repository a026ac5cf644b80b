//! Requests beside each other in one sector, on storage that another request always meets halfway.

use super::*;
use std::ops::Range;
use std::sync::Mutex;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;
use std::time::Duration;

/// A reader comes while a sector is half written.
#[test]
fn a_reader_never_sees_half_a_write() {
    for mode in MODES {
        for (writes, reads) in
            [(512..1024, 2048..2560), (512..1024, 0..4096), (0..4096, 3000..4096), (7..4000, 4000..4096)]
        {
            let case = Case::new(mode);
            // Around the middle the plaintext stays as it is.
            let content = case.changed(&writes);
            let mut found = vec![0; reads.len()];
            case.beside(
                || case.volume.write_at(&content, writes.start as u64).unwrap(),
                || case.other.read_at(&mut found, reads.start as u64).unwrap(),
            );
            case.check_either(&found, &reads, &content, &writes, mode);
            assert!(read(&case.volume, writes.start, writes.len()) == content, "{mode}: at rest");
        }
    }
}

/// A writer comes while a sector is half read.
#[test]
fn a_writer_never_changes_half_of_what_is_read() {
    for mode in MODES {
        for (writes, reads) in [(512..1024, 2048..2560), (3000..3001, 0..4096), (0..4096, 100..3000)] {
            let case = Case::new(mode);
            let content = case.changed(&writes);
            let mut found = vec![0; reads.len()];
            case.beside(
                || case.volume.read_at(&mut found, reads.start as u64).unwrap(),
                || case.other.write_from(&mut content.clone(), writes.start as u64).unwrap(),
            );
            case.check_either(&found, &reads, &content, &writes, mode);
        }
    }
}

/// Two writers of the same sector: one of them is the last, as on a disk.
#[test]
fn what_two_have_written_is_what_one_of_them_wrote() {
    for mode in MODES {
        for (first, second) in [(0..4096, 0..4096), (0..512, 0..4096), (0..4096, 3584..4096)] {
            let case = Case::new(mode);
            let [one, two] = [1, 2].map(|byte| vec![byte; 4096]);
            case.beside(
                || case.volume.write_at(&one[first.clone()], first.start as u64).unwrap(),
                || case.other.write_at(&two[second.clone()], second.start as u64).unwrap(),
            );
            let found = read(&case.volume, 0, 4096);
            for (number, block) in found.chunks(512).enumerate() {
                let at = number * 512;
                let mut may_be = Vec::new();
                may_be.extend(first.contains(&at).then_some(&one[..512]));
                may_be.extend(second.contains(&at).then_some(&two[..512]));
                assert!(may_be.contains(&block), "{mode} {first:?} {second:?}: block {number}");
            }
        }
    }
}

/// The second mixes neighbours in its sector forwards, the others all of it.
const MODES: [&str; 4] =
    ["aes-xts-plain64", "aes-cbc-essiv:sha256", "xchacha12,aes-adiantum-plain64", "aes-hctr2-plain64"];

struct Case {
    volume: Volume,
    /// The same as it is used once a re-encryption has mapped it anew.
    other: Volume,
    storage: Arc<Halfway>,
    before: Vec<u8>,
}

impl Case {
    fn new(mode: &str) -> Self {
        let layout = one_segment(mode, 4096, 4096, 0);
        let memory = Memory::from(noise(4096 * 3, 11));
        let storage = Arc::new(Halfway { memory, meeting: Mutex::new(None) });
        let volume = Volume::new(storage.clone(), &layout, &key(), Cpu::detect()).unwrap();
        let other = volume.remapped(&layout, Keys::from(&key()), Cpu::detect()).unwrap();
        let before = read(&volume, 0, 4096);
        Self { volume, other, storage, before }
    }

    /// New content for a range, as before from the middle of the sector on.
    fn changed(&self, range: &Range<usize>) -> Vec<u8> {
        let new = |at: usize| if at < 2048 { !self.before[at] } else { self.before[at] };
        range.clone().map(new).collect()
    }

    /// Runs `second` while the storage is halfway in the first that `first` reads or writes. If
    /// it does not end meanwhile, `first` goes on.
    fn beside(&self, first: impl FnOnce() + Send, second: impl FnOnce() + Send) {
        let (go, is_halfway) = sync_channel(1);
        let (end, has_ended) = sync_channel(1);
        thread::scope(|scope| {
            scope.spawn(move || {
                is_halfway.recv().unwrap();
                second();
                let _ = end.send(());
            });
            *self.storage.meeting.lock().unwrap() = Some((go, has_ended));
            first();
        });
        assert!(self.storage.meeting.lock().unwrap().is_none(), "they have met");
    }

    /// Each block of 512 is as before or as written.
    fn check_either(
        &self,
        found: &[u8],
        reads: &Range<usize>,
        content: &[u8],
        writes: &Range<usize>,
        mode: &str,
    ) {
        let mut after = self.before.clone();
        after[writes.clone()].copy_from_slice(content);
        for block in (0..4096).step_by(512) {
            let part = block.max(reads.start)..(block + 512).min(reads.end);
            if !part.is_empty() {
                let found = &found[part.start - reads.start..part.end - reads.start];
                let is_one = found == &self.before[part.clone()] || found == &after[part.clone()];
                assert!(is_one, "{mode}: {writes:?} is written, {reads:?} read: {part:?} is neither");
            }
        }
    }
}

/// Memory in which each sector is read and written in two steps, with another request in between.
struct Halfway {
    memory: Memory,
    /// Lets the other begin; says that it has ended.
    meeting: Mutex<Option<(SyncSender<()>, Receiver<()>)>>,
}

impl Halfway {
    fn meet(&self) {
        let meeting = self.meeting.lock().unwrap().take();
        if let Some((go, has_ended)) = meeting {
            go.send(()).unwrap();
            // Where it has to wait, it does not end.
            let _ = has_ended.recv_timeout(Duration::from_millis(30));
        }
    }
}

impl Storage for Halfway {
    fn len(&self) -> u64 {
        self.memory.len()
    }

    fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<()> {
        let (first, second) = buf.split_at_mut(buf.len() / 2);
        self.memory.read_at(first, offset)?;
        self.meet();
        self.memory.read_at(second, offset + first.len() as u64)
    }

    fn write_at(&self, buf: &[u8], offset: u64) -> io::Result<()> {
        let (first, second) = buf.split_at(buf.len() / 2);
        self.memory.write_at(first, offset)?;
        self.meet();
        self.memory.write_at(second, offset + first.len() as u64)
    }

    fn flush(&self) -> io::Result<()> {
        Ok(())
    }

    fn discard(&self, _: Range<u64>) -> io::Result<()> {
        Ok(())
    }
}
