//! The free blocks of an ext2, ext3 or ext4 file system (Linux, Documentation/filesystems/ext4:
//! "Super Block", "Block Group Descriptors", "Block and Inode Bitmaps").
//!
//! ```text
//!   1024        superblock: block count 0x04, log block size 0x18, blocks a group 0x20, magic 0x38, state 0x3a,
//!               compat 0x5c, incompat 0x60, ro_compat 0x64, reserved GDT blocks 0xce, descriptor size 0xfe,
//!               block count high 0x150
//!   next block  group descriptors: bitmaps 0x00 0x04, inode table 0x08, flags 0x12, high halves from 0x20
//! ```
//!
//! Anything unusual (a journal that needs a replay, clusters, descriptors spread over the groups)
//! gives no free space at all: then everything is stored.

use crate::Storage;
use crate::device::probe::EXT_MAGIC;
use std::io;
use std::ops::Range;

/// The byte ranges, as offsets in `image`, that the file system in `part` leaves free; none when
/// there is no such file system, or it is not clean.
pub(super) fn free_space(image: &dyn Storage, part: Range<u64>) -> io::Result<Vec<Range<u64>>> {
    let mut bytes = [0; 1024];
    if part.end - part.start < 2048 {
        return Ok(Vec::new());
    }
    image.read_at(&mut bytes, part.start + 1024)?;
    let Some(superblock) = Superblock::parse(&bytes, part.end - part.start) else { return Ok(Vec::new()) };
    let descriptors = superblock.read_descriptors(image, part.start)?;
    let mut free: Vec<Range<u64>> = Vec::new();
    for (group, descriptor) in descriptors.iter().enumerate() {
        for blocks in superblock.free_blocks(image, part.start, group as u64, descriptor)? {
            let bytes =
                part.start + blocks.start * superblock.block..part.start + blocks.end * superblock.block;
            match free.last_mut() {
                Some(last) if last.end == bytes.start => last.end = bytes.end,
                _ => free.push(bytes),
            }
        }
    }
    Ok(free)
}

/// The superblock fields needed here.
pub(super) struct Superblock {
    /// Bytes per block.
    pub(super) block: u64,
    blocks: u64,
    first_block: u64,
    pub(super) blocks_per_group: u64,
    inode_table_blocks: u64,
    pub(super) descriptor_len: u64,
    /// Counts of blocks have 64 bits.
    pub(super) is_wide: bool,
    reserved_gdt_blocks: u64,
    sparse_super: bool,
    checksums: bool,
}

/// The group descriptor fields needed here.
pub(super) struct Group {
    pub(super) block_bitmap: u64,
    inode_bitmap: u64,
    inode_table: u64,
    pub(super) uninitialised: bool,
}

impl Superblock {
    /// `None` when this is not a clean ext file system of `len` bytes, or has features that are not
    /// supported here.
    pub(super) fn parse(bytes: &[u8; 1024], len: u64) -> Option<Self> {
        let u16_at = |at: usize| u64::from(u16::from_le_bytes([bytes[at], bytes[at + 1]]));
        let u32_at =
            |at: usize| u64::from(u32::from_le_bytes(bytes[at..at + 4].try_into().expect("4 bytes")));
        let (compat, incompat, ro_compat) = (u32_at(0x5c), u32_at(0x60), u32_at(0x64));
        let clean = bytes[0x38..0x3a] == EXT_MAGIC && u16_at(0x3a) & 3 == STATE_CLEAN;
        let plain = incompat & !INCOMPAT_HANDLED == 0
            && ro_compat & RO_COMPAT_BIGALLOC == 0
            && compat & COMPAT_SPARSE_SUPER2 == 0;
        if !clean || !plain || u32_at(0x18) > 6 {
            return None;
        }
        let wide = incompat & INCOMPAT_64BIT != 0;
        let block = 1024 << u32_at(0x18);
        let inodes_per_group = u32_at(0x28);
        let inode_len = if u32_at(0x4c) == 0 { 128 } else { u16_at(0x58) };
        let this = Self {
            block,
            blocks: u32_at(0x04) | if wide { u32_at(0x150) << 32 } else { 0 },
            first_block: u32_at(0x14),
            blocks_per_group: u32_at(0x20),
            inode_table_blocks: (inodes_per_group * inode_len).div_ceil(block),
            is_wide: wide,
            descriptor_len: if wide { u16_at(0xfe) } else { 32 },
            reserved_gdt_blocks: if compat & COMPAT_RESIZE_INODE != 0 { u16_at(0xce) } else { 0 },
            sparse_super: ro_compat & RO_COMPAT_SPARSE_SUPER != 0,
            checksums: ro_compat & (RO_COMPAT_GDT_CSUM | RO_COMPAT_METADATA_CSUM) != 0,
        };
        let sane = this.blocks.checked_mul(block).is_some_and(|bytes| bytes <= len)
            && this.first_block < this.blocks
            && (8..=block * 8).contains(&this.blocks_per_group)
            && (32..=1024).contains(&this.descriptor_len)
            && (!wide || this.descriptor_len >= 64)
            && this.groups() * this.descriptor_len <= MOST_DESCRIPTORS;
        sane.then_some(this)
    }

    fn groups(&self) -> u64 {
        (self.blocks - self.first_block).div_ceil(self.blocks_per_group)
    }

    /// The group's blocks; the last group may be short.
    fn blocks_of(&self, group: u64) -> Range<u64> {
        let start = self.first_block + group * self.blocks_per_group;
        start..(start + self.blocks_per_group).min(self.blocks)
    }

