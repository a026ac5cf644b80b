//! What is done with a volume's data, and whether other programs may use it at the same time.

use crate::args::{Args, shared};
use crate::output::failure::{Exit, Failure};
use crate::process::encoding::encoded;

/// What a command is going to do with the data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Data {
    /// Read, even while other programs write.
    Read,
    /// Read while a front end is open: no other program may write in the meantime.
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

encoded!(Sharing { allowed, is_offered });

impl Sharing {
    /// For every command that uses a volume's data.
    pub(crate) fn from_args(args: &Args) -> Self {
        // cryptsetup has it for plain volumes only.
        let is_offered =
            args.takes(&shared::SHARED) && args.takes(&shared::READONLY) && !args.is_cryptsetup();
        Self { allowed: args.given(&shared::SHARED), is_offered }
    }

    /// If the volume is in use, adds the options that permit reading, if the command has it.
    pub(super) fn advise(self, failure: Failure) -> Failure {
        let is_busy = failure.exit() == Exit::Busy;
        match self.is_offered && is_busy {
            true => failure.adding("--readonly --shared reads it meanwhile; two writers would destroy it."),
            false => failure,
        }
    }
}
