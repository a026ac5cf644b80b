//! How one sample is taken: processor time of one thread, or wall time of several.
//!
//! A thread's own clock (CLOCK_THREAD_CPUTIME_ID) stands while the thread does not run,
//! so that other work on the machine takes less of the figure. Memory is aligned to
//! pages, as a page cache's or a server's buffers are.

use rustix::time::{ClockId, clock_gettime};
use std::thread;
use std::time::{Duration, Instant};

/// The rate of one thread that does the same work on the same `len` bytes again and
/// again, in 10^6 bytes a second of its own time.
pub(crate) fn rate(len: usize, mut work: impl FnMut(&mut [u8]) + 'static) -> impl FnMut() -> f64 {
    let mut memory = vec![0x5a; len + PAGE];
    move || {
        let data = page_aligned(&mut memory, len);
        let started = thread_time();
        let mut bytes = 0;
        loop {
            work(data);
            bytes += len;
            let elapsed = thread_time() - started;
            if elapsed >= SAMPLE {
                return bytes as f64 / elapsed.as_secs_f64() / 1e6;
            }
        }
    }
}

/// The rate of `threads` threads together, each on `len` bytes of its
/// own, in 10^6 bytes a second of wall time.
pub(crate) fn rate_of_threads(
    threads: usize,
    len: usize,
    work: impl Fn(&mut [u8]) + Sync + 'static,
) -> impl FnMut() -> f64 {
    let mut memories = vec![vec![0x5a; len + PAGE]; threads];
    move || {
        let work = &work;
        let rates = thread::scope(|scope| {
            let running: Vec<_> = memories
                .iter_mut()
                .map(|memory| scope.spawn(move || wall_rate(page_aligned(memory, len), work)))
                .collect();
            running
                .into_iter()
                .map(|thread| thread.join().expect("work that does not fail"))
                .collect::<Vec<_>>()
        });
        rates.iter().sum()
    }
}

fn wall_rate(data: &mut [u8], work: impl Fn(&mut [u8])) -> f64 {
    let started = Instant::now();
    let mut bytes = 0;
    while started.elapsed() < 2 * SAMPLE {
        work(data);
        bytes += data.len();
    }
    bytes as f64 / started.elapsed().as_secs_f64() / 1e6
}

/// Processor time of this thread alone.
pub(crate) fn thread_seconds(work: impl FnOnce()) -> f64 {
    let started = thread_time();
    work();
    (thread_time() - started).as_secs_f64()
}

/// Wall time: for work that runs on threads of its own.
pub(crate) fn wall_seconds(work: impl FnOnce()) -> f64 {
    let started = Instant::now();
    work();
    started.elapsed().as_secs_f64()
}

fn thread_time() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

fn page_aligned(memory: &mut [u8], len: usize) -> &mut [u8] {
    let offset = memory.as_ptr().align_offset(PAGE);
    &mut memory[offset..offset + len]
}

const SAMPLE: Duration = Duration::from_millis(8);
const PAGE: usize = 4096;
