//! Additional checks for the marks of encrypted volumes.

use super::Content;

/// The field at 256 holds the header's own offset; that of the first header is 0.
pub(super) fn is_luks2(content: &Content<'_>, at: u64) -> Option<bool> {
    Some(at == 0 || content.be64(at + 256)? == at)
}

/// A version that is neither 1 nor 2.
pub(super) fn is_later_luks(content: &Content<'_>, at: u64) -> Option<bool> {
    Some(!matches!(content.be16(at + 6)?, 1 | 2))
}

/// A removable disk starts with a FAT that gives the location of the metadata, at 440.
pub(super) fn is_bitlocker(content: &Content<'_>, at: u64) -> Option<bool> {
    let is_fixed = at == 3;
    Some(is_fixed || content.holds(content.le64(440)?, b"-FVE-FS-"))
}

/// A physical volume of Core Storage: version 1, block type 16, checksum type 1, AES-XTS (2).
pub(super) fn is_file_vault(content: &Content<'_>, _: u64) -> Option<bool> {
    let has_version = content.le16(8)? == 1 && content.le16(10)? == 16 && content.le32(90)? == 1;
    Some(has_version && content.le32(172)? == 2)
}
