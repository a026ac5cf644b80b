//! What a command line reads, and therefore must not write to: known by device and inode, and
//! compared with what was opened to be written.
//!
//! All options that name a file count, all operands that do, and standard input; except for those
//! that name what the command makes or edits. A folder of key files is all of its files, and what would
//! become one of them.

use crate::args::{Args, Opt, shared};
use crate::device::identity::Identity;
use crate::device::resolve;
use crate::output::failure::{Exit, Failure, Result};
use crate::process::encoding::encoded;
use keyway::storage::{NewFile, Storage};
use rustix::fd::AsFd;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// The files and devices that a command line reads.
#[derive(Debug, Clone, Default)]
pub(crate) struct Inputs {
    known: Vec<Known>,
    folders: Vec<Folder>,
}

encoded!(Inputs { known, folders });

#[derive(Debug, Clone)]
struct Known {
    /// As it was named; empty for standard input.
    name: PathBuf,
    identity: Identity,
}

encoded!(Known { name, identity });

/// A folder whose files are key files.
#[derive(Debug, Clone)]
struct Folder {
    name: PathBuf,
    device: u64,
    inode: u64,
}

encoded!(Folder { name, device, inode });

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
        let folders: Vec<_> = args
            .paths()
            .into_iter()
            .filter(|(option, _)| !is_written(option) && names_key_files(option))
            .filter_map(|(_, path)| Folder::at(path))
            .collect();
        let in_folders = folders.iter().flat_map(Folder::files);
        let known = named.chain(operands).chain(in_folders).chain(Known::stdin()).collect();
        Self { known, folders }
    }

    /// Refuses a new file that would be one of the key files from then on.
    pub(crate) fn check_new(&self, new: &NewFile, path: &Path) -> Result<()> {
        let is_its_own =
            |folder: &&Folder| new.will_be_seen_in((folder.device, folder.inode)).unwrap_or_default();
        self.folders.iter().find(is_its_own).map_or(Ok(()), |folder| {
            let message = format!(
                "{} would become one of the key files in {}, which would then open nothing; choose another \
                 directory.",
                path.display(),
                folder.name.display()
            );
            Err(Failure::new(Exit::Parameters, message))
        })
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

impl Folder {
    fn at(path: &Path) -> Option<Self> {
        let found = fs::metadata(path).ok().filter(fs::Metadata::is_dir)?;
        Some(Self { name: path.to_owned(), device: found.dev(), inode: found.ino() })
    }

    /// Its key files: hidden ones are none.
    fn files(&self) -> impl Iterator<Item = Known> {
        let entries = fs::read_dir(&self.name).into_iter().flatten().flatten();
        let visible = entries.filter(|entry| !entry.file_name().as_bytes().starts_with(b"."));
        visible.filter_map(|entry| Known::at(&entry.path()))
    }
}

/// Whether a folder that it names stands for the files in it.
fn names_key_files(option: &Opt) -> bool {
    ["key-file", "keyfile"].iter().any(|end| option.long.ends_with(end))
}

/// The option that says where in its file a key begins.
fn offset_of(option: &Opt) -> Option<&'static Opt> {
    let pairs =
        [(&shared::KEY_FILE, &shared::KEYFILE_OFFSET), (&shared::NEW_KEYFILE, &shared::NEW_KEYFILE_OFFSET)];
    pairs.into_iter().find(|(file, _)| std::ptr::eq(*file, option)).map(|(_, offset)| offset)
}
