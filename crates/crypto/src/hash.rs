//! The hashes that LUKS uses in PBKDF2, the AF splitter, digests and ESSIV.
//!
//! FIPS 180-4 (SHA-1, SHA-2), FIPS 202 (SHA-3), RFC 7693 (BLAKE2), ISO/IEC 10118-3 (RIPEMD-160, Whirlpool).

use crate::Error;
use alloc::vec::Vec;
use digest::Digest;
use sha2::digest;

/// A hash function, by cryptsetup's name for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
#[allow(missing_docs)]
pub enum Hash {
    Sha1,
    Sha224,
    Sha256,
    Sha384,
    Sha512,
    Sha3_224,
    Sha3_256,
    Sha3_384,
    Sha3_512,
    Ripemd160,
    Whirlpool,
    Blake2b512,
    Blake2s256,
}

impl Hash {
    /// Every hash there is, in the order of the enum.
    pub const ALL: [Self; 13] = [
        Self::Sha1,
        Self::Sha224,
        Self::Sha256,
        Self::Sha384,
        Self::Sha512,
        Self::Sha3_224,
        Self::Sha3_256,
        Self::Sha3_384,
        Self::Sha3_512,
        Self::Ripemd160,
        Self::Whirlpool,
        Self::Blake2b512,
        Self::Blake2s256,
    ];

    /// Parses cryptsetup's name ("sha256", "ripemd160", "blake2b-512"), case-insensitively as gcrypt and OpenSSL do.
    /// "rmd160", the kernel's and gcrypt's name for RIPEMD-160, is taken too.
    pub fn parse(name: &str) -> Result<Self, Error> {
        let known = Self::ALL.into_iter().find(|hash| hash.name().eq_ignore_ascii_case(name));
        match known {
            Some(hash) => Ok(hash),
            None if name.eq_ignore_ascii_case("rmd160") => Ok(Self::Ripemd160),
            None => Err(Error::Unknown { what: "hash", name: name.into() }),
        }
    }

    /// cryptsetup's name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Sha1 => "sha1",
            Self::Sha224 => "sha224",
            Self::Sha256 => "sha256",
            Self::Sha384 => "sha384",
            Self::Sha512 => "sha512",
            Self::Sha3_224 => "sha3-224",
            Self::Sha3_256 => "sha3-256",
            Self::Sha3_384 => "sha3-384",
            Self::Sha3_512 => "sha3-512",
            Self::Ripemd160 => "ripemd160",
            Self::Whirlpool => "whirlpool",
            Self::Blake2b512 => "blake2b-512",
            Self::Blake2s256 => "blake2s-256",
        }
    }

    /// Digest length in bytes.
    pub const fn output_len(self) -> usize {
        match self {
            Self::Sha1 | Self::Ripemd160 => 20,
            Self::Sha224 | Self::Sha3_224 => 28,
            Self::Sha256 | Self::Sha3_256 | Self::Blake2s256 => 32,
            Self::Sha384 | Self::Sha3_384 => 48,
            Self::Sha512 | Self::Sha3_512 | Self::Whirlpool | Self::Blake2b512 => 64,
        }
    }

    /// The length of the block that the compression function (or the sponge) takes, in bytes: HMAC pads keys to it.
    pub(crate) const fn block_len(self) -> usize {
        match self {
            Self::Sha1
            | Self::Sha224
            | Self::Sha256
            | Self::Ripemd160
            | Self::Whirlpool
            | Self::Blake2s256 => 64,
            Self::Sha384 | Self::Sha512 | Self::Blake2b512 => 128,
            Self::Sha3_224 => 144,
            Self::Sha3_256 => 136,
            Self::Sha3_384 => 104,
            Self::Sha3_512 => 72,
        }
    }

    /// The digest of the concatenation of `parts`.
    pub fn digest(self, parts: &[&[u8]]) -> Vec<u8> {
        let mut digest = alloc::vec![0; self.output_len()];
        self.digest_into(parts, &mut digest);
        digest
    }

    /// The digest of the concatenation of `parts`, cut to the length of `out`; what `out` has beyond a digest's length
    /// stays as it is.
    pub fn digest_into(self, parts: &[&[u8]], out: &mut [u8]) {
        match self {
            Self::Sha1 => concatenated::<sha1::Sha1>(parts, out),
            Self::Sha224 => concatenated::<sha2::Sha224>(parts, out),
            Self::Sha256 => concatenated::<sha2::Sha256>(parts, out),
            Self::Sha384 => concatenated::<sha2::Sha384>(parts, out),
            Self::Sha512 => concatenated::<sha2::Sha512>(parts, out),
            Self::Sha3_224 => concatenated::<sha3::Sha3_224>(parts, out),
            Self::Sha3_256 => concatenated::<sha3::Sha3_256>(parts, out),
            Self::Sha3_384 => concatenated::<sha3::Sha3_384>(parts, out),
            Self::Sha3_512 => concatenated::<sha3::Sha3_512>(parts, out),
            Self::Ripemd160 => concatenated::<ripemd::Ripemd160>(parts, out),
            Self::Whirlpool => concatenated::<whirlpool::Whirlpool>(parts, out),
            Self::Blake2b512 => concatenated::<blake2::Blake2b512>(parts, out),
            Self::Blake2s256 => concatenated::<blake2::Blake2s256>(parts, out),
        }
    }
}

