//! Hashes and ciphers by the names under which GRUB looks them up, and the modules that provide
//! them.
//!
//! grub-core/lib/libgcrypt-grub/cipher/crypto.lst of each release; names are compared
//! case-insensitively (lib/crypto.c, grub_crypto_lookup_md_by_name and
//! grub_crypto_lookup_cipher_by_name).

use super::{Loader, Version};

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

/// Looks up a hash.
pub(super) fn md(name: &str, loader: &Loader) -> Option<Md> {
    let (row, version) = (hash_row(name, loader)?, loader.libgcrypt());
    loader.has(row.1).then_some(Md { module: row.1, len: row.2, too_large: row.4 && version >= V2_14 })
}

/// Why a hash is not found, as the rest of a sentence.
pub(super) fn no_md(name: &str, loader: &Loader) -> String {
    absent("hash", name, hash_row(name, loader).map(|row| row.1))
}

fn hash_row(name: &str, loader: &Loader) -> Option<&'static HashRow> {
    HASHES.iter().find(|row| row.0.eq_ignore_ascii_case(name) && loader.libgcrypt() >= row.3)
}

/// Known to the release, but missing from a signed image; or not known.
fn absent(kind: &str, name: &str, module: Option<&str>) -> String {
    match module {
        Some(module) => format!("its signed image has no {module}, and so no {kind} \"{name}\""),
        None => format!("it has no {kind} \"{name}\""),
    }
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

/// Looks up a cipher.
pub(super) fn cipher(name: &str, loader: &Loader) -> Option<Cipher> {
    let row = cipher_row(name, loader).filter(|row| loader.has(row.1))?;
    Some(Cipher { module: row.1, block: row.2, keys: row.3 })
}

/// Why a cipher is not found, as the rest of a sentence.
pub(super) fn no_cipher(name: &str, loader: &Loader) -> String {
    absent("cipher", name, cipher_row(name, loader).map(|row| row.1))
}

fn cipher_row(name: &str, loader: &Loader) -> Option<&'static CipherRow> {
    CIPHERS.iter().find(|row| row.0.eq_ignore_ascii_case(name) && loader.libgcrypt() >= row.4)
}

use Version::{V2_06, V2_14};

type HashRow = (&'static str, &'static str, usize, Version, bool);
type CipherRow = (&'static str, &'static str, usize, &'static [usize], Version);

#[rustfmt::skip]
const HASHES: &[HashRow] = &[
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
const CIPHERS: &[CipherRow] = &[
    ("aes", "gcry_rijndael", 16, &[16, 24, 32], V2_06),
    ("serpent", "gcry_serpent", 16, &[16, 24, 32], V2_06),
    ("twofish", "gcry_twofish", 16, &[16, 32], V2_06),
    ("cast5", "gcry_cast5", 8, &[16], V2_06),
    ("blowfish", "gcry_blowfish", 8, &[16, 24, 32, 40, 48, 56], V2_06),
    ("des", "gcry_des", 8, &[8], V2_06),
    ("seed", "gcry_seed", 16, &[16], V2_06),
    ("sm4", "gcry_sm4", 16, &[16], V2_14),
];
