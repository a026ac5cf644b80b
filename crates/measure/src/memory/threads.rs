//! The same work on several threads at once, each on its own memory, timed from when all are ready
//! until the last has finished.

use crate::Clock;
use std::hint::{black_box, spin_loop};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

/// The threads' memory; the threads themselves live only for one sample.
pub(super) struct Team {
    buffers: Vec<Vec<u8>>,
}

impl Team {
    /// `threads` buffers of `len` bytes.
    pub(super) fn of(threads: usize, len: usize) -> Self {
        Self { buffers: vec![vec![0; len]; threads.max(1)] }
    }

    pub(super) fn len(&self) -> usize {
        self.buffers.len()
    }

    /// The buffer as a member's work left it.
    pub(super) fn buffer(&self, member: usize) -> &[u8] {
        &self.buffers[member]
    }

    /// Fills every buffer from `start` and runs `work` on each with the member's number. This
    /// thread is the first member and the only one that reads the clock. No thread has to be woken
    /// up when all are ready: a wake-up takes longer than some messages.
    pub(super) fn time(
        &mut self,
        clock: &dyn Clock,
        start: &[u8],
        work: impl Fn(usize, &mut [u8]) + Sync,
    ) -> Duration {
        for buffer in &mut self.buffers {
            buffer.copy_from_slice(start);
        }
        let all = self.buffers.len();
        let (ready, through) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let Some((own, others)) = self.buffers.split_first_mut() else { return Duration::ZERO };
        let (ready, through, work) = (&ready, &through, &work);
        thread::scope(|scope| {
            for (member, buffer) in others.iter_mut().enumerate() {
                scope.spawn(move || {
                    arrive(ready, all);
                    work(member + 1, black_box(buffer));
                    through.fetch_add(1, Ordering::Release);
                });
            }
            arrive(ready, all);
            let before = clock.now();
            work(0, black_box(own));
            arrive(through, all);
            clock.now().saturating_sub(before)
        })
    }
}

/// Counts this thread and waits until all are counted: first by spinning, then by yielding to
/// threads that have no core yet.
fn arrive(counter: &AtomicUsize, all: usize) {
    counter.fetch_add(1, Ordering::AcqRel);
    let mut spins = 0_u32;
    while counter.load(Ordering::Acquire) < all {
        spins += 1;
        if spins.is_multiple_of(SPINS) { thread::yield_now() } else { spin_loop() }
    }
}

/// Checks of the counter before the thread yields its core.
const SPINS: u32 = 10_000;
