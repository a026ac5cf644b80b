//! The names dm-crypt knows for modes, IVs, and hashes for ESSIV; ciphers have a table of their own
//! ([`crate::block::table`]).

use super::{Iv, Mode};
use crate::Hash;
use crate::block::table::Cipher;

/// A hash that ESSIV may name, by the kernel's name for it.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct EssivHash {
    pub(super) name: &'static str,
    pub(super) digest_bits: usize,
    /// What runs it, if this build does.
    pub(super) hash: Option<Hash>,
}

impl EssivHash {
    pub(super) fn find(name: &str) -> Option<&'static Self> {
        ESSIV_HASHES.iter().find(|hash| hash.name == name)
    }
}

impl Mode {
    /// A mode by its name; Adiantum's rounds come with the cipher's name.
    pub(super) fn find(name: &str) -> Option<Self> {
        MODES.into_iter().find(|mode| mode.name() == name)
    }

    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Xts => "xts",
            Self::Cbc => "cbc",
            Self::Ctr => "ctr",
            Self::Ecb => "ecb",
            Self::Pcbc => "pcbc",
            Self::Lrw => "lrw",
            Self::Adiantum { .. } => "adiantum",
            Self::Hctr2 => "hctr2",
        }
    }
}

impl Iv {
    /// An IV without a parameter, by its name.
    pub(super) fn find(name: &str) -> Option<Self> {
        IVS.into_iter().find(|iv| iv.name() == name)
    }

    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Absent => "none",
            Self::Null => "null",
            Self::Plain => "plain",
            Self::Plain64 => "plain64",
            Self::Plain64be => "plain64be",
            Self::Essiv(_) => "essiv",
            Self::Benbi => "benbi",
            Self::Lmk => "lmk",
            Self::Tcw => "tcw",
            Self::Eboiv => "eboiv",
            Self::Elephant => "elephant",
        }
    }
}

impl Mode {
    /// Whether a sector is one block: every bit of it depends on all others, and the IV has 256 bits.
    pub(super) const fn is_wide(self) -> bool {
        matches!(self, Self::Adiantum { .. } | Self::Hctr2)
    }

    /// The size of the IV in bytes.
    pub(super) fn iv_len(self, cipher: &Cipher) -> usize {
        match self {
            Self::Ecb => 0,
            _ if self.is_wide() => 32,
            _ => cipher.block_bits() / 8,
        }
    }
}

/// Ciphers that encrypt a stream, not blocks, and are none of dm-crypt's (arc4 in ecb is).
pub(super) const STREAM_CIPHERS: [&str; 4] = ["salsa20", "chacha20", "xchacha12", "xchacha20"];

/// Modes that authenticate.
pub(super) const AEAD_MODES: [&str; 12] = [
    "gcm",
    "ccm",
    "rfc4106",
    "rfc4309",
    "rfc4543",
    "rfc7539",
    "rfc7539esp",
    "authenc",
    "authencesn",
    "eax",
    "ocb",
    "siv",
];

/// Ciphers that authenticate.
pub(super) const AEAD_CIPHERS: [&str; 8] =
    ["aegis128", "aegis128l", "aegis256", "morus640", "morus1280", "chacha20-poly1305", "gcm", "ascon"];

/// Modes and wrappers of the kernel's that are no mode of dm-crypt's here.
pub(super) const OTHER_MODES: [&str; 9] =
    ["cfb", "ofb", "cts", "xctr", "rfc3686", "kw", "cryptd", "pcrypt", "simd"];

pub(super) const MODES: [Mode; 8] = [
    Mode::Xts,
    Mode::Cbc,
    Mode::Ctr,
    Mode::Ecb,
    Mode::Pcbc,
    Mode::Lrw,
    Mode::Adiantum { rounds: 12 },
    Mode::Hctr2,
];

pub(super) const IVS: [Iv; 9] =
    [Iv::Null, Iv::Plain, Iv::Plain64, Iv::Plain64be, Iv::Benbi, Iv::Lmk, Iv::Tcw, Iv::Eboiv, Iv::Elephant];

pub(super) static ESSIV_HASHES: [EssivHash; 25] = [
    EssivHash { name: "md4", digest_bits: 128, hash: None },
    EssivHash { name: "md5", digest_bits: 128, hash: None },
    EssivHash { name: "sha1", digest_bits: 160, hash: Some(Hash::Sha1) },
    EssivHash { name: "sha224", digest_bits: 224, hash: Some(Hash::Sha224) },
    EssivHash { name: "sha256", digest_bits: 256, hash: Some(Hash::Sha256) },
    EssivHash { name: "sha384", digest_bits: 384, hash: Some(Hash::Sha384) },
    EssivHash { name: "sha512", digest_bits: 512, hash: Some(Hash::Sha512) },
    EssivHash { name: "sha3-224", digest_bits: 224, hash: Some(Hash::Sha3_224) },
    EssivHash { name: "sha3-256", digest_bits: 256, hash: Some(Hash::Sha3_256) },
    EssivHash { name: "sha3-384", digest_bits: 384, hash: Some(Hash::Sha3_384) },
    EssivHash { name: "sha3-512", digest_bits: 512, hash: Some(Hash::Sha3_512) },
    EssivHash { name: "rmd128", digest_bits: 128, hash: None },
    EssivHash { name: "rmd160", digest_bits: 160, hash: Some(Hash::Ripemd160) },
    EssivHash { name: "ripemd160", digest_bits: 160, hash: Some(Hash::Ripemd160) },
    EssivHash { name: "rmd256", digest_bits: 256, hash: None },
    EssivHash { name: "whirlpool", digest_bits: 512, hash: Some(Hash::Whirlpool) },
    EssivHash { name: "wp256", digest_bits: 256, hash: None },
    EssivHash { name: "wp384", digest_bits: 384, hash: None },
    EssivHash { name: "wp512", digest_bits: 512, hash: Some(Hash::Whirlpool) },
    EssivHash { name: "tgr192", digest_bits: 192, hash: None },
    EssivHash { name: "blake2b-512", digest_bits: 512, hash: Some(Hash::Blake2b512) },
    EssivHash { name: "blake2b-256", digest_bits: 256, hash: None },
    EssivHash { name: "blake2s-256", digest_bits: 256, hash: Some(Hash::Blake2s256) },
    EssivHash { name: "streebog256", digest_bits: 256, hash: None },
    EssivHash { name: "sm3", digest_bits: 256, hash: None },
];
