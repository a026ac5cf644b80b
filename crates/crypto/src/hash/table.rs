//! The table of hashes: names, digest lengths, block lengths. Row by
//! row in the order of [`enum@Hash`].

use super::Hash;

/// A hash's names and sizes.
pub(super) struct Row {
    pub(super) hash: Hash,
    /// cryptsetup's name, or where it has none of its own, the kernel's.
    pub(super) name: &'static str,
    /// Other names used by the kernel, libgcrypt and OpenSSL.
    pub(super) aliases: &'static [&'static str],
    /// Bytes per digest.
    pub(super) output: usize,
    /// Bytes per block.
    pub(super) block: usize,
}

const fn row(
    hash: Hash,
    name: &'static str,
    aliases: &'static [&'static str],
    output: usize,
    block: usize,
) -> Row {
    Row { hash, name, aliases, output, block }
}

pub(super) static HASHES: [Row; 33] = [
    row(Hash::Sha1, "sha1", &["sha-1"], 20, 64),
    row(Hash::Sha224, "sha224", &["sha2-224", "sha-224"], 28, 64),
    row(Hash::Sha256, "sha256", &["sha2-256", "sha-256"], 32, 64),
    row(Hash::Sha384, "sha384", &["sha2-384", "sha-384"], 48, 128),
    row(Hash::Sha512, "sha512", &["sha2-512", "sha-512"], 64, 128),
    row(Hash::Sha512_224, "sha512-224", &["sha512_224", "sha2-512/224", "sha-512/224"], 28, 128),
    row(Hash::Sha512_256, "sha512-256", &["sha512_256", "sha2-512/256", "sha-512/256"], 32, 128),
    row(Hash::Sha3_224, "sha3-224", &[], 28, 144),
    row(Hash::Sha3_256, "sha3-256", &[], 32, 136),
    row(Hash::Sha3_384, "sha3-384", &[], 48, 104),
    row(Hash::Sha3_512, "sha3-512", &[], 64, 72),
    row(Hash::Md4, "md4", &[], 16, 64),
    row(Hash::Md5, "md5", &["ssl3-md5"], 16, 64),
    row(Hash::Ripemd128, "rmd128", &["ripemd128"], 16, 64),
    row(Hash::Ripemd160, "ripemd160", &["rmd160", "ripemd-160", "ripemd"], 20, 64),
    row(Hash::Ripemd256, "rmd256", &["ripemd256"], 32, 64),
    row(Hash::Ripemd320, "rmd320", &["ripemd320"], 40, 64),
    row(Hash::Tiger192, "tgr192", &["tiger192"], 24, 64),
    row(Hash::Whirlpool, "whirlpool", &["wp512"], 64, 64),
    row(Hash::Whirlpool256, "wp256", &[], 32, 64),
    row(Hash::Whirlpool384, "wp384", &[], 48, 64),
    row(Hash::WhirlpoolGcryptBug, "whirlpool_gcryptbug", &[], 64, 64),
    row(Hash::Blake2b160, "blake2b-160", &["blake2b_160"], 20, 128),
    row(Hash::Blake2b256, "blake2b-256", &["blake2b_256"], 32, 128),
    row(Hash::Blake2b384, "blake2b-384", &["blake2b_384"], 48, 128),
    row(Hash::Blake2b512, "blake2b-512", &["blake2b_512", "blake2b512"], 64, 128),
    row(Hash::Blake2s128, "blake2s-128", &["blake2s_128"], 16, 64),
    row(Hash::Blake2s160, "blake2s-160", &["blake2s_160"], 20, 64),
    row(Hash::Blake2s224, "blake2s-224", &["blake2s_224"], 28, 64),
    row(Hash::Blake2s256, "blake2s-256", &["blake2s_256", "blake2s256"], 32, 64),
    row(Hash::Streebog256, "stribog256", &["streebog256"], 32, 64),
    row(Hash::Streebog512, "stribog512", &["streebog512"], 64, 64),
    row(Hash::Sm3, "sm3", &[], 32, 64),
];
