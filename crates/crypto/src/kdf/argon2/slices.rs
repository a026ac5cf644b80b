//! The order of work: passes of four slices, the lanes of a slice on threads that synchronise after
//! each slice.

use super::address::Segment;
use super::sys::{Fill, LANES_IN_TURN, Matrix};
use super::{SLICES, Stop};
use crate::Error;

/// Fills the matrix from its first two columns, and calls `after` after each slice.
pub(super) fn fill(
    fill: Fill,
    matrix: &Matrix,
    threads: usize,
    stop: &Stop,
    after: &(dyn Fn() + Sync),
) -> Result<(), Error> {
    let lanes = matrix.shape().lanes;
    // Every thread gets a run of adjacent lanes; the runs' lengths differ by at most one.
    let threads = (threads.max(1) as u64).min(u64::from(lanes)) as u32;
    let run = |thread: u32| {
        let edge = |thread: u32| (u64::from(lanes) * u64::from(thread) / u64::from(threads)) as u32;
        edge(thread)..edge(thread + 1)
    };
    let work = |thread: u32, pass: u32, slice: u32| {
        if (pass, slice) == (0, 0) {
            matrix.populate(run(thread));
        }
        let lanes = run(thread);
        lanes.clone().step_by(LANES_IN_TURN).all(|first| {
            let segments: [Segment; LANES_IN_TURN] =
                core::array::from_fn(|index| Segment { pass, slice, lane: first + index as u32 });
            let left = (lanes.end - first) as usize;
            fill.run(matrix, &segments[..left.min(LANES_IN_TURN)], stop)
        })
    };
    let done = if threads == 1 {
        in_turn(matrix, 1, &work, after)
    } else {
        on_threads(matrix, threads, &work, stop, after)
    };
    if done { Ok(()) } else { Err(Error::Stopped) }
}

/// Every pass and slice in order.
fn steps(matrix: &Matrix) -> impl Iterator<Item = (u32, u32)> + use<> {
    (0..matrix.shape().passes).flat_map(|pass| (0..SLICES).map(move |slice| (pass, slice)))
}

/// Runs `work` for each thread and step; between steps all threads wait for each other,
/// and one of them decides for all whether to go on.
#[cfg(feature = "std")]
fn on_threads(
    matrix: &Matrix,
    threads: u32,
    work: &(dyn Fn(u32, u32, u32) -> bool + Sync),
    stop: &Stop,
    after: &(dyn Fn() + Sync),
) -> bool {
    use core::sync::atomic::{AtomicBool, Ordering};
    use std::sync::Barrier;

    let meeting = Barrier::new(threads as usize);
    let go_on = AtomicBool::new(true);
    let run = |thread: u32| {
        for (pass, slice) in steps(matrix) {
            work(thread, pass, slice);
            if meeting.wait().is_leader() {
                after();
                go_on.store(!stop.is_stopped(), Ordering::Relaxed);
            }
            // The second barrier publishes the leader's decision.
            meeting.wait();
            if !go_on.load(Ordering::Relaxed) {
                return;
            }
        }
    };
    let all_there = std::thread::scope(|scope| {
        let run = &run;
        let mut starts = Vec::new();
        for thread in 1..threads {
            // No thread reaches the first barrier before all have started; a thread whose sender is
            // dropped exits.
            let (start, started) = std::sync::mpsc::channel::<()>();
            let wait_and_run = move || {
                if started.recv().is_ok() {
                    run(thread);
                }
            };
            if std::thread::Builder::new().spawn_scoped(scope, wait_and_run).is_err() {
                return false;
            }
            starts.push(start);
        }
        for start in &starts {
            // The send succeeds: the thread is waiting for it.
            let _ = start.send(());
        }
        run(0);
        true
    });
    if all_there { go_on.load(Ordering::Relaxed) } else { in_turn(matrix, threads, work, after) }
}

/// Without threads the lanes of a slice run one after another.
#[cfg(not(feature = "std"))]
fn on_threads(
    matrix: &Matrix,
    threads: u32,
    work: &(dyn Fn(u32, u32, u32) -> bool + Sync),
    _: &Stop,
    after: &(dyn Fn() + Sync),
) -> bool {
    in_turn(matrix, threads, work, after)
}

/// All shares of a slice on this thread.
fn in_turn(
    matrix: &Matrix,
    threads: u32,
    work: &(dyn Fn(u32, u32, u32) -> bool + Sync),
    after: &(dyn Fn() + Sync),
) -> bool {
    steps(matrix).all(|(pass, slice)| {
        let done = (0..threads).all(|thread| work(thread, pass, slice));
        after();
        done
    })
}
