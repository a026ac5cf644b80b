//! What is done with a volume's data, and whether other programs may use it at the same time.

use crate::door::{Args, shared};
use crate::process::handed::handed;
use crate::say::failure::{Exit, Failure};

/// What a command is going to do with the data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Data {
    /// Read, even while other programs write.
    Read,
    /// Read while a door is open: no other program may write in the meantime.
    Show,
    /// Read and write, exclusively.
    Write,
}

/// Whether a volume may be used although other programs use it (`--shared`).
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Sharing {
    /// It may.
    pub(crate) allowed: bool,
    /// The command has the option.
    is_offered: bool,
}

handed!(Sharing { allowed, is_offered });

impl Sharing {
    /// For every command that uses a volume's data.
    pub(crate) fn from_args(args: &Args) -> Self {
        Self { allowed: args.given(&shared::SHARED), is_offered: args.takes(&shared::SHARED) }
    }

    /// If the volume is in use, adds the option that permits sharing, if the command has it.
    pub(super) fn advise(self, failure: Failure) -> Failure {
        let is_busy = failure.exit() == Exit::Busy;
        if self.is_offered && is_busy { failure.adding("--shared uses it anyway.") } else { failure }
    }
}
