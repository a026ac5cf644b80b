//! Hashes and ciphers by the names under which GRUB looks them up, and the modules that provide
//! them.
//!
//! grub-core/lib/libgcrypt-grub/cipher/crypto.lst of each release; names are compared
//! case-insensitively (lib/crypto.c, grub_crypto_lookup_md_by_name and
//! grub_crypto_lookup_cipher_by_name).

use super::Version;

/// A hash known to GRUB.
pub(super) struct Md {
    /// The module, without ".mod".
    pub(super) module: &'static str,
    /// The length of a digest.
    pub(super) len: usize,
    /// Whether its state is larger than 2.14's buffer for it, so that GRUB aborts with "Too large
    /// md context".
    pub(super) too_large: bool,
}

/// Looks up a hash in this version.
pub(super) fn md(name: &str, version: Version) -> Option<Md> {
    let row = HASHES.iter().find(|row| row.0.eq_ignore_ascii_case(name))?;
    (version >= row.3).then_some(Md { module: row.1, len: row.2, too_large: row.4 && version >= V2_14 })
}

/// A cipher known to GRUB.
pub(super) struct Cipher {
    /// The module, without ".mod".
    pub(super) module: &'static str,
    /// The block length.
    pub(super) block: usize,
    /// The supported key lengths.
    pub(super) keys: &'static [usize],
}

/// Looks up a cipher in this version.
pub(super) fn cipher(name: &str, version: Version) -> Option<Cipher> {
    let row = CIPHERS.iter().find(|row| row.0.eq_ignore_ascii_case(name))?;
    (version >= row.4).then_some(Cipher { module: row.1, block: row.2, keys: row.3 })
}

use Version::{V2_06, V2_14};

#[rustfmt::skip]
const HASHES: &[(&str, &str, usize, Version, bool)] = &[
    ("sha1", "gcry_sha1", 20, V2_06, false),
    ("sha224", "gcry_sha256", 28, V2_06, false),
    ("sha256", "gcry_sha256", 32, V2_06, false),
    ("sha384", "gcry_sha512", 48, V2_06, false),
    ("sha512", "gcry_sha512", 64, V2_06, false),
    ("ripemd160", "gcry_rmd160", 20, V2_06, false),
    ("whirlpool", "gcry_whirlpool", 64, V2_06, true),
    ("md5", "gcry_md5", 16, V2_06, false),
    ("tiger192", "gcry_tiger", 24, V2_06, false),
    ("sha3-224", "gcry_keccak", 28, V2_14, false),
    ("sha3-256", "gcry_keccak", 32, V2_14, false),
    ("sha3-384", "gcry_keccak", 48, V2_14, false),
    ("sha3-512", "gcry_keccak", 64, V2_14, false),
    ("sm3", "gcry_sm3", 32, V2_14, false),
    ("stribog256", "gcry_stribog", 32, V2_14, true),
    ("stribog512", "gcry_stribog", 64, V2_14, true),
];

#[rustfmt::skip]
const CIPHERS: &[(&str, &str, usize, &[usize], Version)] = &[
    ("aes", "gcry_rijndael", 16, &[16, 24, 32], V2_06),
    ("serpent", "gcry_serpent", 16, &[16, 24, 32], V2_06),
    ("twofish", "gcry_twofish", 16, &[16, 32], V2_06),
    ("cast5", "gcry_cast5", 8, &[16], V2_06),
    ("blowfish", "gcry_blowfish", 8, &[16, 24, 32, 40, 48, 56], V2_06),
    ("des", "gcry_des", 8, &[8], V2_06),
    ("seed", "gcry_seed", 16, &[16], V2_06),
    ("sm4", "gcry_sm4", 16, &[16], V2_14),
];
