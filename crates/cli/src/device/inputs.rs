//! What a command line reads, and therefore must not write to: known by device and inode, and
//! compared with what was opened to be written.
//!
//! All options that name a file count, all operands that do, and standard input; except for those
//! that name what the command makes or edits.

use crate::args::{Args, Opt, shared};
use crate::device::identity::Identity;
use crate::device::resolve;
use crate::output::failure::{Exit, Failure, Result};
use crate::process::encoding::encoded;
use keyway::storage::Storage;
use rustix::fd::AsFd;
use std::path::{Path, PathBuf};

/// The files and devices that a command line reads.
#[derive(Debug, Clone, Default)]
pub(crate) struct Inputs {
    known: Vec<Known>,
}

encoded!(Inputs { known });

#[derive(Debug, Clone)]
struct Known {
    /// As it was named; empty for standard input.
    name: PathBuf,
    identity: Identity,
}

encoded!(Known { name, identity });

impl Inputs {
    /// All of them, but for these operands and options, which name what is written.
    pub(crate) fn from_args(args: &Args, operands: &[usize], options: &[&'static Opt]) -> Self {
        let is_written = |option: &Opt| options.iter().any(|own| std::ptr::eq(*own, option));
        let named = args.paths().into_iter().filter(|(option, _)| !is_written(option));
        let named = named.filter_map(|(option, path)| {
            let known = Known::at(path)?;
            // A key that is kept at an offset of a device is that part of it alone.
            let is_part = known.identity.is_block() && offset_of(option).is_some_and(|it| args.given(it));
            (!is_part).then_some(known)
        });
        let operands = args.operand_paths().filter(|(index, _)| !operands.contains(index));
        let operands = operands.filter_map(|(_, path)| Known::at(path));
        Self { known: named.chain(operands).chain(Known::stdin()).collect() }
    }

    /// Refuses what was opened at `path` to be written, if it is one of them.
    pub(crate) fn check(&self, opened: impl AsFd, path: &Path) -> Result<()> {
        Identity::of_open(opened).map_or(Ok(()), |identity| self.check_identity(identity, path))
    }

    /// The same for storage. (An export or an object has no identity.)
    pub(crate) fn check_storage(&self, opened: &dyn Storage, path: &Path) -> Result<()> {
        Identity::of_storage(opened).map_or(Ok(()), |identity| self.check_identity(identity, path))
    }

    fn check_identity(&self, identity: Identity, path: &Path) -> Result<()> {
        let Some(known) = self.known.iter().find(|known| known.identity.overlaps(identity)) else {
            return Ok(());
        };
        let message = match known.name.as_os_str().is_empty() {
            true => format!("{} is this command's standard input; name another file.", path.display()),
            false => format!("{} is an input of this command; name another file.", known.name.display()),
        };
        Err(Failure::new(Exit::Parameters, message))
    }
}

impl Known {
    fn at(path: &Path) -> Option<Self> {
        if path == Path::new("-") {
            return None;
        }
        let name = resolve(path);
        let identity = Identity::at(&name)?;
        Some(Self { name, identity })
    }

    fn stdin() -> Option<Self> {
        Some(Self { name: PathBuf::new(), identity: Identity::of_open(rustix::stdio::stdin())? })
    }
}

/// The option that says where in its file a key begins.
fn offset_of(option: &Opt) -> Option<&'static Opt> {
    let pairs =
        [(&shared::KEY_FILE, &shared::KEYFILE_OFFSET), (&shared::NEW_KEYFILE, &shared::NEW_KEYFILE_OFFSET)];
    pairs.into_iter().find(|(file, _)| std::ptr::eq(*file, option)).map(|(_, offset)| offset)
}
