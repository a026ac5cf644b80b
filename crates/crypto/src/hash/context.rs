//! A hash in progress: takes a message part by part; and its type for each [`Hash`](super::Hash).

use sha2::digest::Digest;
use zeroize::Zeroize;

/// A hash in progress.
pub(crate) trait Context: Clone + Default {
    fn update(&mut self, part: &[u8]);

    /// Writes the digest, truncated to the length of `out`.
    fn finish(self, out: &mut [u8]);
}

impl<D: Digest + Clone + Default> Context for D {
    fn update(&mut self, part: &[u8]) {
        Digest::update(self, part);
    }

    fn finish(self, out: &mut [u8]) {
        let mut digest = self.finalize();
        out.copy_from_slice(&digest[..out.len()]);
        digest.as_mut_slice().zeroize();
    }
}

/// Tiger with 192 bits as in the kernel until 5.12 and as libgcrypt's TIGER192: the digest's words
/// are written big endian, as the reference printed them.
#[derive(Clone, Default)]
pub(crate) struct Tiger192(tiger::Tiger);

impl Context for Tiger192 {
    fn update(&mut self, part: &[u8]) {
        Digest::update(&mut self.0, part);
    }

    fn finish(self, out: &mut [u8]) {
        let mut digest = self.0.finalize();
        digest.chunks_mut(8).for_each(<[u8]>::reverse);
        out.copy_from_slice(&digest[..out.len()]);
        digest.as_mut_slice().zeroize();
    }
}

/// Runs the expression with `$context` standing for the type of the hash's [`Context`].
macro_rules! with_context {
    ($hash:expr, $context:ident => $run:expr) => {{
        use ::sha2::digest::consts::{U16, U20, U28, U32, U48};
        use $crate::Hash;
        use $crate::hash::{context, sha2, whirlpool};
        match $hash {
            Hash::Sha1 => {
                type $context = sha1::Sha1;
                $run
            }
            Hash::Sha224 => {
                type $context = ::sha2::Sha224;
                $run
            }
            Hash::Sha256 => {
                type $context = sha2::Sha256;
                $run
            }
            Hash::Sha384 => {
                type $context = ::sha2::Sha384;
                $run
            }
            Hash::Sha512 => {
                type $context = ::sha2::Sha512;
                $run
            }
            Hash::Sha512_224 => {
                type $context = ::sha2::Sha512_224;
                $run
            }
            Hash::Sha512_256 => {
                type $context = ::sha2::Sha512_256;
                $run
            }
            Hash::Sha3_224 => {
                type $context = sha3::Sha3_224;
                $run
            }
            Hash::Sha3_256 => {
                type $context = sha3::Sha3_256;
                $run
            }
            Hash::Sha3_384 => {
                type $context = sha3::Sha3_384;
                $run
            }
            Hash::Sha3_512 => {
                type $context = sha3::Sha3_512;
                $run
            }
            Hash::Md4 => {
                type $context = md4::Md4;
                $run
            }
            Hash::Md5 => {
                type $context = md5::Md5;
                $run
            }
            Hash::Ripemd128 => {
                type $context = ripemd::Ripemd128;
                $run
            }
            Hash::Ripemd160 => {
                type $context = ripemd::Ripemd160;
                $run
            }
            Hash::Ripemd256 => {
                type $context = ripemd::Ripemd256;
                $run
            }
            Hash::Ripemd320 => {
                type $context = ripemd::Ripemd320;
                $run
            }
            Hash::Tiger192 => {
                type $context = context::Tiger192;
                $run
            }
            Hash::Whirlpool | Hash::Whirlpool256 | Hash::Whirlpool384 => {
                type $context = whirlpool::Whirlpool;
                $run
            }
            Hash::WhirlpoolGcryptBug => {
                type $context = whirlpool::Flawed;
                $run
            }
            Hash::Blake2b160 => {
                type $context = blake2::Blake2b<U20>;
                $run
            }
            Hash::Blake2b256 => {
                type $context = blake2::Blake2b<U32>;
                $run
            }
            Hash::Blake2b384 => {
                type $context = blake2::Blake2b<U48>;
                $run
            }
            Hash::Blake2b512 => {
                type $context = blake2::Blake2b512;
                $run
            }
            Hash::Blake2s128 => {
                type $context = blake2::Blake2s<U16>;
                $run
            }
            Hash::Blake2s160 => {
                type $context = blake2::Blake2s<U20>;
                $run
            }
            Hash::Blake2s224 => {
                type $context = blake2::Blake2s<U28>;
                $run
            }
            Hash::Blake2s256 => {
                type $context = blake2::Blake2s256;
                $run
            }
            Hash::Streebog256 => {
                type $context = streebog::Streebog256;
                $run
            }
            Hash::Streebog512 => {
                type $context = streebog::Streebog512;
                $run
            }
            Hash::Sm3 => {
                type $context = sm3::Sm3;
                $run
            }
        }
    }};
}
pub(crate) use with_context;
