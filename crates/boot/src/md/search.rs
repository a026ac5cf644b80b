//! The superblock of a device, of whatever version; which one counts where there are several.

use super::superblock::LENGTH;
use super::{Error, Read, Superblock, Version, v0, v1};
use std::ops::Range;

impl Superblock {
    /// The superblock of a device of this many bytes; `None` if it is no member.
    ///
    /// # Errors
    /// If there are only superblocks that are damaged.
    pub fn find(size: u64, read: Read<'_>) -> Result<Option<Self>, Error> {
        let (mut found, mut wrong): (Option<Self>, _) = (None, None);
        for version in [Version::V1Start, Version::V1Behind, Version::V1End, Version::V0] {
            let Some(place) = version.place(size) else { continue };
            // A device need not end behind the part of it that is used.
            let length = size.saturating_sub(place).min(LENGTH as u64) as usize;
            let mut bytes = vec![0; LENGTH];
            if !read(place, &mut bytes[..length]) {
                continue;
            }
            let parsed = match version {
                Version::V0 => v0::parse(&bytes, place),
                _ => v1::parse(&bytes, version, place),
            };
            match parsed {
                // Of an older array something may be left: mdadm takes the one that was made last.
                Ok(Some(one)) if found.as_ref().is_none_or(|other| one.created > other.created) => {
                    found = Some(one);
                }
                Ok(_) => {}
                Err(why) => wrong = wrong.or(Some(why)),
            }
        }
        match (found, wrong) {
            (None, Some(why)) => Err(why),
            (found, _) => Ok(found),
        }
    }
}

/// Whether a superblock of a disk is that of the disk itself, which the kernel has these partitions of. One within a partition
/// is the partition's, or was left by what the disk was before; one at the start is older than the partitions (libblkid, too,
/// passes over what a partition covers).
pub fn is_of_disk(version: Version, size: u64, partitions: &[Range<u64>]) -> bool {
    let place = version.place(size).unwrap_or(0);
    partitions.is_empty()
        || !version.is_at_start() && !partitions.iter().any(|partition| partition.contains(&place))
}
