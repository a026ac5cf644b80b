//! Checks beside the marks of encrypted volumes.

use super::Content;

/// A header's own offset, at 256, is where it stands: the first one's is 0.
pub(super) fn is_luks2(content: &Content<'_>, at: u64) -> Option<bool> {
    Some(at == 0 || content.be64(at + 256)? == at)
}

/// A version that is neither 1 nor 2.
pub(super) fn is_later_luks(content: &Content<'_>, at: u64) -> Option<bool> {
    Some(!matches!(content.be16(at + 6)?, 1 | 2))
}

/// In front of a removable disk stands a FAT that tells where the metadata is, at 440.
pub(super) fn is_bitlocker(content: &Content<'_>, at: u64) -> Option<bool> {
    let is_fixed = at == 3;
    Some(is_fixed || content.holds(content.le64(440)?, b"-FVE-FS-"))
}

/// A physical volume of Core Storage: version 1, block type 16, the checksum's kind 1, AES-XTS (2).
pub(super) fn is_file_vault(content: &Content<'_>, _: u64) -> Option<bool> {
    let has_version = content.le16(8)? == 1 && content.le16(10)? == 16 && content.le32(90)? == 1;
    Some(has_version && content.le32(172)? == 2)
}
