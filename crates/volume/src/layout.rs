//! Which bytes of the data device are plaintext where: a volume's segments in order, backups left out.

use keyway_crypto::{CipherSpec, SectorSize};

/// The plaintext of a volume: segments without gaps, from offset 0 on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Layout {
    /// Segments in the order of their plaintext.
    pub segments: Vec<MappedSegment>,
}

/// A run of plaintext and where its sectors lie. All offsets and lengths are in bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MappedSegment {
    /// Where the run starts in the plaintext.
    pub plaintext_start: u64,
    /// Its length; `None`: to the end of the data device.
    pub length: Option<u64>,
    /// Where the run starts on the data device.
    pub storage_offset: u64,
    /// How its sectors are stored.
    pub mapping: Mapping,
}

/// How a segment's sectors are stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Mapping {
    /// As they are.
    Linear,
    /// Encrypted.
    Crypt {
        /// Cipher, mode and IV.
        spec: CipherSpec,
        /// Encryption sector size.
        sector_size: SectorSize,
        /// IV of the segment's first sector, in 512-byte units.
        iv_tweak: u64,
    },
}
