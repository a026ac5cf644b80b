//! Edits of a header as a whole: its conversion and its backup.

use super::Header;
use crate::Result;
use crate::Version;
use crate::error::At;
use keyway_volume::OsRandom;
use keyway_volume::change::{backup, convert};
use std::path::Path;

impl Header {
    /// Converts the header to another version, in place. Make a [`backup`](Header::backup) first.
    ///
    /// ```
    /// # use keyway::*;
    /// # let key = Key::passphrase("correct horse");
    /// # let device = Create::luks1().kdf(NewKdf::pbkdf2(1000)).in_memory(1 << 20, &key)?;
    /// device.header()?.convert(Version::Luks2)?;
    /// assert_eq!(device.probe()?, Probe::Luks2);
    /// device.unlock(&key)?;
    /// # Ok::<(), keyway::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`ErrorKind::InUse`](crate::ErrorKind::InUse): the volume is in use; LUKS1 cannot express
    /// the header; there is no room; [`ErrorKind::ReadOnly`](crate::ErrorKind::ReadOnly).
    pub fn convert(&mut self, version: Version) -> Result<()> {
        self.check_writable()?;
        match version {
            Version::Luks1 => convert::to_luks1(&mut self.luks, &mut OsRandom),
            Version::Luks2 => convert::to_luks2(&mut self.luks, &mut OsRandom),
        }
        .at(&self.place)
    }

    /// Copies header and keyslots to a new file, which only its owner may read. All current
    /// passphrases open the backup, even after they are changed or killed in the header. The file
    /// is the same as cryptsetup's.
    ///
    /// ```
    /// # use keyway::*;
    /// # let directory = std::env::temp_dir().join(format!("keyway-backup-{}", std::process::id()));
    /// # std::fs::create_dir_all(&directory)?;
    /// # let file = directory.join("disk.header");
    /// # let key = Key::passphrase("correct horse");
    /// # let device = Create::luks2().kdf(NewKdf::pbkdf2(1000)).in_memory(1 << 20, &key)?;
    /// device.header()?.backup(&file)?;
    /// device.header()?.erase()?;
    ///
    /// let restore = device.restore_header(&file)?;
    /// assert!(!restore.loses_seal());
    /// for warning in restore.warnings() {
    ///     eprintln!("{warning}");
    /// }
    /// restore.run()?;
    /// device.unlock(&key)?;
    /// # std::fs::remove_dir_all(&directory)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`ErrorKind::Exists`](crate::ErrorKind::Exists); the file cannot be written; a re-encryption is
    /// under way: a backup of its header would be wrong to restore as soon as it goes on.
    pub fn backup(&self, file: impl AsRef<Path>) -> Result<()> {
        backup::check_settled(self.luks.header()).at(&self.place)?;
        self.backup_midway(file)
    }

    /// As [`Header::backup`], and as cryptsetup: also in the middle of a re-encryption. Such a backup
    /// loses data when it is restored after that has gone on.
    ///
    /// # Errors
    /// The others of [`Header::backup`].
    pub fn backup_midway(&self, file: impl AsRef<Path>) -> Result<()> {
        backup::backup(&self.luks, file.as_ref()).at(&self.place)
    }

    /// Whether this file is what [`Header::backup`] would make of the header as it is now: left by an attempt, say, that
    /// was cut off before it changed anything. It belongs to this user, and is no link.
    ///
    /// ```
    /// # use keyway::*;
    /// # let directory = std::env::temp_dir().join(format!("keyway-backed-up-{}", std::process::id()));
    /// # std::fs::create_dir_all(&directory)?;
    /// # let file = directory.join("disk.header");
    /// # let key = Key::passphrase("correct horse");
    /// # let device = Create::luks2().kdf(NewKdf::pbkdf2(1000)).in_memory(1 << 20, &key)?;
    /// device.header()?.backup(&file)?;
    /// assert!(device.header()?.is_backed_up_in(&file)?);
    /// device.header()?.set_label("other")?;
    /// assert!(!device.header()?.is_backed_up_in(&file)?);
    /// # std::fs::remove_dir_all(&directory)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// The header's keyslots cannot be read.
    pub fn is_backed_up_in(&self, file: impl AsRef<Path>) -> Result<bool> {
        backup::is_backup(&self.luks, file.as_ref()).at(&self.place)
    }
}
