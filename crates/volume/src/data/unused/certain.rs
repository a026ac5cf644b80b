//! The unused blocks of a file system that is about to lose what they hold: what `build` and `copy`
//! only leave out is overwritten here, so whatever does not agree with itself is refused by name.
//!
//! ```text
//!   superblock  free blocks 0x0c, state 0x3a, uuid 0x68, errors 0x194, seed of checksums 0x270, checksum 0x3fc
//!   group       free blocks 0x0c, bitmap's checksum 0x18, own checksum 0x1e, high halves 0x2c and 0x38
//! ```
//!
//! Checksums are CRC32C without a final inversion (Documentation/filesystems/ext4, "Checksums").

use super::ext::{Group, INCOMPAT_HANDLED, RO_COMPAT_METADATA_CSUM, STATE_CLEAN, Superblock};
use super::holds_only_ext;
use crate::device::probe::EXT_MAGIC;
use crate::{Error, Refusal, Result, Storage};
use std::io;
use std::ops::Range;

/// The byte ranges that the file system on `volume` does not use: sorted, not overlapping.
///
/// # Errors
/// [`Refusal::Unusable`]: the volume holds no ext2, ext3 or ext4 file system, or more than that; the
/// file system is in use, was not unmounted, has errors, contradicts itself, or has features that are
/// not handled here.
pub(crate) fn certainly_free(volume: &dyn Storage) -> Result<Vec<Range<u64>>> {
    let io = |source: io::Error| Error::Io { what: "reading the file system of the volume".into(), source };
    let refuse = |why: &str| Err(Refusal::Unusable.because(format!("{why} Nothing was skipped.")));
    let (len, mut bytes) = (volume.len(), [0; 1024]);
    if len >= 2048 {
        volume.read_at(&mut bytes, 1024).map_err(io)?;
    }
    let fields = Fields(&bytes);
    if bytes[0x38..0x3a] != EXT_MAGIC || !holds_only_ext(volume, 0..len).map_err(io)? {
        return refuse("The volume does not hold just an ext2, ext3 or ext4 file system.");
    }
    if fields.u32(0x60) & INCOMPAT_RECOVER != 0 {
        return refuse(
            "The file system is mounted, or its journal has to be replayed: mount and unmount it first.",
        );
    }
    if fields.u16(0x3a) & STATE_ERRORS != 0 || fields.u32(0x194) != 0 {
        return refuse("The file system has errors: run \"e2fsck -f\" on it first.");
    }
    let is_clean = fields.u16(0x3a) & STATE_CLEAN as u16 != 0;
    if !is_clean || fields.u32(0x64) & RO_COMPAT_ORPHAN_PRESENT != 0 || fields.u32(0xe8) != 0 {
        return refuse(
            "The file system is mounted, or was not unmounted cleanly: run \"e2fsck -f\" on it first.",
        );
    }
    let Some(superblock) = Superblock::parse(&bytes, len) else {
        return refuse("The file system has features that are not handled, or contradicts itself.");
    };
    if fields.u32(0x64) & !RO_COMPAT_HANDLED != 0 || fields.u32(0x60) & !INCOMPAT_HANDLED as u32 != 0 {
        return refuse("The file system has features that are not handled.");
    }
    match free(volume, &superblock, fields).map_err(io)? {
        Some(free) => Ok(free),
        None => refuse("The file system contradicts itself: run \"e2fsck -f\" on it first."),
    }
}

/// `None` where what the file system says in one place is not what it says in another.
fn free(
    volume: &dyn Storage,
    superblock: &Superblock,
    fields: Fields<'_>,
) -> io::Result<Option<Vec<Range<u64>>>> {
    let seed = (fields.u32(0x64) & RO_COMPAT_METADATA_CSUM as u32 != 0).then(|| {
        match fields.u32(0x60) & CSUM_SEED {
            0 => crc32c(!0, &fields.0[0x68..0x78]),
            _ => fields.u32(0x270),
        }
    });
    if seed.is_some() && crc32c(!0, &fields.0[..0x3fc]) != fields.u32(0x3fc) {
        return Ok(None);
    }
    let table = superblock.read_table(volume, 0)?;
    let (mut free, mut used, mut total) = (Vec::new(), Vec::new(), 0);
    for (number, bytes) in (0..).zip(table.chunks_exact(superblock.descriptor_len as usize)) {
        let group = superblock.group(bytes);
        let blocks = superblock.free_blocks(volume, 0, number, &group)?;
        let count: u64 = blocks.iter().map(|range| range.end - range.start).sum();
        let descriptor = Descriptor { bytes, wide: superblock.descriptor_len >= 64 };
        if count != u64::from(descriptor.free()) {
            return Ok(None);
        }
        if let Some(seed) = seed
            && !(descriptor.is_intact(seed, number)
                && (group.uninitialised || has_intact_bitmap(volume, superblock, &group, descriptor, seed)?))
        {
            return Ok(None);
        }
        total += count;
        used.extend(superblock.metadata_of(number, &group));
        free.extend(blocks);
    }
    let wide = if superblock.is_wide { u64::from(fields.u32(0x158)) << 32 } else { 0 };
    if total != u64::from(fields.u32(0x0c)) | wide {
        return Ok(None);
    }
    // With flex_bg, a group may hold what describes others: no bitmap has to say so for it to be in use.
    Ok(Some(
        without(free, &joined(used)).map(|r| r.start * superblock.block..r.end * superblock.block).collect(),
    ))
}

