//! The part of a re-encryption's metadata that its digest vouches for, as cryptsetup 2.4 and later
//! serialize it (LUKS2 on-disk format 1.1.4, section 4.9): integers big-endian, strings without
//! length or NUL.
//!
//! ```text
//! "v", version + '0'                                  2 bytes
//! old volume key, new volume key                      whichever there are; once when they are one
//! keyslot: mode, direction; area: type, offset, size [, hash, sector_size] [, shift_size]
//! segments: backup-previous, backup-final [, backup-moved-segment], each
//!     type, offset, size ("dynamic" or a number) [, iv_tweak, encryption, sector_size]
//! ```

use super::Reencryption;
use crate::luks2::segment::{Segment, SegmentKind, SegmentSize};
use alloc::vec::Vec;

impl Reencryption {
    /// What stands before the volume keys.
    pub fn vouched_version(&self) -> [u8; 2] {
        [b'v', b'0' + self.version]
    }

    /// What follows the volume keys.
    pub fn vouched(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        bytes.extend(self.mode.name().bytes());
        bytes.extend(self.direction.name().bytes());
        bytes.extend(self.resilience.name().bytes());
        bytes.extend(self.area.offset.0.to_be_bytes());
        bytes.extend(self.area.size.0.to_be_bytes());
        if let Some(checksum) = self.resilience.checksum() {
            bytes.extend(checksum.hash.bytes());
            bytes.extend(checksum.block.to_be_bytes());
        }
        if self.resilience.shift() > 0 {
            bytes.extend(self.resilience.shift().to_be_bytes());
        }
        push_segment(&mut bytes, &self.old.segment);
        push_segment(&mut bytes, &self.new.segment);
        if let Some(moved) = &self.moved {
            push_segment(&mut bytes, &moved.segment);
        }
        bytes
    }
}

fn push_segment(bytes: &mut Vec<u8>, segment: &Segment) {
    let kind: &[u8] = match &segment.kind {
        SegmentKind::Linear => b"linear",
        SegmentKind::Crypt { .. } => b"crypt",
        SegmentKind::Other(name) => name.as_bytes(),
    };
    bytes.extend(kind);
    bytes.extend(segment.offset.0.to_be_bytes());
    match segment.size {
        SegmentSize::Dynamic => bytes.extend(b"dynamic"),
        SegmentSize::Fixed(size) => bytes.extend(size.0.to_be_bytes()),
    }
    if let SegmentKind::Crypt { iv_tweak, encryption, sector_size, .. } = &segment.kind {
        bytes.extend(iv_tweak.to_be_bytes());
        bytes.extend(encryption.bytes());
        bytes.extend(sector_size.to_be_bytes());
    }
}
