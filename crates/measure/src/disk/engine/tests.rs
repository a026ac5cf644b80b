//! The built-in engine: what it reads and writes, and how it reports failures.

use super::super::workload;
use super::*;
use crate::clock::Machine;
use keyway_volume::device::storage::Memory;
use std::ops::Range;

/// Storage that records its requests.
struct Watched {
    memory: Memory,
    seen: Mutex<Vec<(bool, u64, usize)>>,
    flushes: std::sync::atomic::AtomicU32,
}

impl Watched {
    fn new(len: usize) -> Self {
        Self { memory: Memory::zeroed(len), seen: Mutex::default(), flushes: Default::default() }
    }
}

impl Storage for Watched {
    fn len(&self) -> u64 {
        self.memory.len()
    }

    fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<()> {
        self.seen.lock().unwrap().push((false, offset, buf.len()));
        assert_eq!(buf.as_ptr() as usize % 4096, 0);
        self.memory.read_at(buf, offset)
    }

    fn write_at(&self, buf: &[u8], offset: u64) -> io::Result<()> {
        if offset + buf.len() as u64 > self.len() {
            return Err(io::ErrorKind::StorageFull.into());
        }
        self.seen.lock().unwrap().push((true, offset, buf.len()));
        self.memory.write_at(buf, offset)
    }

    fn flush(&self) -> io::Result<()> {
        self.flushes.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }

    fn discard(&self, _: Range<u64>) -> io::Result<()> {
        unreachable!("nothing is discarded")
    }
}

fn run(storage: &Watched, workload: Workload, seconds: f64) -> io::Result<Run> {
    let stop = AtomicBool::new(false);
    Job { workload, region: storage.len(), seconds, seed: 5, stop: &stop }.run(storage, &Machine::start())
}

const MIB: u64 = 1 << 20;

#[test]
fn a_size_is_written_from_the_first_byte_to_the_last_and_flushed() {
    let storage = Watched::new(10 << 20);
    let write = workload::all()[0];
    let run = run(&storage, write, 0.0).unwrap();
    assert_eq!((run.bytes, run.requests, run.latencies.count()), (10 * MIB, 10, 10));
    let expected: Vec<_> = (0..10).map(|i| (true, i * MIB, MIB as usize)).collect();
    assert_eq!(*storage.seen.lock().unwrap(), expected);
    assert_eq!(storage.flushes.load(Ordering::Relaxed), 1);
    let mut back = vec![0; 4096];
    storage.memory.read_at(&mut back, 7 * MIB).unwrap();
    assert!(back.iter().any(|byte| *byte != 0));
}

#[test]
fn threads_that_begin_when_the_time_is_over_make_one_request_each() {
    let storage = Watched::new(1 << 20);
    let reads = Workload { pattern: Pattern::RandomRead, block: 4096, depth: 8, bound: Bound::Time };
    let run = run(&storage, reads, 0.0).unwrap();
    assert_eq!((run.requests, run.bytes, run.latencies.count()), (8, 8 * 4096, 8));
}

#[test]
fn random_requests_are_everywhere_and_a_mixed_run_reads_seven_of_ten() {
    let storage = Watched::new(1 << 20);
    let mixed = Workload { pattern: Pattern::RandomMixed, block: 4096, depth: 4, bound: Bound::Time };
    let run = run(&storage, mixed, 0.05).unwrap();
    let seen = storage.seen.lock().unwrap();
    assert_eq!((run.requests, run.bytes), (seen.len() as u64, seen.len() as u64 * 4096));
    assert_eq!(run.latencies.count(), run.requests);
    let reads = seen.iter().filter(|(write, ..)| !write).count() as f64 / seen.len() as f64;
    assert!(seen.len() < 1000 || (0.6..0.8).contains(&reads), "{reads}");
    let places: std::collections::HashSet<u64> = seen.iter().map(|(_, offset, _)| *offset).collect();
    assert!(places.iter().all(|offset| offset % 4096 == 0));
    assert!(seen.len() < 5000 || places.len() > 250, "{} of 256", places.len());
}

#[test]
fn a_sustained_run_begins_again_at_the_end_and_has_parts() {
    let storage = Watched::new(3 << 20);
    let lasting =
        Workload { pattern: Pattern::SequentialRead, block: 1 << 20, depth: 1, bound: Bound::Sustained };
    let run = run(&storage, lasting, 0.1).unwrap();
    assert!(run.requests < 4 || storage.seen.lock().unwrap()[3].1 == 0);
    assert!((1..=20).contains(&run.parts.len()), "{}", run.parts.len());
}

#[test]
fn failing_storage_ends_a_run_and_so_does_a_stop() {
    let storage = Watched::new(5 << 20);
    let stop = AtomicBool::new(false);
    // The storage has shrunk.
    let job = Job { workload: workload::all()[0], region: 10 << 20, seconds: 0.0, seed: 0, stop: &stop };
    assert!(job.run(&storage, &Machine::start()).is_err());
    stop.store(true, Ordering::Relaxed);
    assert_eq!(job.run(&storage, &Machine::start()).unwrap_err().kind(), io::ErrorKind::Interrupted);
}
