//! Files that a command creates. They are complete or absent, replace an existing file only on
//! request, and are readable only by users who may read what went into them. Nothing that the
//! command reads is replaced, nor what somebody uses.

use crate::device::{self, Inputs, content, explain, place};
use crate::make::replacing::Replacing;
use crate::output::failure::{Exit, Failure, Result};
use crate::output::manner::Manner;
use crate::output::transfer::cannot_write;
use crate::output::{question, stdio};
use crate::process::interrupt::{self, Pending};
use keyway::devices::{self, InUse};
use keyway::parts::Error;
use keyway::storage::{Exclusive, File, NewFile, Place, Readers};
use std::fs;
use std::io;
use std::os::fd::AsFd;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A file being created. If a signal ends the program, nothing of it is left behind.
pub(crate) struct Creation {
    file: NewFile,
    path: PathBuf,
    /// The file that is replaced, claimed so that no other program uses it.
    _replaced: Option<InUse>,
    _pending: Option<Pending>,
}

impl Creation {
    /// Starts `path`. To replace an existing file, `--force` is needed; it must not be one that the
    /// command reads.
    pub(crate) fn start(replacing: &Replacing, path: &Path) -> Result<Self> {
        // Renaming over it would turn /dev/null, a pipe or a terminal into a file.
        if fs::metadata(path).is_ok_and(|found| !found.is_file()) {
            let message =
                format!("{} is not a regular file: a new file or a block device is needed.", path.display());
            return Err(Failure::new(Exit::Device, message));
        }
        let file = NewFile::create(path, replacing.force).map_err(|e| place::refused(path, &e))?;
        file.replaced().map_or(Ok(()), |object| replacing.inputs.check(object, path))?;
        replacing.inputs.check_new(&file, path)?;
        let replaced = devices::claim_replaced(&file).map_err(|e| explain::placed(e.into(), Some(path)))?;
        let pending = file.temporary().map(|name| interrupt::clean_up(move || name.remove()));
        Ok(Self { file, path: path.to_owned(), _replaced: replaced, _pending: pending })
    }

    /// The file.
    pub(crate) fn file(&self) -> &Arc<File> {
        self.file.file()
    }

    /// The file in the making.
    pub(crate) fn new_file(&self) -> &NewFile {
        &self.file
    }

    /// Its final name.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// As [`Creation::complete`]; only its owner may read it.
    pub(crate) fn complete_for_owner(self) -> Result<()> {
        self.complete(Readers::Owner)
    }

    /// Syncs the file to stable storage and gives it its final name; `readers` are the users who
    /// may read everything that went into it.
    pub(crate) fn complete(self, readers: Readers) -> Result<()> {
        self.file.complete(readers).map_err(|e| cannot_write(&self.path.display(), None, &e))
    }
}

/// A text file that is written at once and in place: an existing one only with `replace`, and
/// neither one that the command reads nor one that somebody uses. `words` says why it cannot be.
pub(crate) fn text_file(
    path: &Path,
    (replace, mode): (bool, u32),
    inputs: &Inputs,
    words: impl Fn(io::Error) -> Failure,
) -> Result<fs::File> {
    let place = Place::find(path, replace).map_err(&words)?;
    if !replace {
        return place.make(mode).map_err(words);
    }
    let file = place.make_or_open(mode).map_err(&words)?;
    let kind = file.metadata().map_err(&words)?.file_type();
    if kind.is_block_device() {
        return Err(words(io::Error::other("it is a block device, not a file")));
    }
    if kind.is_file() {
        inputs.check(&file, path)?;
        refuse_held(&file, path)?;
        file.set_len(0).map_err(words)?;
    }
    Ok(file)
}

/// Claims the device or export that an output overwrites; it must not be one that the command
/// reads.
pub(crate) fn overwrite(replacing: &Replacing, path: &Path) -> Result<Exclusive> {
    let device = device::overwritten(path)?;
    replacing.inputs.check_storage(&**device, path)?;
    Ok(device)
}

/// Asks before what is on a device is lost. Where nobody can be asked, a device that holds something
/// is overwritten only with `--force` or `-q`.
pub(crate) fn confirm(
    manner: Manner,
    replacing: &Replacing,
    device: &Exclusive,
    path: &Path,
    with: &str,
) -> Result<()> {
    let found = content::found(&***device, path)?;
    let is_terminal = rustix::termios::isatty(rustix::stdio::stdin());
    match found.first() {
        Some(first) if !is_terminal && !manner.batch_mode && !replacing.force => {
            return Err(Failure::new(Exit::Busy, format!("{first} --force replaces it.")));
        }
        _ if is_terminal && !manner.batch_mode => {
            found.iter().try_for_each(|line| stdio::print(&format!("WARNING: {line}\n")))?;
        }
        _ => {}
    }
    let warning = format!("This will overwrite data on {} irrevocably{with}.", path.display());
    question::confirm(manner, &warning, "Operation aborted.", Exit::Parameters)
}

/// Refuses a file that is mounted, swapped to, or attached to a loop device.
fn refuse_held(file: &fs::File, path: &Path) -> Result<()> {
    let holder = devices::holder_of(file.as_fd());
    holder.map_or(Ok(()), |holder| Err(explain::on_device(path, &Error::InUse(holder))))
}

/// The way out where there is no device, for the commands that have `--size`.
pub(crate) const BY_SIZE: &str = "; --size 1G makes a new file";

/// Creates the file of a detached header.
pub(crate) fn new_header(path: &Path) -> Result<File> {
    let file = File::create_new(path);
    file.map_err(|e| {
        Failure::new(Exit::Parameters, format!("Cannot create header file {}: {e}.", path.display()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use keyway::storage::Storage;

    #[test]
    fn a_file_is_replaced_when_asked_and_unused() {
        let scratch = std::env::temp_dir().join(format!("keyway-creation-{}", std::process::id()));
        fs::create_dir_all(&scratch).unwrap();
        let path = scratch.join("made");
        let write = |path: &Path, text: &[u8], replace: bool| {
            let creation = Creation::start(&Replacing { force: replace, ..Replacing::default() }, path)?;
            creation.file().write_at(text, 0).unwrap();
            creation.complete(Readers::Owner)
        };
        let refused = |path: &Path, replace: bool| {
            let why = write(path, b"never", replace).unwrap_err();
            (why.exit(), why.message().to_owned())
        };
        let shown = path.display();

        assert!(write(&path, b"one", false).is_ok());
        let exists = format!("{shown} already exists; --force replaces it.");
        assert_eq!(refused(&path, false), (Exit::Busy, exists));
        let none = scratch.join("none/made");
        let missing = format!("The directory of {} does not exist.", none.display());
        assert_eq!(refused(&none, false), (Exit::Device, missing));
        let (exit, why) = refused(Path::new("/dev/null"), true);
        assert!(exit == Exit::Device && why.starts_with("/dev/null is not a regular file: "), "{why}");

        // In use: not replaced.
        let user = devices::claim(&File::open(&path).unwrap()).unwrap();
        assert_eq!(refused(&path, true).0, Exit::Busy);
        assert_eq!(fs::read(&path).unwrap(), b"one");
        drop(user);
        assert!(write(&path, b"two", true).is_ok());
        assert_eq!(fs::read(&path).unwrap(), b"two");
        fs::remove_dir_all(&scratch).unwrap();
    }
}
