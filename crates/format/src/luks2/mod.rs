//! LUKS2 (on-disk format 1.1.x): two binary headers, each with a JSON area, then the keyslots area, then the data.

pub mod header;
pub mod metadata;

pub use header::{BinaryHeader, Copy, HeaderSize};
pub use metadata::{
    Area, Config, Digest, DigestId, Integrity, Kdf, Keyslot, KeyslotKind, Metadata, Priority, Segment,
    SegmentKind, SegmentSize, Token,
};
