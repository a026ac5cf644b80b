//! What a command that makes a file or overwrites a device may replace, and what never.

use crate::args::{Args, Opt, shared};
use crate::device::Inputs;

/// Whether a command may overwrite existing files (`--force`), and the files that it must not
/// overwrite even then: those that it reads. Without them, the new volume or the source that it was
/// made from would be lost.
#[derive(Debug, Clone, Default)]
pub(crate) struct Replacing {
    /// An existing file may be replaced.
    pub(crate) force: bool,
    /// What the command line reads.
    pub(crate) inputs: Inputs,
}

impl Replacing {
    /// `--force`, and all files of the command line but those of `operands` and `options`: they name
    /// the output, or may be replaced by it.
    pub(crate) fn from_args(args: &Args, operands: &[usize], options: &[&'static Opt]) -> Self {
        Self { force: args.given(&shared::FORCE), inputs: Inputs::from_args(args, operands, options) }
    }
}