    fn gdt_blocks(&self) -> u64 {
        (self.groups() * self.descriptor_len).div_ceil(self.block)
    }

    fn read_descriptors(&self, image: &dyn Storage, origin: u64) -> io::Result<Vec<Group>> {
        let table = self.read_table(image, origin)?;
        Ok(table.chunks_exact(self.descriptor_len as usize).map(|bytes| self.group(bytes)).collect())
    }

    /// The bytes of all group descriptors.
    pub(super) fn read_table(&self, image: &dyn Storage, origin: u64) -> io::Result<Vec<u8>> {
        let mut table = vec![0; (self.groups() * self.descriptor_len) as usize];
        image.read_at(&mut table, origin + (self.first_block + 1) * self.block)?;
        Ok(table)
    }

    pub(super) fn group(&self, bytes: &[u8]) -> Group {
        let half = |at: usize| u64::from(u32::from_le_bytes(bytes[at..at + 4].try_into().expect("4 bytes")));
        let whole = |at: usize| half(at) | if self.descriptor_len >= 64 { half(at + 0x20) << 32 } else { 0 };
        let flags = u16::from_le_bytes([bytes[0x12], bytes[0x13]]);
        Group {
            block_bitmap: whole(0x00),
            inode_bitmap: whole(0x04),
            inode_table: whole(0x08),
            uninitialised: self.checksums && flags & BLOCK_UNINIT != 0,
        }
    }

    pub(super) fn free_blocks(
        &self,
        image: &dyn Storage,
        origin: u64,
        group: u64,
        descriptor: &Group,
    ) -> io::Result<Vec<Range<u64>>> {
        let blocks = self.blocks_of(group);
        if descriptor.uninitialised {
            return Ok(gaps(blocks.clone(), self.metadata_of(group, descriptor)));
        }
        if descriptor.block_bitmap >= self.blocks {
            return Ok(Vec::new());
        }
        let mut bitmap = vec![0; (blocks.end - blocks.start).div_ceil(8) as usize];
        image.read_at(&mut bitmap, origin + descriptor.block_bitmap * self.block)?;
        let used =
            (0..blocks.end - blocks.start).filter(|bit| bitmap[(bit / 8) as usize] >> (bit % 8) & 1 != 0);
        Ok(gaps(blocks.clone(), used.map(|bit| blocks.start + bit..blocks.start + bit + 1)))
    }

    /// The blocks that a group uses even if its bitmap was never written, in ascending order.
    pub(super) fn metadata_of(&self, group: u64, descriptor: &Group) -> Vec<Range<u64>> {
        let start = self.blocks_of(group).start;
        let mut used = Vec::new();
        if self.has_superblock(group) {
            used.push(start..start + 1 + self.gdt_blocks() + self.reserved_gdt_blocks);
        }
        used.push(descriptor.block_bitmap..descriptor.block_bitmap.saturating_add(1));
        used.push(descriptor.inode_bitmap..descriptor.inode_bitmap.saturating_add(1));
        used.push(descriptor.inode_table..descriptor.inode_table.saturating_add(self.inode_table_blocks));
        used.sort_unstable_by_key(|range| range.start);
        used
    }

    /// Group 0 and, with sparse_super, 1 and the powers of 3, 5 and 7; otherwise every group.
    fn has_superblock(&self, group: u64) -> bool {
        let power_of = |base: u64| {
            let mut power = base;
            while power < group {
                power *= base;
            }
            power == group
        };
        !self.sparse_super || group <= 1 || [3, 5, 7].into_iter().any(power_of)
    }
}

/// The parts of `within` that are not in `used` (ascending).
fn gaps(within: Range<u64>, used: impl IntoIterator<Item = Range<u64>>) -> Vec<Range<u64>> {
    let mut gaps = Vec::new();
    let mut at = within.start;
    for used in used {
        if used.start > at && at < within.end {
            gaps.push(at..used.start.min(within.end));
        }
        at = at.max(used.end);
    }
    if at < within.end {
        gaps.push(at..within.end);
    }
    gaps
}

/// Maximum bytes of group descriptors; more than a file system of 64 TiB has. A file system that
/// claims more is stored completely.
const MOST_DESCRIPTORS: u64 = 32 << 20;
/// Cleanly unmounted, no errors.
pub(super) const STATE_CLEAN: u64 = 1;
const COMPAT_RESIZE_INODE: u64 = 0x10;
const COMPAT_SPARSE_SUPER2: u64 = 0x200;
const INCOMPAT_64BIT: u64 = 0x80;
/// filetype, extents, 64bit, mmp, flex_bg, ea_inode, csum_seed, largedir, inline_data, encrypt,
/// casefold. Not: compression, recover, journal_dev, meta_bg, dirdata.
pub(super) const INCOMPAT_HANDLED: u64 =
    0x2 | 0x40 | 0x80 | 0x100 | 0x200 | 0x400 | 0x2000 | 0x4000 | 0x8000 | 0x10000 | 0x20000;
const RO_COMPAT_SPARSE_SUPER: u64 = 0x1;
const RO_COMPAT_GDT_CSUM: u64 = 0x10;
const RO_COMPAT_BIGALLOC: u64 = 0x200;
pub(super) const RO_COMPAT_METADATA_CSUM: u64 = 0x400;
const BLOCK_UNINIT: u16 = 0x2;