fn concatenated<D: Digest>(parts: &[&[u8]], out: &mut [u8]) {
    let mut digest = D::new();
    parts.iter().for_each(|part| digest.update(part));
    out.iter_mut().zip(digest.finalize()).for_each(|(out, byte)| *out = byte);
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::String;

    /// The digest of "abc": FIPS 180-4 examples, FIPS 202 examples (NIST), RFC 7693 appendices A and B, and the
    /// home pages of RIPEMD-160 and Whirlpool (ISO test vectors).
    const ABC: [(&str, &str); 13] = [
        ("sha1", "a9993e364706816aba3e25717850c26c9cd0d89d"),
        ("sha224", "23097d223405d8228642a477bda255b32aadbce4bda0b3f7e36c9da7"),
        ("sha256", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
        (
            "sha384",
            "cb00753f45a35e8bb5a03d699ac65007272c32ab0eded1631a8b605a43ff5bed8086072ba1e7cc2358baeca134c825a7",
        ),
        (
            "sha512",
            "ddaf35a193617abacc417349ae20413112e6fa4e89a97ea20a9eeee64b55d39a\
             2192992a274fc1a836ba3c23a3feebbd454d4423643ce80e2a9ac94fa54ca49f",
        ),
        ("sha3-224", "e642824c3f8cf24ad09234ee7d3c766fc9a3a5168d0c94ad73b46fdf"),
        ("sha3-256", "3a985da74fe225b2045c172d6bd390bd855f086e3e9d525b46bfe24511431532"),
        (
            "sha3-384",
            "ec01498288516fc926459f58e2c6ad8df9b473cb0fc08c2596da7cf0e49be4b298d88cea927ac7f539f1edf228376d25",
        ),
        (
            "sha3-512",
            "b751850b1a57168a5693cd924b6b096e08f621827444f70d884f5d0240d2712e\
             10e116e9192af3c91a7ec57647e3934057340b4cf408d5a56592f8274eec53f0",
        ),
        ("ripemd160", "8eb208f7e05d987a9b044a8e98c6b087f15a0bfc"),
        (
            "whirlpool",
            "4e2448a4c6f486bb16b6562c73b4020bf3043e3a731bce721ae1b303d97e6d4c\
             7181eebdb6c57e277d0e34957114cbd6c797fc9d95d8b582d225292076d4eef5",
        ),
        (
            "blake2b-512",
            "ba80a53f981c4d0d6a2797b69f12f6e94c212f14685ac4b74b12bb6fdbffa2d1\
             7d87c5392aab792dc252d5de4533cc9518d38aa8dbf1925ab92386edd4009923",
        ),
        ("blake2s-256", "508c5e8c327c14e2e1a72ba34eeb452f37458b209ed63a294d999b4c86675982"),
    ];

    #[test]
    fn digests_of_abc() {
        for (name, expected) in ABC {
            let hash = Hash::parse(name).unwrap();
            assert_eq!(hash.name(), name);
            let digest = hash.digest(&[b"a", b"", b"bc"]);
            assert_eq!(digest.len(), hash.output_len());
            let mut cut = [0xee; 70];
            hash.digest_into(&[b"abc"], &mut cut[..7]);
            assert_eq!((&cut[..7], cut[7]), (&digest[..7], 0xee));
            hash.digest_into(&[b"abc"], &mut cut);
            assert_eq!((&cut[..digest.len()], cut[69]), (&digest[..], 0xee));
            assert_eq!(
                digest.iter().map(|byte| format!("{byte:02x}")).collect::<String>(),
                expected,
                "{name}"
            );
        }
    }

    #[test]
    fn names_are_case_insensitive() {
        assert_eq!(Hash::parse("SHA256"), Ok(Hash::Sha256));
        assert_eq!(Hash::parse("RMD160"), Ok(Hash::Ripemd160));
        assert_eq!(Hash::parse("sha257"), Err(Error::Unknown { what: "hash", name: "sha257".into() }));
    }
}
