//! Maps plaintext to the bytes of the data device: a volume's segments in order, without backup
//! segments.

use crate::{Error, Refusal, Result};
use keyway_crypto::{CascadeMode, CipherSpec, SectorSize};
use keyway_format::luks2::{SegmentKind, SegmentSize};
use keyway_format::{luks1, luks2};
use std::ops::Range;
use std::sync::Arc;

/// The plaintext of a volume: segments without gaps, from offset 0 on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Layout {
    /// Segments in the order of their plaintext.
    pub segments: Vec<MappedSegment>,
    /// Bytes of the plaintext that are read but never written: another volume is hidden there. The
    /// first write to them is refused, and all that follow it, wherever they go.
    pub protected: Option<Range<u64>>,
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
    /// Whether the second of the volume's keys encrypts it: while a reencryption replaces one key by
    /// another.
    pub second_key: bool,
}

/// How a segment's sectors are stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Mapping {
    /// As they are.
    Linear,
    /// Not at all: they read as zeros, and nothing else can be written to them. The format keeps its own metadata
    /// there.
    Zero,
    /// Not at all: they read as these bytes, and cannot be written. The format has its own in their place.
    Bytes(Arc<[u8]>),
    /// Encrypted by several ciphers one after another, in sectors of 512 bytes.
    Chain {
        /// The ciphers in the order in which they encrypt, as [`keyway_crypto::Cascade`] names them.
        ciphers: String,
        /// How each is used.
        mode: CascadeMode,
        /// Number of the segment's first sector.
        iv_tweak: u64,
    },
    /// Encrypted.
    Crypt {
        /// Cipher, mode and IV.
        spec: CipherSpec,
        /// Encryption sector size.
        sector_size: SectorSize,
        /// IV of the segment's first sector, in 512-byte units.
        iv_tweak: u64,
        /// Whether IVs count encryption sectors instead of 512-byte units (dm-crypt's
        /// `iv_large_sectors`).
        iv_large_sectors: bool,
    },
}

impl Mapping {
    /// How many bytes are stored together: the encryption's sector; of what is not encrypted, what the kernel
    /// rounds to.
    pub fn unit(&self) -> u64 {
        match self {
            Self::Crypt { sector_size, .. } => sector_size.bytes() as u64,
            Self::Linear | Self::Zero | Self::Bytes(_) | Self::Chain { .. } => {
                SectorSize::S512.bytes() as u64
            }
        }
    }

    /// The cipher's specification, if it is encrypted and by one that has one.
    pub fn spec(&self) -> Option<&CipherSpec> {
        match self {
            Self::Crypt { spec, .. } => Some(spec),
            Self::Linear | Self::Zero | Self::Bytes(_) | Self::Chain { .. } => None,
        }
    }

    /// Whether what is stored is the plaintext.
    pub fn is_linear(&self) -> bool {
        matches!(self, Self::Linear)
    }
}

impl Layout {
    /// Segments in the order of their plaintext, all of which can be written.
    pub fn new(segments: Vec<MappedSegment>) -> Self {
        Self { segments, protected: None }
    }

    /// LUKS1: everything from the payload offset on.
    pub(crate) fn of_luks1(header: &luks1::Header) -> Result<Self> {
        let offset = header.payload_offset.to_bytes().ok_or_else(|| refused(0, "its offset overflows"))?;
        let spec = CipherSpec::parse(&header.cipher())?;
        let mapping =
            Mapping::Crypt { spec, sector_size: SectorSize::S512, iv_tweak: 0, iv_large_sectors: false };
        let storage_offset = offset.0;
        let segment =
            MappedSegment { plaintext_start: 0, length: None, storage_offset, mapping, second_key: false };
        Ok(Self::new(vec![segment]))
    }

    /// LUKS2: the segments in order, without backup segments.
    pub(crate) fn of_luks2(metadata: &luks2::Metadata) -> Result<Self> {
        let mut segments: Vec<MappedSegment> = Vec::new();
        let mut start = Some(0u64);
        for (number, segment) in metadata.segments.iter().filter(|(_, segment)| !segment.is_backup()) {
            let plaintext_start = start.ok_or_else(|| {
                refused(*number, "it follows a segment that reaches to the end of the device")
            })?;
            let length = match segment.size {
                SegmentSize::Dynamic => None,
                SegmentSize::Fixed(bytes) => Some(bytes.0),
            };
            start = length.and_then(|length| plaintext_start.checked_add(length));
            let mapping = mapping(*number, &segment.kind)?;
            segments.push(MappedSegment {
                plaintext_start,
                length,
                storage_offset: segment.offset.0,
                mapping,
                second_key: false,
            });
        }
        if segments.is_empty() {
            return Err(Refusal::Unusable.because("the header describes no data segment"));
        }
        Ok(Self::new(segments))
    }

    /// Refuses a device of this length that ends before its data does, as the kernel does.
    ///
    /// # Errors
    /// [`Error::TooShort`].
    pub(crate) fn check_fits(&self, device_len: u64) -> Result<()> {
        let end = |s: &MappedSegment| s.storage_offset.saturating_add(s.length.unwrap_or(0));
        match self.segments.iter().map(end).max() {
            Some(needs) if needs > device_len => Err(Error::TooShort { needs, has: device_len }),
            _ => Ok(()),
        }
    }
}

pub(crate) fn mapping(number: u32, kind: &SegmentKind) -> Result<Mapping> {
    match kind {
        SegmentKind::Linear => Ok(Mapping::Linear),
        SegmentKind::Crypt { integrity: Some(integrity), .. } => {
            Err(refused(number, &format!("it needs dm-integrity ({})", integrity.kind)))
        }
        SegmentKind::Crypt { iv_tweak, encryption, sector_size, integrity: None } => Ok(Mapping::Crypt {
            spec: CipherSpec::parse(encryption)?,
            sector_size: SectorSize::new(*sector_size)?,
            iv_tweak: *iv_tweak,
            iv_large_sectors: false,
        }),
        SegmentKind::Other(name) if name.starts_with("hw-opal") => {
            Err(refused(number, "the drive itself encrypts it (OPAL)"))
        }
        SegmentKind::Other(name) => Err(refused(number, &format!("its type \"{name}\" is unknown"))),
    }
}

fn refused(number: u32, why: &str) -> Error {
    Refusal::Unusable.because(format!("segment {number} cannot be mapped: {why}"))
}
