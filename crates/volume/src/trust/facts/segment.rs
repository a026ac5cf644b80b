//! The segments of a volume's data.

use crate::Header;
use keyway_format::luks2::{self, SegmentKind, SegmentSize};

/// A segment of the data.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Segment {
    /// What its sectors hold.
    pub content: Content,
    /// In bytes.
    pub sector_size: u32,
    /// In bytes, on the data device.
    pub offset: u64,
    /// In bytes; if it extends to the end of the device, the length that the device gives it.
    pub len: u64,
}

/// What the sectors of a segment hold.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Content {
    /// Encrypted data.
    Encrypted {
        /// "aes-xts-plain64".
        cipher: String,
        /// The type of the integrity tags, if there are any.
        integrity: Option<String>,
    },
    /// Data that is not encrypted.
    Linear,
    /// A segment of a type that this build does not know.
    Other(String),
}

/// The segments, without what a reencryption keeps as a backup.
pub(super) fn segments(header: &Header, data_len: u64) -> Vec<Segment> {
    match header {
        Header::Luks1(header) => {
            let (offset, sector_size) = (header.payload_offset.0 * 512, 512);
            let content = Content::Encrypted { cipher: header.cipher(), integrity: None };
            let len = to_the_end(offset, sector_size, data_len);
            vec![Segment { content, sector_size, offset, len }]
        }
        Header::Luks2 { metadata, .. } => {
            let of_data = metadata.segments.values().filter(|segment| !segment.is_backup());
            of_data.map(|segment| of_luks2(segment, data_len)).collect()
        }
    }
}

fn of_luks2(segment: &luks2::Segment, data_len: u64) -> Segment {
    let (content, sector_size) = match &segment.kind {
        SegmentKind::Crypt { encryption, sector_size, integrity, .. } => {
            let integrity = integrity.as_ref().map(|integrity| integrity.kind.clone());
            (Content::Encrypted { cipher: encryption.clone(), integrity }, *sector_size)
        }
        SegmentKind::Linear => (Content::Linear, 512),
        SegmentKind::Other(kind) => (Content::Other(kind.clone()), 512),
    };
    let offset = segment.offset.0;
    let len = match segment.size {
        SegmentSize::Fixed(size) => size.0,
        SegmentSize::Dynamic => to_the_end(offset, sector_size, data_len),
    };
    Segment { content, sector_size, offset, len }
}

/// Whole sectors from `offset` to the end of the device.
fn to_the_end(offset: u64, sector_size: u32, data_len: u64) -> u64 {
    let size = u64::from(sector_size);
    data_len.saturating_sub(offset) / size * size
}
