//! The largest possible sector size of a volume for a content that was created before the volume.
//! The kernel mounts no file system whose blocks are smaller than the sectors of the device below
//! ("bad block size 1024"), and reads a partition table in units of that device's sectors.

use super::{Content, Found, Kind, Reach, all, mbr};
use crate::Storage;
use crate::device::stream::Source;

/// The largest sector size that suits everything that is recognised; `None` where nothing is
/// recognised, as in any pipe.
pub fn largest_sector(content: &Source<'_>) -> Option<u32> {
    let Source::Storage(storage, range) = content else { return None };
    let content = Content::new(*storage, range.clone(), Reach::Start).ok()?;
    let found = all(&content);
    let counts = |this: &&Found| found.len() == 1 || !is_empty_table(&content, this);
    let sizes = found.iter().filter(counts).map(|found| sector(&content, found));
    sizes.map(|size| if is_sector(size) { size } else { 512 }).min()
}

/// What is recognised and counts in blocks smaller than `sector`, in blkid's name, and its block size:
/// a volume with such sectors could not be mounted.
pub fn too_small_for(storage: &dyn Storage, sector: u32) -> Option<(&'static str, u32)> {
    let content = Content::new(storage, 0..storage.len(), Reach::Start).ok()?;
    let found = all(&content);
    let known = found.iter().filter(|this| found.len() == 1 || !is_empty_table(&content, this));
    let sizes = known.filter_map(|this| Some((this.signature.blkid, stored_sector(&content, this)?)));
    sizes.filter(|(_, size)| is_sector(*size) && *size < sector).min_by_key(|(_, size)| *size)
}

/// Beside a file system, a boot mark without partitions does not require small sectors.
fn is_empty_table(content: &Content<'_>, found: &Found) -> bool {
    let entries = content.bytes(0, 512).and_then(|sector| mbr(&sector));
    let is_empty = entries.is_some_and(|entries| entries.iter().all(|entry| entry.kind == 0));
    found.signature.blkid == "dos" && is_empty
}

/// The size in the superblock; 512, which always works, where there is none.
fn sector(content: &Content<'_>, found: &Found) -> u32 {
    stored_sector(content, found).map_or(512, |size| size.min(LARGEST))
}

/// The size in the superblock, where it is known to be there.
fn stored_sector(content: &Content<'_>, found: &Found) -> Option<u32> {
    let power = |base: u32, exponent: Option<u32>| Some(base << exponent?.min(6));
    match found.signature.blkid {
        "ext2" | "ext3" | "ext4" => power(1024, content.le32(1024 + 0x18)),
        "xfs" => content.be16(102).map(u32::from),
        "btrfs" => content.le32(65536 + 0x90),
        "f2fs" => power(512, content.le32(1024 + 8).and_then(|log| log.checked_sub(9))),
        "erofs" => power(512, content.u8(1024 + 12).and_then(|log| u32::from(log).checked_sub(9))),
        "exfat" => power(512, content.u8(108).and_then(|log| u32::from(log).checked_sub(9))),
        "nilfs2" => power(1024, content.le32(1024 + 20)),
        "vfat" | "ntfs" => content.le16(11).map(u32::from),
        "iso9660" | "udf" => Some(2048),
        "squashfs" => Some(LARGEST),
        "minix" => Some(1024),
        "gpt" => u32::try_from(found.offset).ok(),
        _ if found.signature.kind == Kind::Swap => Some(4096),
        _ => None,
    }
}

/// Whether a volume may have this sector size.
fn is_sector(size: u32) -> bool {
    size.is_power_of_two() && (512..=LARGEST).contains(&size)
}

const LARGEST: u32 = 4096;
