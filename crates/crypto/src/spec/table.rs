//! The names dm-crypt knows for modes, IVs, and hashes for ESSIV; ciphers have their own table
//! ([`crate::block::table`]).

use super::{Iv, Mode};
use crate::Hash;
use crate::block::table::Cipher;

/// A hash that ESSIV may name, by the kernel's name for it.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct EssivHash {
    pub(super) name: &'static str,
    pub(crate) hash: Hash,
}

impl EssivHash {
    pub(super) fn find(name: &str) -> Option<&'static Self> {
        ESSIV_HASHES.iter().find(|hash| hash.name == name)
    }

    pub(super) const fn digest_bits(&self) -> usize {
        8 * self.hash.output_len()
    }
}

impl Mode {
    /// A mode by its name; Adiantum's rounds are part of the cipher's name.
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
            Self::Cfb => "cfb",
            Self::Ofb => "ofb",
            Self::Xctr => "xctr",
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
    /// Whether a sector is one block: every bit of it depends on all
    /// others, and the IV has 256 bits.
    pub(super) const fn is_wide(self) -> bool {
        matches!(self, Self::Adiantum { .. } | Self::Hctr2)
    }

    /// Whether the cipher makes a key stream: the kernel then states blocks of one byte.
    pub(super) const fn is_stream(self) -> bool {
        matches!(self, Self::Ctr | Self::Cfb | Self::Ofb | Self::Xctr)
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

/// Ciphers that encrypt a stream rather than blocks and are unavailable in dm-crypt (arc4 in ecb is
/// available).
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

/// Modes and wrappers of the kernel that are not dm-crypt modes here.
pub(super) const OTHER_MODES: [&str; 6] = ["cts", "rfc3686", "kw", "cryptd", "pcrypt", "simd"];

pub(super) const MODES: [Mode; 11] = [
    Mode::Xts,
    Mode::Cbc,
    Mode::Ctr,
    Mode::Ecb,
    Mode::Pcbc,
    Mode::Lrw,
    Mode::Cfb,
    Mode::Ofb,
    Mode::Xctr,
    Mode::Adiantum { rounds: 12 },
    Mode::Hctr2,
];

pub(super) const IVS: [Iv; 9] =
    [Iv::Null, Iv::Plain, Iv::Plain64, Iv::Plain64be, Iv::Benbi, Iv::Lmk, Iv::Tcw, Iv::Eboiv, Iv::Elephant];

pub(super) static ESSIV_HASHES: [EssivHash; 32] = [
    EssivHash { name: "md4", hash: Hash::Md4 },
    EssivHash { name: "md5", hash: Hash::Md5 },
    EssivHash { name: "sha1", hash: Hash::Sha1 },
    EssivHash { name: "sha224", hash: Hash::Sha224 },
    EssivHash { name: "sha256", hash: Hash::Sha256 },
    EssivHash { name: "sha384", hash: Hash::Sha384 },
    EssivHash { name: "sha512", hash: Hash::Sha512 },
    EssivHash { name: "sha3-224", hash: Hash::Sha3_224 },
    EssivHash { name: "sha3-256", hash: Hash::Sha3_256 },
    EssivHash { name: "sha3-384", hash: Hash::Sha3_384 },
    EssivHash { name: "sha3-512", hash: Hash::Sha3_512 },
    EssivHash { name: "rmd128", hash: Hash::Ripemd128 },
    EssivHash { name: "rmd160", hash: Hash::Ripemd160 },
    EssivHash { name: "ripemd160", hash: Hash::Ripemd160 },
    EssivHash { name: "rmd256", hash: Hash::Ripemd256 },
    EssivHash { name: "rmd320", hash: Hash::Ripemd320 },
    EssivHash { name: "whirlpool", hash: Hash::Whirlpool },
    EssivHash { name: "wp256", hash: Hash::Whirlpool256 },
    EssivHash { name: "wp384", hash: Hash::Whirlpool384 },
    EssivHash { name: "wp512", hash: Hash::Whirlpool },
    EssivHash { name: "tgr192", hash: Hash::Tiger192 },
    EssivHash { name: "blake2b-512", hash: Hash::Blake2b512 },
    EssivHash { name: "blake2b-384", hash: Hash::Blake2b384 },
    EssivHash { name: "blake2b-256", hash: Hash::Blake2b256 },
    EssivHash { name: "blake2b-160", hash: Hash::Blake2b160 },
    EssivHash { name: "blake2s-256", hash: Hash::Blake2s256 },
    EssivHash { name: "blake2s-224", hash: Hash::Blake2s224 },
    EssivHash { name: "blake2s-160", hash: Hash::Blake2s160 },
    EssivHash { name: "blake2s-128", hash: Hash::Blake2s128 },
    EssivHash { name: "streebog256", hash: Hash::Streebog256 },
    EssivHash { name: "streebog512", hash: Hash::Streebog512 },
    EssivHash { name: "sm3", hash: Hash::Sm3 },
];
