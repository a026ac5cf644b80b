//! Files that a command creates. They are complete or absent, replace an existing file only on
//! request, and are readable only by users who may read what went into them.

use crate::device::{self, content, explain, place};
use crate::make::replacing::Replacing;
use crate::process::interrupt::{self, Pending};
use crate::say::failure::{Exit, Failure, Result};
use crate::say::manner::Manner;
use crate::say::transfer::cannot_write;
use crate::say::{output, question};
use keyway_volume::in_use::{Access, InUse};
use keyway_volume::storage::{Exclusive, File, NewFile, Readers};
use std::fs;
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
    /// command reads keys from.
    pub(crate) fn start(replacing: &Replacing, path: &Path) -> Result<Self> {
        replacing.check(path)?;
        Self::start_over(path, replacing.force)
    }

    /// Starts `path`, replacing an existing file if `replace` is set.
    pub(crate) fn start_over(path: &Path, replace: bool) -> Result<Self> {
        // Renaming over it would turn /dev/null, a pipe or a terminal into a file.
        if fs::metadata(path).is_ok_and(|found| !found.is_file()) {
            let message =
                format!("{} is not a regular file: a new file or a block device is needed.", path.display());
            return Err(Failure::new(Exit::Device, message));
        }
        let replaced = if replace { claim_replaced(path)? } else { None };
        let file = NewFile::create(path, replace).map_err(|e| place::refused(path, &e))?;
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

    /// Syncs the file to stable storage and gives it its final name; `readers` are the users who
    /// may read everything that went into it.
    pub(crate) fn complete(self, readers: Readers) -> Result<()> {
        self.file.complete(readers).map_err(|e| cannot_write(&self.path.display(), None, &e))
    }
}

/// Claims the device or export that an output overwrites; it must not be one that the command reads
/// keys from.
pub(crate) fn overwrite(replacing: &Replacing, path: &Path) -> Result<Exclusive> {
    replacing.check(path)?;
    device::exclusive(path)
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
            found.iter().try_for_each(|line| output::print(&format!("WARNING: {line}\n")))?;
        }
        _ => {}
    }
    let warning = format!("This will overwrite data on {} irrevocably{with}.", path.display());
    question::confirm(manner, &warning, "Operation aborted.", Exit::Parameters)
}

/// Claims a file that is to be replaced: another program that has it open, or mounted through a
/// loop device, would lose it.
fn claim_replaced(path: &Path) -> Result<Option<InUse>> {
    // A user who cannot read a file may still be able to replace it.
    let Ok(file) = File::open(path) else { return Ok(None) };
    InUse::acquire(&file, Access::Write, false).map(Some).map_err(|e| explain::on_device(path, &e))
}

#[cfg(test)]
mod tests {
    use super::*;
    use keyway_volume::Storage;

    #[test]
    fn a07_a_file_is_replaced_when_asked_and_unused() {
        let scratch = std::env::temp_dir().join(format!("keyway-creation-{}", std::process::id()));
        fs::create_dir_all(&scratch).unwrap();
        let path = scratch.join("made");
        let write = |path: &Path, text: &[u8], replace: bool| {
            let creation = Creation::start_over(path, replace)?;
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
        let user = InUse::acquire(&File::open(&path).unwrap(), Access::Write, false).unwrap();
        assert_eq!(refused(&path, true).0, Exit::Busy);
        assert_eq!(fs::read(&path).unwrap(), b"one");
        drop(user);
        assert!(write(&path, b"two", true).is_ok());
        assert_eq!(fs::read(&path).unwrap(), b"two");
        fs::remove_dir_all(&scratch).unwrap();
    }
}