/// The ranges, sorted, with those that overlap or touch as one.
fn joined(mut ranges: Vec<Range<u64>>) -> Vec<Range<u64>> {
    ranges.sort_unstable_by_key(|range| range.start);
    ranges.into_iter().fold(Vec::new(), |mut joined: Vec<Range<u64>>, range| {
        match joined.last_mut() {
            Some(last) if last.end >= range.start => last.end = last.end.max(range.end),
            _ => joined.push(range),
        }
        joined
    })
}

/// `free` without `used`; both are sorted. Ranges that touch become one.
fn without(free: Vec<Range<u64>>, used: &[Range<u64>]) -> impl Iterator<Item = Range<u64>> {
    let mut rest: Vec<Range<u64>> = Vec::new();
    let mut add = |range: Range<u64>| match rest.last_mut() {
        _ if range.is_empty() => {}
        Some(last) if last.end == range.start => last.end = range.end,
        _ => rest.push(range),
    };
    for range in free {
        let mut at = range.start;
        let first = used.partition_point(|used| used.end <= range.start);
        for used in used[first..].iter().take_while(|used| used.start < range.end) {
            add(at..used.start.max(at));
            at = at.max(used.end);
        }
        add(at.min(range.end)..range.end);
    }
    rest.into_iter()
}

fn has_intact_bitmap(
    volume: &dyn Storage,
    superblock: &Superblock,
    group: &Group,
    descriptor: Descriptor<'_>,
    seed: u32,
) -> io::Result<bool> {
    let mut bitmap = vec![0; (superblock.blocks_per_group / 8) as usize];
    volume.read_at(&mut bitmap, group.block_bitmap * superblock.block)?;
    let sum = crc32c(seed, &bitmap);
    Ok(match descriptor.wide {
        true => sum == descriptor.of_bitmap(),
        false => sum & 0xffff == descriptor.of_bitmap(),
    })
}

/// The superblock's bytes.
#[derive(Clone, Copy)]
struct Fields<'a>(&'a [u8; 1024]);

impl Fields<'_> {
    fn u16(self, at: usize) -> u16 {
        u16::from_le_bytes([self.0[at], self.0[at + 1]])
    }

    fn u32(self, at: usize) -> u32 {
        u32::from(self.u16(at)) | u32::from(self.u16(at + 2)) << 16
    }
}

/// A group descriptor's bytes.
#[derive(Clone, Copy)]
struct Descriptor<'a> {
    bytes: &'a [u8],
    wide: bool,
}

impl Descriptor<'_> {
    fn halves(self, low: usize, high: usize) -> u32 {
        let half = |at: usize| u32::from(u16::from_le_bytes([self.bytes[at], self.bytes[at + 1]]));
        half(low) | if self.wide { half(high) << 16 } else { 0 }
    }

    fn free(self) -> u32 {
        self.halves(0x0c, 0x2c)
    }

    fn of_bitmap(self) -> u32 {
        self.halves(0x18, 0x38)
    }

    /// Whether its own checksum, with zeros in its place, fits.
    fn is_intact(self, seed: u32, number: u64) -> bool {
        let mut bytes = self.bytes.to_vec();
        bytes[CHECKSUM..CHECKSUM + 2].fill(0);
        let sum = crc32c(crc32c(seed, &(number as u32).to_le_bytes()), &bytes);
        sum.to_le_bytes()[..2] == self.bytes[CHECKSUM..CHECKSUM + 2]
    }
}

/// CRC32C (Castagnoli) as the kernel has it: neither begun nor ended by an inversion.
fn crc32c(start: u32, bytes: &[u8]) -> u32 {
    bytes.iter().fold(start, |sum, byte| sum >> 8 ^ TABLE[((sum ^ u32::from(*byte)) & 0xff) as usize])
}

static TABLE: [u32; 256] = {
    let (mut table, mut byte) = ([0; 256], 0);
    while byte < 256 {
        let (mut sum, mut bit) = (byte as u32, 0);
        while bit < 8 {
            sum = sum >> 1 ^ if sum & 1 == 1 { 0x82f6_3b78 } else { 0 };
            bit += 1;
        }
        table[byte] = sum;
        byte += 1;
    }
    table
};

const CHECKSUM: usize = 0x1e;
const STATE_ERRORS: u16 = 2;
const INCOMPAT_RECOVER: u32 = 0x4;
const CSUM_SEED: u32 = 0x2000;
const RO_COMPAT_ORPHAN_PRESENT: u32 = 0x10000;
/// sparse_super, large_file, btree_dir, huge_file, uninit_bg, dir_nlink, extra_isize, quota,
/// metadata_csum, read-only, project, shared_blocks, verity. Not: has_snapshot, bigalloc, replica.
const RO_COMPAT_HANDLED: u32 = 0x7f | 0x100 | 0x400 | 0x1000 | 0x2000 | 0x4000 | 0x8000;

#[cfg(test)]
mod tests {
    use super::*;

    /// The check value of CRC-32C (RFC 3720, B.4), which is inverted at both ends.
    #[test]
    fn crc32c_of_nine_digits() {
        assert_eq!(!crc32c(!0, b"123456789"), 0xe306_9283);
    }

    #[test]
    fn what_describes_a_group_is_never_free() {
        let free = vec![0..10, 10..20, 30..40];
        let left: Vec<_> = without(free, &joined(vec![39..50, 6..8, 5..7, 19..31])).collect();
        assert_eq!(left, [0..5, 8..19, 31..39]);
    }
}
