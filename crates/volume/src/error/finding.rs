//! Objections to opening a header: the rule, and the segment that breaks it.

use keyway_crypto::CipherSpec;
use keyway_crypto::spec::{LEAST_KEY_BITS, Weakness};
use std::fmt;

/// A rule that a segment breaks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// The segment's number; 0 for LUKS1.
    pub segment: u32,
    /// The rule, and how the segment breaks it.
    pub rule: Rule,
}

/// A rule that every volume must keep, and how it is broken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Rule {
    /// Data that is not encrypted, though no reencryption is under way.
    LinearSegment,
    /// A cipher that is not suitable for sectors.
    WeakCipher {
        /// As the header names it.
        cipher: String,
        /// What is wrong with it.
        weakness: Weakness,
    },
    /// A key that can be guessed.
    ShortKey {
        /// As the header names it.
        cipher: String,
        /// How many bits of the key have to be guessed.
        bits: usize,
    },
    /// A segment under another key than the first.
    AnotherKey {
        /// The digest that verifies it.
        digest: u32,
        /// The digest that verifies the first one.
        first: u32,
    },
    /// Sectors whose IVs do not count from the volume's start: data written to one place shows up
    /// at another.
    ShiftedIv {
        /// The IV of the segment's first sector.
        iv_tweak: u64,
        /// The number of that sector.
        sector: u64,
    },
    /// Metadata that nothing vouches for, as those of a BitLocker volume of Windows Vista.
    Unvouched,
    /// Data beyond the end of the device.
    BeyondDevice {
        /// Where the data ends.
        needs: u64,
        /// Where the device ends.
        has: u64,
    },
    /// Data where the header is.
    OverHeader {
        /// Where the data starts.
        start: u64,
        /// Where header and keyslots end.
        header_end: u64,
    },
    /// There is no room for even one sector after the segment's start.
    NoRoom {
        /// Where the data starts.
        start: u64,
        /// The size of a sector.
        sector_size: u64,
        /// Where the device ends.
        has: u64,
    },
}

impl Rule {
    /// What is wrong with data under such a cipher.
    pub(crate) fn of_cipher(spec: &CipherSpec) -> Option<Self> {
        spec.weakness().map(|weakness| Self::WeakCipher { cipher: spec.to_string(), weakness })
    }

    /// A key of `len` bytes that can be guessed. A length that the cipher does not accept is refused by the cipher
    /// itself.
    pub(crate) fn of_key(spec: &CipherSpec, len: usize) -> Option<Self> {
        spec.short_key(len).map(|bits| Self::ShortKey { cipher: spec.to_string(), bits })
    }
}

/// Which of the [`Terms`](crate::Terms) permits something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exemption {
    /// [`Terms::weak_ciphers`](crate::Terms).
    WeakCiphers,
    /// [`Terms::linear_segments`](crate::Terms).
    LinearSegments,
    /// No term: [`Bitlk::allows_vista`](crate::kind::bitlk::Bitlk).
    Vista,
}

impl Rule {
    /// Which of the terms permits it; `None` where nothing does.
    pub fn exemption(&self) -> Option<Exemption> {
        match self {
            Self::LinearSegment => Some(Exemption::LinearSegments),
            Self::WeakCipher { .. } | Self::ShortKey { .. } => Some(Exemption::WeakCiphers),
            Self::Unvouched => Some(Exemption::Vista),
            Self::AnotherKey { .. }
            | Self::ShiftedIv { .. }
            | Self::BeyondDevice { .. }
            | Self::OverHeader { .. }
            | Self::NoRoom { .. } => None,
        }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let segment = self.segment;
        match &self.rule {
            Rule::LinearSegment => write!(
                f,
                "segment {segment} is linear: it is not encrypted, though no reencryption is under way"
            ),
            Rule::WeakCipher { cipher, weakness } => {
                write!(f, "segment {segment} uses {cipher}, which {}", weakness.in_words())
            }
            Rule::ShortKey { cipher, bits } => write!(
                f,
                "segment {segment} uses {cipher} with a key of {bits} bits, which can be guessed: \
                 {LEAST_KEY_BITS} are needed"
            ),
            Rule::AnotherKey { digest, first } => write!(
                f,
                "segment {segment} has another key (digest {digest}) than segment 0 (digest {first}), though no \
                 reencryption is under way"
            ),
            Rule::ShiftedIv { iv_tweak, sector } => write!(
                f,
                "segment {segment} starts with the IV {iv_tweak} at sector {sector}, though no reencryption \
                 is under way: data would be read from other places than it was written to"
            ),
            Rule::Unvouched => write!(
                f,
                "its metadata call it a BitLocker volume of Windows Vista, but are not authenticated: without \
                 any key, a newer volume can be disguised as one"
            ),
            Rule::BeyondDevice { needs, has } => write!(
                f,
                "segment {segment}: the device ends at byte {has}, but its header describes data up to byte {needs}"
            ),
            Rule::OverHeader { start, header_end } => write!(
                f,
                "segment {segment} starts at byte {start}, inside the header, which ends at byte {header_end}"
            ),
            Rule::NoRoom { start, sector_size, has } => write!(
                f,
                "segment {segment} starts at byte {start}, and the device ends at byte {has}: there is no room for a \
                 sector of {sector_size} bytes"
            ),
        }
    }
}
