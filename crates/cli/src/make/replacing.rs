//! Files that a command reads and must not replace, such as a key file or a header.

use crate::device;
use crate::door::{Args, Opt, shared};
use crate::say::failure::{Exit, Failure, Result};
use std::path::{Path, PathBuf};

/// Whether a command may overwrite existing files (`--force`), and the files that it must not
/// overwrite even then: those that its options name to be read. Without them, the new volume or the
/// source that it was made from would be lost.
#[derive(Debug, Clone, Default)]
pub(crate) struct Replacing {
    /// An existing file may be replaced.
    pub(crate) force: bool,
    sources: Vec<PathBuf>,
}

impl Replacing {
    /// `--force`, and the files of the other options.
    pub(crate) fn from_args(args: &Args) -> Self {
        let sources = READ.into_iter().filter_map(|option| args.path(option)).map(Path::to_owned).collect();
        Self { force: args.given(&shared::FORCE), sources }
    }

    /// Adds a file that is read.
    pub(crate) fn reading(mut self, source: &Path) -> Self {
        self.sources.push(source.to_owned());
        self
    }

    /// Refuses an output that is one of these files.
    pub(crate) fn check(&self, output: &Path) -> Result<()> {
        self.sources.iter().try_for_each(|source| refuse(source, output))
    }
}

/// Options that name a file that is read while an output is made.
static READ: [&Opt; 5] = [
    &shared::HEADER,
    &shared::KEY_FILE,
    &shared::NEW_KEYFILE,
    &shared::VOLUME_KEY_FILE,
    &shared::MASTER_KEY_FILE,
];

fn refuse(source: &Path, output: &Path) -> Result<()> {
    let source = device::resolve(source);
    if !device::is_same(&source, output) {
        return Ok(());
    }
    let message = format!("{} is an input of this command; name another file.", source.display());
    Err(Failure::new(Exit::Parameters, message))
}
