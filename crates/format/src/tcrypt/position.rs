//! Where headers lie. Places at the end count from there, whatever is in between.
//!
//! ```text
//! 0          normal                            since TrueCrypt 1
//! 31744      system encryption: sector 62 of the disk, before the first partition of old disks
//! 65536      hidden                            since TrueCrypt 6
//! -131072    backup of the normal one          since TrueCrypt 6
//! -65536     backup of the hidden one          since TrueCrypt 6
//! -1536      hidden                            before TrueCrypt 6
//! ```

use super::HEADER_LEN;
use core::fmt;

/// The place of a header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Position {
    /// At the start.
    Normal,
    /// Of the hidden volume.
    Hidden,
    /// Of the hidden volume, as TrueCrypt 5 and earlier made it.
    OldHidden,
    /// The copy of the normal one.
    Backup,
    /// The copy of the hidden volume's.
    HiddenBackup,
    /// Of an encrypted system, on its disk.
    System,
}

impl Position {
    /// Its offset in bytes on a device of this length; `None` where the device has no room for it.
    pub fn offset(self, device_len: u64) -> Option<u64> {
        let offset = match self {
            Self::Normal => 0,
            Self::Hidden => 65536,
            Self::System => 31744,
            Self::OldHidden => device_len.checked_sub(1536)?,
            Self::HiddenBackup => device_len.checked_sub(65536)?,
            Self::Backup => device_len.checked_sub(131_072)?,
        };
        (device_len.saturating_sub(offset) >= HEADER_LEN as u64).then_some(offset)
    }

    /// Whether it describes a hidden volume.
    pub fn is_hidden(self) -> bool {
        matches!(self, Self::Hidden | Self::OldHidden | Self::HiddenBackup)
    }
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Normal => "header",
            Self::Hidden => "header of the hidden volume",
            Self::OldHidden => "header of the hidden volume (before TrueCrypt 6)",
            Self::Backup => "backup header",
            Self::HiddenBackup => "backup header of the hidden volume",
            Self::System => "header of the encrypted system",
        })
    }
}
