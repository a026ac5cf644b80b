//! What a command reads, and must not replace: a key file, a header. (The seed of `build` is its own affair.)

use crate::device;
use crate::door::{Args, Opt, shared};
use crate::say::failure::{Exit, Failure, Result};
use std::path::Path;

/// Options that name a file which is read while an output is made. Without it
/// what is made, or what it was made from, is lost.
static READ: [&Opt; 5] = [
    &shared::HEADER,
    &shared::KEY_FILE,
    &shared::NEW_KEYFILE,
    &shared::VOLUME_KEY_FILE,
    &shared::MASTER_KEY_FILE,
];

/// Refuses an output that is one of the options' files.
pub(crate) fn refuse_options(args: &Args, output: &Path) -> Result<()> {
    READ.into_iter().filter_map(|option| args.path(option)).try_for_each(|source| refuse(source, output))
}

/// Refuses an output that is this source: there would be no way back.
pub(crate) fn refuse(source: &Path, output: &Path) -> Result<()> {
    let source = device::resolve(source);
    if !device::is_same(&source, output) {
        return Ok(());
    }
    let message = format!("{} is what is read; name another file.", source.display());
    Err(Failure::new(Exit::Parameters, message))
}
