//! Failures of transfers between a volume and a source or sink.

use crate::output::failure::{Exit, Failure};
use keyway::stream;
use std::fmt::Display;
use std::io::{self, ErrorKind};

/// The line for a transfer that failed between `source` and `sink`.
pub(crate) fn failed(failure: stream::Failure, source: &dyn Display, sink: &dyn Display) -> Failure {
    match failure {
        // The reader of our pipe has closed it.
        stream::Failure::Write { source: e, .. } if e.kind() == ErrorKind::BrokenPipe => {
            Failure::silent(Exit::Parameters)
        }
        stream::Failure::Write { at, source: e } => cannot_write(sink, Some(at), &e),
        stream::Failure::Read { at, source: e } => {
            let (source, why) = (source.to_string(), e.to_string());
            let why = why.strip_prefix(&format!("{source}: ")).unwrap_or(&why);
            Failure::new(Exit::Device, format!("Cannot read {source} at byte {at}: {why}."))
        }
        stream::Failure::TooLong { limit } => {
            let message = format!("{source} is longer than the {limit} bytes that {sink} has room for.");
            Failure::new(Exit::Parameters, message)
        }
        stream::Failure::Stopped => Failure::new(Exit::Parameters, "Stopped."),
        other => Failure::new(Exit::Parameters, format!("Cannot copy {source} to {sink}: {other}.")),
    }
}

/// The line for a sink that can no longer be written.
pub(crate) fn cannot_write(sink: &dyn Display, at: Option<u64>, error: &io::Error) -> Failure {
    let place = at.map(|at| format!(" at byte {at}")).unwrap_or_default();
    let message = match error.kind() {
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded | ErrorKind::FileTooLarge => {
            format!("Cannot write {sink}{place}: no space is left; free some and try again.")
        }
        _ => format!("Cannot write {sink}{place}: {error}."),
    };
    Failure::new(Exit::of_file(error, Exit::Parameters), message).in_cryptsetup(Exit::Parameters)
}
