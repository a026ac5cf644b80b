//! What is done to a volume's data, and whether others may use it meanwhile.

use crate::door::{Args, shared};
use crate::process::handed::handed;
use crate::say::failure::{Exit, Failure};
use keyway_volume::in_use;

/// What is going to be done to the data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Data {
    /// Reading, whoever else writes.
    Read,
    /// Reading for as long as a door is open: nobody may write meanwhile.
    Show,
    /// Reading and writing, alone.
    Write,
}

impl Data {
    /// What others are told.
    pub(super) fn claims(self) -> Option<in_use::Access> {
        match self {
            Self::Read => None,
            Self::Show => Some(in_use::Access::ReadOnly),
            Self::Write => Some(in_use::Access::Write),
        }
    }
}

/// Whether a volume is used although others do (`--shared`).
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Sharing {
    /// It is.
    pub(crate) allowed: bool,
    /// The command has the option.
    is_offered: bool,
}

handed!(Sharing { allowed, is_offered });

impl Sharing {
    /// Of every command that uses a volume's data.
    pub(crate) fn from_args(args: &Args) -> Self {
        Self { allowed: args.given(&shared::SHARED), is_offered: args.takes(&shared::SHARED) }
    }

    /// Names the way out of a volume in use, where the command has one.
    pub(super) fn advise(self, failure: Failure) -> Failure {
        let is_busy = failure.exit() == Exit::Busy;
        if self.is_offered && is_busy { failure.adding("--shared uses it all the same.") } else { failure }
    }
}
