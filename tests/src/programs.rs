//! Programs that a test puts somewhere to have them run.
//!
//! A program that any process holds open for writing is not executed ("Text file busy", `ETXTBSY`). What this process
//! writes itself, a child that another test's thread forks at that moment holds open until it executes. So children write
//! them, which fork no more.

use crate::peers::peer;
use std::path::Path;

/// Copies a program, or what executing one opens: its loader, its libraries.
pub fn copy(from: impl AsRef<Path>, to: impl AsRef<Path>) {
    peer("cp", "--").arg(from.as_ref()).arg(to.as_ref()).ok();
}

/// Writes a script that everybody may run.
pub fn script(path: impl AsRef<Path>, text: &str) {
    peer("install", "-m 755 /dev/stdin").arg(path.as_ref()).stdin(text).ok();
}
