//! The UUID and label that identify a content, for systems without udev.
//!
//! ```text
//! LUKS1, LUKS2  UUID 168, LUKS2's label 24      XFS    UUID 32, label 108
//! ext2, 3, 4    UUID 1024 + 0x68, label 0x78    Btrfs  UUID 65536 + 0x20, label 0x12b
//! FAT12, 16     serial number 39, label 43      F2FS   UUID 1024 + 0x6c, label 0x7c
//! FAT32         serial number 67, label 71      swap   UUID 1024 + 12, label 28
//! ```

use super::{Content, Reach, all};
use crate::Storage;
use std::io;

/// The values that `UUID=` and `LABEL=` refer to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Identity {
    /// As `blkid` writes it.
    pub uuid: String,
    /// Empty where there is none.
    pub label: String,
}

/// The identity of the first format on `storage` whose identity is supported here.
///
/// # Errors
/// The start cannot be read.
pub fn identity(storage: &dyn Storage) -> io::Result<Option<Identity>> {
    let content = Content::new(storage, 0..storage.len(), Reach::Start)?;
    Ok(all(&content).iter().find_map(|found| identity_by(&content, found.signature.name)))
}

fn identity_by(content: &Content<'_>, name: &str) -> Option<Identity> {
    let uuid = |at| content.bytes(at, 16).map(|bytes| hyphens(&bytes));
    let string = |at, len| content.bytes(at, len).map(|bytes| text(&bytes));
    let (uuid, label) = match name {
        "LUKS1 volume" => (string(168, 40)?, String::new()),
        "LUKS2 volume" => (string(168, 40)?, string(24, 48)?),
        "ext2" | "ext3" | "ext4" => (uuid(1024 + 0x68)?, string(1024 + 0x78, 16)?),
        "XFS" => (uuid(32)?, string(108, 12)?),
        "Btrfs" => (uuid(65536 + 0x20)?, string(65536 + 0x12b, 256)?),
        "F2FS" => (uuid(1024 + 0x6c)?, wide_text(&content.bytes(1024 + 0x7c, 1024)?)),
        // A suspended system leaves the swap's header as it was, except for its mark.
        "swap space" | "hibernated system" => (uuid(1024 + 12)?, string(1024 + 28, 16)?),
        "FAT12" | "FAT16" => (serial(content, 39)?, string(43, 11)?),
        "FAT32" => (serial(content, 67)?, string(71, 11)?),
        _ => return None,
    };
    let label = label.trim_end();
    Some(Identity { uuid, label: if label == FAT_UNNAMED { "" } else { label }.to_owned() })
}

fn serial(content: &Content<'_>, at: u64) -> Option<String> {
    let serial = content.le32(at)?;
    Some(format!("{:04X}-{:04X}", serial >> 16, serial & 0xffff))
}

/// The text up to the first NUL.
fn text(bytes: &[u8]) -> String {
    let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
    String::from_utf8_lossy(&bytes[..end]).into_owned()
}

/// The same in UTF-16.
fn wide_text(bytes: &[u8]) -> String {
    let units = bytes.chunks_exact(2).map(|unit| u16::from_le_bytes([unit[0], unit[1]]));
    String::from_utf16_lossy(&units.take_while(|unit| *unit != 0).collect::<Vec<_>>())
}

/// Formats sixteen bytes as a UUID.
pub(super) fn hyphens(bytes: &[u8]) -> String {
    let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    format!("{}-{}-{}-{}-{}", &hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..])
}

/// The label that FAT formatters write when none was given.
const FAT_UNNAMED: &str = "NO NAME";
