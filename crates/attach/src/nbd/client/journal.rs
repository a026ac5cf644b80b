//! Writes that a lost connection may have cost: those that the server had acknowledged but not
//! flushed.
//!
//! A server that was restarted has lost what was in its memory, and would report a flush of nothing
//! as a success. So a flush succeeds only if all connections that carried writes since the previous
//! flush are still intact.

use std::io;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The writes of one client, on all its connections.
#[derive(Debug, Default)]
pub(super) struct Journal(Mutex<Writes>);

#[derive(Debug, Default)]
struct Writes {
    /// How many writes were sent.
    sent: u64,
    /// How many of them were answered.
    answered: u64,
    /// The value of `answered` when the last successful flush began.
    flushed: u64,
    /// Why some writes may be lost. This state is final.
    lost: Option<String>,
}

impl Journal {
    /// Fails when writes may have been lost.
    pub(super) fn check(&self) -> io::Result<()> {
        match &self.writes().lost {
            Some(why) => Err(io::Error::new(io::ErrorKind::ConnectionAborted, why.clone())),
            None => Ok(()),
        }
    }

    pub(super) fn write_begins(&self) {
        self.writes().sent += 1;
    }

    /// The server has answered a write; returns the number of writes answered so far.
    pub(super) fn write_ends(&self) -> u64 {
        let mut writes = self.writes();
        writes.answered += 1;
        writes.answered
    }

    /// How many of the answered writes are known to be on stable storage.
    pub(super) fn flushed(&self) -> u64 {
        self.writes().flushed
    }

    /// The write never reached the server.
    pub(super) fn write_stays(&self) {
        self.writes().sent -= 1;
    }

    /// The number of writes that a flush beginning now will bring to stable storage.
    pub(super) fn flush_begins(&self) -> u64 {
        self.writes().answered
    }

    pub(super) fn flush_succeeded(&self, answered: u64) {
        let mut writes = self.writes();
        writes.flushed = writes.flushed.max(answered);
    }

    /// Called when a connection was lost.
    pub(super) fn connection_lost(&self, why: &io::Error) {
        let mut writes = self.writes();
        if writes.sent > writes.flushed {
            writes.lost.get_or_insert_with(|| {
                format!("the connection was lost ({why}); writes since the last flush may be lost too")
            });
        }
    }

    fn writes(&self) -> MutexGuard<'_, Writes> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_unflushed_writes_can_be_lost() {
        let lost = || io::Error::from(io::ErrorKind::BrokenPipe);
        let journal = Journal::default();
        journal.connection_lost(&lost());
        journal.check().unwrap();

        journal.write_begins();
        journal.write_stays();
        journal.connection_lost(&lost());
        journal.check().unwrap();

        journal.write_begins();
        journal.write_ends();
        let mark = journal.flush_begins();
        journal.flush_succeeded(mark);
        journal.connection_lost(&lost());
        journal.check().unwrap();

        journal.write_begins();
        let mark = journal.flush_begins();
        journal.write_ends();
        // The flush began before the answer, so it need not have covered the write.
        journal.flush_succeeded(mark);
        journal.connection_lost(&lost());
        assert!(journal.check().unwrap_err().to_string().contains("since the last flush"));
    }
}
