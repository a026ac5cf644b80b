//! Ordered output from unordered workers: each writes its chunk after all previous chunks.

use std::io::{self, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// A pipe, and whose turn it is.
pub(super) struct Turns<'a> {
    state: Mutex<State<'a>>,
    turned: Condvar,
}

struct State<'a> {
    turn: u64,
    pipe: &'a mut (dyn Write + Send),
}

impl<'a> Turns<'a> {
    /// Ticket 0 goes first.
    pub(super) fn new(pipe: &'a mut (dyn Write + Send)) -> Self {
        Self { state: Mutex::new(State { turn: 0, pipe }), turned: Condvar::new() }
    }

    /// Waits for the ticket's turn and writes. Once `broken` is set, gives up with an error that is
    /// never reported.
    pub(super) fn write(&self, ticket: u64, buf: &[u8], broken: &AtomicBool) -> io::Result<()> {
        let mut state = self.state();
        while state.turn != ticket {
            if broken.load(Ordering::Relaxed) {
                return Err(io::ErrorKind::Interrupted.into());
            }
            state = self.turned.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        state.pipe.write_all(buf)?;
        state.turn += 1;
        drop(state);
        self.turned.notify_all();
        Ok(())
    }

    /// Makes all waiting workers check `broken`.
    pub(super) fn wake(&self) {
        // A worker that has already checked holds the lock until it waits.
        drop(self.state());
        self.turned.notify_all();
    }

    fn state(&self) -> MutexGuard<'_, State<'a>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
