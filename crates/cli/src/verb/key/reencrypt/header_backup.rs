//! The header backup that is made before a re-encryption begins, and removed when it is complete: it
//! holds the volume key that is to go, and would be wrong to restore from then on.

use super::Asked;
use crate::args::{Args, shared};
use crate::device::explain;
use crate::output::failure::{Exit, Failure, Result};
use keyway::storage::{File, Storage};
use keyway::{Device, Header, Luks1Files};
use std::cell::OnceCell;
use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

/// What was said of the header backup, and the file.
#[derive(Debug)]
pub(super) struct HeaderBackup {
    /// `false` with `--no-header-backup`, and called as cryptsetup.
    is_wanted: bool,
    /// `--header-backup-file`.
    named: Option<PathBuf>,
    /// `--keep-header-backup`.
    keeps: bool,
    /// The file, once it is made or found.
    file: OnceCell<PathBuf>,
}

impl HeaderBackup {
    pub(super) fn from_args(args: &Args) -> Self {
        let (named, keeps) =
            (args.path(&shared::HEADER_BACKUP_FILE), args.given(&shared::KEEP_HEADER_BACKUP));
        let none = args.given(&shared::NO_HEADER_BACKUP);
        let is_wanted = !none && !args.is_cryptsetup();
        Self { is_wanted, named: named.map(Path::to_owned), keeps, file: OnceCell::new() }
    }

    /// Where that of the volume with this UUID is; `None` where there is to be none.
    pub(super) fn path(&self, uuid: &str) -> Option<PathBuf> {
        let default = || PathBuf::from(format!("LUKS-{uuid}-before-reencrypt.header"));
        self.is_wanted.then(|| self.named.clone().unwrap_or_else(default))
    }

    /// Whether `--header-backup-file` names it.
    pub(super) fn is_named(&self) -> bool {
        self.named.is_some()
    }

    /// The options that the line has which goes on.
    pub(super) fn again(&self) -> String {
        let named = self.named.as_ref().filter(|_| self.is_wanted);
        let named = named.map(|file| format!(" --header-backup-file {}", file.display()));
        let keeps = if self.keeps { " --keep-header-backup" } else { "" };
        format!("{}{keeps}", named.unwrap_or_default())
    }
}

/// The header in a file of its own, which its owner, root or not, may write to. A file that is exactly this already is
/// taken as it is.
pub(super) fn copy_to(file: &Path, header: &Header) -> keyway::Result<()> {
    if !header.is_backed_up_in(file).unwrap_or(false) {
        header.backup(file)?;
    }
    let _ = fs::set_permissions(file, Permissions::from_mode(0o600));
    Ok(())
}

impl Asked {
    /// Makes the backup: the last thing before the header changes.
    pub(super) fn back_up(&self, header: &Header) -> Result<()> {
        let Some(file) = self.backup.path(header.uuid()) else { return Ok(()) };
        let shown = file.display();
        let is_left = self.is_left(header, &file);
        if !is_left && fs::symlink_metadata(&file).is_ok() {
            let message = format!("Header backup file {shown} already exists, from an earlier reencryption.");
            return Err(Failure::new(Exit::Parameters, message).hinting(OTHERWISE));
        }
        if !is_left {
            copy_to(&file, header).map_err(|error| {
                explain::placed(error.into(), Some(self.target.header_path())).hinting(OTHERWISE)
            })?;
        }
        let device = self.target.header_path().display();
        say!(
            "The current header is saved in {shown}, {}.\nUntil data changes, \"keyway luksHeaderRestore \
             --header-backup-file {shown} {device}\" restores it; later it opens only the part not \
             reencrypted yet, and finally nothing.",
            if self.backup.keeps {
                "and stays there"
            } else {
                "until the reencryption is complete: it is removed then"
            }
        );
        let _ = self.backup.file.set(file);
        Ok(())
    }

    /// Whether an attempt left this backup that was cut off before anything changed. One that was named may be the
    /// user's own.
    pub(super) fn is_left(&self, header: &Header, file: &Path) -> bool {
        !self.backup.is_named() && header.is_backed_up_in(file).unwrap_or(false)
    }

    /// As for LUKS1, which keeps the header as it was in a file anyway: only where one is named.
    pub(super) fn back_up_if_named(&self, header: &Header) -> Result<()> {
        if self.backup.named.is_some() { self.back_up(header) } else { Ok(()) }
    }

    /// Nothing was begun: a backup that was made for it goes, unless the header has changed after all.
    pub(super) fn not_begun(&self, device: &Device, error: keyway::Error) -> Failure {
        let is_as_before =
            device.header().is_ok_and(|header| matches!(header.is_in_reencryption(), Ok(false)));
        if let (true, Some(file)) = (is_as_before, self.backup.file.get()) {
            let _ = fs::remove_file(file);
        }
        self.failed(error)
    }

    /// Finds the backup that was made when it began, for one that is resumed.
    pub(super) fn find_backup(&self, device: &Device) {
        let Ok(header) = device.header() else { return };
        let Some(file) = self.backup.path(header.uuid()) else { return };
        // What has that name and is something else stays.
        if uuid_of_backup(&file).is_some_and(|uuid| uuid == header.uuid()) {
            let _ = self.backup.file.set(file);
        }
    }

    /// The same for LUKS1.
    pub(super) fn find_named_backup(&self, files: &Luks1Files) {
        let Some(file) = self.backup.named.clone().filter(|_| self.backup.is_wanted) else { return };
        let of_backup = uuid_of_backup(&file).map(|uuid| Luks1Files::new("", &uuid).state());
        if of_backup.is_some_and(|state| state == files.state()) {
            let _ = self.backup.file.set(file);
        }
    }

    /// It is complete: the old volume key goes with the backup.
    pub(super) fn end_backup(&self) {
        let Some(file) = self.backup.file.get() else { return };
        let shown = file.display();
        if self.backup.keeps {
            say!(
                "WARNING: the header backup {shown} has the old volume key: restored now, it would leave nothing on the \
                 volume readable."
            );
            return;
        }
        match wipe(file) {
            Ok(()) => say!("The header backup {shown} is removed: it had the old volume key."),
            Err(error) => {
                say!(
                    "WARNING: the header backup {shown} cannot be removed ({error}): it has the old volume key."
                );
            }
        }
    }
}

/// The UUID in a file that is the backup of a header, not made in the middle of a re-encryption.
fn uuid_of_backup(file: &Path) -> Option<String> {
    // In a directory that others write to, too, a file of theirs is not ours to remove.
    let user = rustix::process::geteuid().as_raw();
    let is_own = fs::symlink_metadata(file).is_ok_and(|found| found.is_file() && found.uid() == user);
    let header = if is_own { Device::open(file).ok()?.header().ok()? } else { return None };
    matches!(header.is_in_reencryption(), Ok(false)).then(|| header.uuid().to_owned())
}

/// Overwrites the file, as far as its file system does that in place, and removes it.
fn wipe(file: &Path) -> std::io::Result<()> {
    if let Ok(storage) = File::open_rw(file) {
        let len = storage.len();
        storage.write_zeroes(0..len, false)?;
        storage.flush()?;
    }
    fs::remove_file(file)
}

const OTHERWISE: &str =
    "--header-backup-file FILE puts it elsewhere, --no-header-backup goes without. Nothing was changed.";
