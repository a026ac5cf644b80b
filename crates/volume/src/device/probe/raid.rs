//! Additional checks for the marks of RAID sets, volume groups and caches.

use super::Content;

/// md's version 0.90 (kernel, include/uapi/linux/raid/md_p.h): words in the machine's byte order;
/// the device's size in KiB at 32. A superblock that is at this place only by accident has a size
/// that does not fit before it.
pub(super) fn is_md_0(content: &Content<'_>, at: u64) -> Option<bool> {
    let little = content.holds(at, &[0xfc]);
    let size = if little { content.le32(at + 32)? } else { content.be32(at + 32)? };
    Some(u64::from(size) << 10 <= at)
}

/// Versions 1.0 to 1.2: the version at 4, the number of the superblock's own sector at 144.
pub(super) fn is_md_1(content: &Content<'_>, at: u64) -> Option<bool> {
    Some(content.le32(at + 4)? == 1 && content.le64(at + 144)? == at / 512)
}

/// Version at 2; after the first 50 bytes, their sum.
pub(super) fn is_via(content: &Content<'_>, at: u64) -> Option<bool> {
    let bytes = content.bytes(at, 51)?;
    let sum = bytes[..50].iter().fold(0u8, |sum, byte| sum.wrapping_add(*byte));
    Some(bytes[2] <= 2 && sum == bytes[50])
}

/// The disk's number at 0x116; the value at 0x13e makes the sum of all words up to there zero.
pub(super) fn is_silicon(content: &Content<'_>, magic: u64) -> Option<bool> {
    let bytes = content.bytes(magic.checked_sub(0x60)?, 0x140)?;
    Some(bytes[0x116] < 8 && sum_of_words(&bytes) == 0)
}

/// "DPTM" at 256.
pub(super) fn is_adaptec(content: &Content<'_>, at: u64) -> Option<bool> {
    Some(content.holds(at + 256, b"DPTM"))
}

/// The words of its 128 bytes add up to 0 or 1.
pub(super) fn is_jmicron(content: &Content<'_>, at: u64) -> Option<bool> {
    Some(sum_of_words(&content.bytes(at, 128)?) <= 1)
}

fn sum_of_words(bytes: &[u8]) -> u16 {
    let words = bytes.chunks_exact(2).map(|word| u16::from_le_bytes([word[0], word[1]]));
    words.fold(0, u16::wrapping_add)
}

/// bcache and bcachefs share a magic: each stores the number of the superblock's own sector, 8, in
/// a different place.
pub(super) fn is_bcache(content: &Content<'_>, _: u64) -> Option<bool> {
    Some(content.le64(4096 + 8)? == 8)
}

/// See [`is_bcache`].
pub(super) fn is_bcachefs(content: &Content<'_>, _: u64) -> Option<bool> {
    Some(content.le64(4096 + 104)? == 8)
}

/// The number of the label's own sector, at 8.
pub(super) fn is_lvm2(content: &Content<'_>, at: u64) -> Option<bool> {
    Some(content.le64(at + 8)? == at / 512)
}

/// Version 1 or 2 after the two letters; otherwise only the start of a page of zeros could match.
pub(super) fn is_lvm1(content: &Content<'_>, at: u64) -> Option<bool> {
    Some(matches!(content.le16(at + 2)?, 1 | 2))
}
