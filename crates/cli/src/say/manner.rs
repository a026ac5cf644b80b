//! How much a command says, and whether it asks.

use crate::process::handed::handed;

/// What `-v`, `--debug`, `--debug-json` and `--batch-mode` ask for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Manner {
    /// More is said (`-v`, or `--debug`).
    pub(crate) verbose: bool,
    /// What is done is shown, and why.
    pub(crate) debug: bool,
    /// LUKS2 metadata is shown with it.
    pub(crate) debug_json: bool,
    /// Questions are taken as answered.
    pub(crate) batch_mode: bool,
}

handed!(Manner { verbose, debug, debug_json, batch_mode });
