//! The hashes that LUKS and dm-crypt name: in PBKDF2, the AF
//! splitter, digests, ESSIV and plain mode.
//!
//! FIPS 180-4 (SHA-1, SHA-2), FIPS 202 (SHA-3), RFC 1320 and 1321 (MD4, MD5), RFC 7693 (BLAKE2),
//! RFC 6986 (Streebog), GM/T 0004-2012 (SM3), ISO/IEC 10118-3 (RIPEMD-160, Whirlpool);
//! RIPEMD-128, -256, -320 and Tiger by their authors.

pub(crate) mod context;
pub(crate) mod sha2;
mod table;
#[cfg(test)]
mod tests;
pub(crate) mod whirlpool;

#[cfg(feature = "alloc")]
use crate::Error;
#[cfg(feature = "alloc")]
use alloc::vec::Vec;
pub(crate) use context::{Context, with_context};

/// A hash function.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
#[allow(missing_docs)]
pub enum Hash {
    Sha1,
    Sha224,
    Sha256,
    Sha384,
    Sha512,
    Sha512_224,
    Sha512_256,
    Sha3_224,
    Sha3_256,
    Sha3_384,
    Sha3_512,
    Md4,
    Md5,
    Ripemd128,
    Ripemd160,
    Ripemd256,
    Ripemd320,
    Tiger192,
    Whirlpool,
    Whirlpool256,
    Whirlpool384,
    /// Whirlpool as implemented by libgcrypt before 1.6.0: see [`Hash::digest`].
    WhirlpoolGcryptBug,
    Blake2b160,
    Blake2b256,
    Blake2b384,
    Blake2b512,
    Blake2s128,
    Blake2s160,
    Blake2s224,
    Blake2s256,
    Streebog256,
    Streebog512,
    Sm3,
}

impl Hash {
    /// Every hash, in the order of the enum.
    pub const ALL: [Self; table::HASHES.len()] = {
        let mut all = [Self::Sha1; table::HASHES.len()];
        let mut at = 0;
        while at < all.len() {
            all[at] = table::HASHES[at].hash;
            at += 1;
        }
        all
    };

    /// Parses cryptsetup's name ("sha256", "ripemd160", "blake2b-512"), the kernel's ("rmd160",
    /// "wp512", "streebog256"), libgcrypt's ("blake2b_512") or OpenSSL's ("sha2-256"), ignoring
    /// case, as the libraries do.
    #[cfg(feature = "alloc")]
    pub fn parse(name: &str) -> Result<Self, Error> {
        Self::find(name).ok_or_else(|| Error::Unknown { what: "hash", name: name.into() })
    }

    /// Like [`Hash::parse`], for callers with their own error message.
    pub fn find(name: &str) -> Option<Self> {
        let is = |known: &&str| known.eq_ignore_ascii_case(name);
        let mut rows = table::HASHES.iter();
        rows.find(|row| is(&row.name) || row.aliases.iter().any(is)).map(|row| row.hash)
    }

    /// cryptsetup's name, or where it has none of its own, the kernel's.
    pub const fn name(self) -> &'static str {
        self.row().name
    }

    /// Digest length in bytes.
    pub const fn output_len(self) -> usize {
        self.row().output
    }

    /// The length of the block that the compression function (or the
    /// sponge) takes, in bytes: HMAC pads keys to it.
    pub(crate) const fn block_len(self) -> usize {
        self.row().block
    }

    /// The digest of the concatenation of `parts`.
    ///
    /// [`Hash::WhirlpoolGcryptBug`] alone depends on how the message is split into parts: a part
    /// that starts inside a block and ends in the same block is not counted in the message's
    /// length.
    #[cfg(feature = "alloc")]
    pub fn digest(self, parts: &[&[u8]]) -> Vec<u8> {
        let mut digest = alloc::vec![0; self.output_len()];
        self.digest_into(parts, &mut digest);
        digest
    }

    /// The digest of the concatenation of `parts`, truncated to the length of `out`; bytes of `out`
    /// beyond the digest's length are left unchanged.
    pub fn digest_into(self, parts: &[&[u8]], out: &mut [u8]) {
        let used = out.len().min(self.output_len());
        with_context!(self, C => {
            let mut context = C::default();
            parts.iter().for_each(|part| Context::update(&mut context, part));
            context.finish(&mut out[..used]);
        });
    }

    const fn row(self) -> &'static table::Row {
        &table::HASHES[self as usize]
    }
}
