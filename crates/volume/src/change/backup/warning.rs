//! What a person should know before a header backup replaces a device's header.

use std::fmt;

/// What is lost, or does not match. [`Warning::of`] names the device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Warning {
    /// The device has no header of the backup's version.
    NoHeader(Version),
    /// The device has a header of another version than the backup's.
    OtherVersion {
        /// The device's.
        device: Version,
        /// The backup's.
        backup: Version,
    },
    /// The device has a header, whose keyslots are replaced.
    ReplacesKeyslots(Version),
    /// The volume key has another length.
    OtherKeySize,
    /// The header is another volume's.
    OtherUuid,
    /// The device's header is sealed, the backup's is not.
    LosesSeal,
    /// The backup's header does not match its own seal.
    UnmatchedSeal,
    /// The same volume has another volume key now: it was re-encrypted since.
    OtherVolumeKey,
    /// A re-encryption is under way that has not changed a sector: the backup cancels it.
    CancelsReencryption,
    /// A re-encryption is under way on the device.
    InReencryption,
    /// The backup was made in the middle of a re-encryption.
    BackupInReencryption,
}

/// A LUKS version.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Version(pub(super) u8);

impl Warning {
    /// The line, with the device's name.
    pub fn of(self, device: &dyn fmt::Display) -> impl fmt::Display {
        self.line(&format!("Device {device}"))
    }

    /// `device`: the first words of lines about the device.
    fn line(self, device: &str) -> String {
        match self {
            Self::NoHeader(version) => {
                format!(
                    "{device} does not contain {version} header. Replacing header can destroy data on that device."
                )
            }
            Self::OtherVersion { device: Version(on), backup: Version(inside) } => {
                format!(
                    "{device} does not contain LUKS{inside} header, it contains LUKS{on} header. Replacing header can \
                     destroy data on that device."
                )
            }
            Self::ReplacesKeyslots(version) => {
                format!(
                    "{device} already contains {version} header. Replacing header will destroy existing keyslots."
                )
            }
            Self::OtherKeySize => "WARNING: real device header has another key size than backup!".into(),
            Self::OtherUuid => "WARNING: real device header has different UUID than backup!".into(),
            Self::LosesSeal => "WARNING: real device header is sealed, that of the backup is not!".into(),
            Self::UnmatchedSeal => {
                "WARNING: the header of the backup does not match its seal, and may be forged!".into()
            }
            Self::OtherVolumeKey => {
                "WARNING: real device header has another volume key than backup: the volume was \
                 reencrypted or formatted since. With the backup, nothing on it would be readable!"
                    .into()
            }
            Self::CancelsReencryption => {
                "A reencryption is prepared on the device, and no data has changed yet: the backup \
                 cancels it."
                    .into()
            }
            Self::InReencryption => {
                "WARNING: reencryption is under way on the device! Replacing header with backup may \
                 corrupt the data on that device!"
                    .into()
            }
            Self::BackupInReencryption => {
                "WARNING: the backup was made in the middle of a reencryption! Replacing header \
                 with backup may corrupt the data on that device!"
                    .into()
            }
        }
    }
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.line("Device"))
    }
}

/// As in cryptsetup's messages: "LUKS" is LUKS1.
impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0 == 1 { "LUKS" } else { "LUKS2" })
    }
}
