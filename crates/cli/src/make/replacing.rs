//! What a command reads, and must not replace: a key file, a header.

use crate::device;
use crate::door::{Args, Opt, shared};
use crate::say::failure::{Exit, Failure, Result};
use std::path::{Path, PathBuf};

/// Whether a command may write over what is there (`--force`), and the files that it must not
/// take for that: those that its options name to be read. Without them what is made, or what it
/// was made from, is lost.
#[derive(Debug, Clone, Default)]
pub(crate) struct Replacing {
    /// A file that exists may be replaced.
    pub(crate) force: bool,
    sources: Vec<PathBuf>,
}

impl Replacing {
    /// `--force`, and the files of the other options.
    pub(crate) fn from_args(args: &Args) -> Self {
        let sources = READ.into_iter().filter_map(|option| args.path(option)).map(Path::to_owned).collect();
        Self { force: args.given(&shared::FORCE), sources }
    }

    /// One file more that is read.
    pub(crate) fn reading(mut self, source: &Path) -> Self {
        self.sources.push(source.to_owned());
        self
    }

    /// Refuses an output that is one of the files.
    pub(crate) fn check(&self, output: &Path) -> Result<()> {
        self.sources.iter().try_for_each(|source| refuse(source, output))
    }
}

/// Options that name a file which is read while an output is made.
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
    let message = format!("{} is what is read; name another file.", source.display());
    Err(Failure::new(Exit::Parameters, message))
}
