//! How much a command prints, and whether it asks questions.

use crate::process::encoding::encoded;

/// The effect of `-v`, `--debug`, `--debug-json` and `--batch-mode`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Manner {
    /// More is printed (`-v`, or `--debug`).
    pub(crate) verbose: bool,
    /// Each step is shown with its reason.
    pub(crate) debug: bool,
    /// LUKS2 metadata is shown as well.
    pub(crate) debug_json: bool,
    /// Questions are taken as answered with yes.
    pub(crate) batch_mode: bool,
}

encoded!(Manner { verbose, debug, debug_json, batch_mode });
