//! Edits of what a header says about its volume: label, subsystem, UUID, priorities.

use super::{Header, Priority};
use crate::Result;
use crate::error::At;
use keyway_format::luks2;
use keyway_volume::OsRandom;
use keyway_volume::change::edit;
use keyway_volume::header::seal::Renewal;

impl Header {
    /// The label; empty where there is none, as in LUKS1. See [`Header`] for an example.
    pub fn label(&self) -> &str {
        match self.luks.header() {
            keyway_volume::Header::Luks1(_) => "",
            keyway_volume::Header::Luks2 { binary, .. } => &binary.label,
        }
    }

    /// The subsystem, a second label; empty where there is none, as in LUKS1. See
    /// [`Header::set_names`] for an example.
    pub fn subsystem(&self) -> &str {
        match self.luks.header() {
            keyway_volume::Header::Luks1(_) => "",
            keyway_volume::Header::Luks2 { binary, .. } => &binary.subsystem,
        }
    }

    /// Sets the label, at most 47 bytes (LUKS2).
    ///
    /// ```
    /// # use keyway::*;
    /// # let key = Key::passphrase("correct horse");
    /// # let device = Create::luks2().kdf(NewKdf::pbkdf2(1000)).in_memory(1 << 20, &key)?;
    /// device.header()?.set_label("backup")?;
    /// assert_eq!(device.header()?.label(), "backup");
    /// # Ok::<(), keyway::Error>(())
    /// ```
    ///
    /// # Errors
    /// It is too long, or the header is LUKS1; [`ErrorKind::ReadOnly`](crate::ErrorKind::ReadOnly).
    pub fn set_label(&mut self, label: &str) -> Result<()> {
        self.check_writable()?;
        let renewal = self.renewal.as_ref().map(|volume_key| Renewal { volume_key });
        edit::set_label(&mut self.luks, Some(label), None, renewal, &mut OsRandom).at(&self.place)
    }

    /// Sets label and subsystem in one step (LUKS2), each at most 47 bytes.
    ///
    /// ```
    /// # use keyway::*;
    /// # let key = Key::passphrase("correct horse");
    /// # let device = Create::luks2().kdf(NewKdf::pbkdf2(1000)).in_memory(1 << 20, &key)?;
    /// let mut header = device.header()?;
    /// header.set_names("backup", "archive")?;
    /// assert_eq!((header.label(), header.subsystem()), ("backup", "archive"));
    /// # Ok::<(), keyway::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`Header::set_label`].
    pub fn set_names(&mut self, label: &str, subsystem: &str) -> Result<()> {
        self.check_writable()?;
        let renewal = self.renewal.as_ref().map(|volume_key| Renewal { volume_key });
        edit::set_label(&mut self.luks, Some(label), Some(subsystem), renewal, &mut OsRandom).at(&self.place)
    }

    /// Sets the UUID.
    ///
    /// ```
    /// # use keyway::*;
    /// # let key = Key::passphrase("correct horse");
    /// # let device = Create::luks2().kdf(NewKdf::pbkdf2(1000)).in_memory(1 << 20, &key)?;
    /// let mut header = device.header()?;
    /// header.set_uuid("d1a5e3a4-0000-4000-8000-3c0754d1a5e3")?;
    /// assert_eq!(header.uuid(), "d1a5e3a4-0000-4000-8000-3c0754d1a5e3");
    /// assert!(header.set_uuid("d1a5e3a4").is_err());
    /// # Ok::<(), keyway::Error>(())
    /// ```
    ///
    /// # Errors
    /// It is no UUID; [`ErrorKind::ReadOnly`](crate::ErrorKind::ReadOnly).
    pub fn set_uuid(&mut self, uuid: &str) -> Result<()> {
        self.check_writable()?;
        let renewal = self.renewal.as_ref().map(|volume_key| Renewal { volume_key });
        edit::set_uuid(&mut self.luks, Some(uuid), renewal, &mut OsRandom).at(&self.place)
    }

    /// Sets when unlocking tries a keyslot (LUKS2).
    ///
    /// ```
    /// # use keyway::*;
    /// # let key = Key::passphrase("correct horse");
    /// # let device = Create::luks2().kdf(NewKdf::pbkdf2(1000)).in_memory(1 << 20, &key)?;
    /// device.header()?.set_priority(0, Priority::Ignore)?;
    /// assert_eq!(device.unlock(&key).unwrap_err().kind(), &ErrorKind::NoUsableKeyslot);
    /// device.unlock_with(&key, &Unlock::new().keyslot(0))?;
    /// # Ok::<(), keyway::Error>(())
    /// ```
    ///
    /// # Errors
    /// There is no such keyslot, or the header is LUKS1;
    /// [`ErrorKind::ReadOnly`](crate::ErrorKind::ReadOnly).
    pub fn set_priority(&mut self, keyslot: u32, priority: Priority) -> Result<()> {
        self.check_writable()?;
        let priority = match priority {
            Priority::Prefer => luks2::Priority::Prefer,
            Priority::Normal => luks2::Priority::Normal,
            Priority::Ignore => luks2::Priority::Ignore,
        };
        edit::set_priority(&mut self.luks, keyslot, priority, &mut OsRandom).at(&self.place)
    }
}
