//! The anti-forensic splitter (LUKS1 on-disk format 1.2.3, section 2.4): a key is spread over
//! stripes so that losing any one of them loses the key.
//!
//! With n stripes of the key's length, d(0) = 0 and d(i) = diffuse(d(i-1) XOR s(i)), the key is
//! d(n-1) XOR s(n). `diffuse` hashes each digest-long block of its input, preceded by the block's
//! number as big-endian 32 bits. The last block has the remaining length, and its digest is
//! truncated to that. The hash is a plain hash, not an HMAC.

#[cfg(feature = "alloc")]
use crate::Error;
#[cfg(feature = "alloc")]
use alloc::format;
use keyway_crypto::{Hash, Secret};

/// The number of stripes in every keyslot that LUKS1 and LUKS2 write.
pub const STRIPES: u32 = 4000;

/// Bytes that a key of `key_len` bytes takes when split; `None` on overflow.
pub const fn material_len(key_len: usize, stripes: u32) -> Option<usize> {
    key_len.checked_mul(stripes as usize)
}

/// Spreads `key` over `stripes` stripes in `material`: all but the last are fresh random bytes, the
/// last is computed.
///
/// # Errors
/// [`Error::Invalid`] when `material` does not hold `stripes *
/// key.len()` bytes, or `stripes` is zero.
#[cfg(feature = "alloc")]
pub fn split(key: &Secret, stripes: u32, hash: Hash, material: &mut [u8]) -> Result<(), Error> {
    check(material.len(), key.len(), stripes)?;
    let (stripes, last) = material.split_at_mut(material.len() - key.len());
    fold(stripes, hash, last);
    xor(last, key.expose());
    Ok(())
}

/// The inverse of [`split`].
///
/// # Errors
/// [`Error::Invalid`] when `material` does not hold `stripes *
/// key_len` bytes, or `stripes` is zero.
#[cfg(feature = "alloc")]
pub fn merge(material: &[u8], key_len: usize, stripes: u32, hash: Hash) -> Result<Secret, Error> {
    check(material.len(), key_len, stripes)?;
    let mut key = Secret::zeroed(key_len);
    merge_into(material, hash, key.expose_mut());
    Ok(key)
}

/// [`merge`] over slices, without an allocator. The number of stripes is as many as `material`
/// holds.
///
/// # Panics
/// When `material` is not one or more stripes of `key.len()` bytes.
pub fn merge_into(material: &[u8], hash: Hash, key: &mut [u8]) {
    let folded = material.len().checked_sub(key.len()).expect("one stripe at least");
    let (stripes, last) = material.split_at(folded);
    assert!(folded == 0 || folded.is_multiple_of(key.len()), "whole stripes");
    fold(stripes, hash, key);
    xor(key, last);
}

#[cfg(feature = "alloc")]
fn check(material_len: usize, key_len: usize, stripes: u32) -> Result<(), Error> {
    if stripes == 0 || Some(material_len) != self::material_len(key_len, stripes) {
        let why = format!("{material_len} bytes are not {stripes} stripes of {key_len}");
        return Err(Error::invalid("key material", why));
    }
    Ok(())
}

/// Computes d(n-1), the value after all these stripes, into `running`.
fn fold(stripes: &[u8], hash: Hash, running: &mut [u8]) {
    let mut digest = Secret::zeroed(hash.output_len());
    running.fill(0);
    // A key of no bytes has stripes of no bytes, but `chunks_exact` does not accept zero length.
    for stripe in stripes.chunks_exact(running.len().max(1)) {
        xor(running, stripe);
        diffuse(running, hash, digest.expose_mut());
    }
}

fn diffuse(value: &mut [u8], hash: Hash, digest: &mut [u8]) {
    for (number, block) in (0u32..).zip(value.chunks_mut(digest.len())) {
        hash.digest_into(&[&number.to_be_bytes(), block], digest);
        block.copy_from_slice(&digest[..block.len()]);
    }
}

fn xor(into: &mut [u8], from: &[u8]) {
    for (a, b) in into.iter_mut().zip(from) {
        *a ^= b;
    }
}

#[cfg(all(test, feature = "alloc"))]
mod tests {
    use super::*;
    use alloc::string::String;
    use alloc::vec::Vec;

    /// Keys merged from the material below by 20 lines of Python with hashlib: several blocks per
    /// stripe, one, a part of one, and a truncated last block.
    const VECTORS: [(Hash, usize, u32, &str); 4] = [
        (Hash::Sha1, 32, 4000, "2bc77703ed68815782524fd1162a452861bfb3de9b9af64961e3e07883060306"),
        (
            Hash::Sha256,
            64,
            4000,
            "26893fe959768dd9b9cbac1459aeb07c7f1b92843130a3b953eefef12154ae07\
             9a0084dcae6aadd80f869abe0e779211fe0ad4f20c337514724ff36210060e20",
        ),
        (Hash::Sha512, 16, 4000, "d14a342d3d8f4a6c80144f93ea5b6955"),
        (
            Hash::Sha256,
            40,
            7,
            "28ef97800d9475bcfe9fd92733fde28e0b1911ac4fcf35cd355a2b53a9b39cf33a62f58560c93e80",
        ),
    ];

    fn material(len: usize) -> Vec<u8> {
        (0..len).map(|i| (i * 167 + i / 251) as u8).collect()
    }

    #[test]
    fn merge_gives_the_vectors() {
        for (hash, key_len, stripes, expected) in VECTORS {
            let key = merge(&material(key_len * stripes as usize), key_len, stripes, hash).unwrap();
            let hex: String = key.expose().iter().map(|byte| format!("{byte:02x}")).collect();
            assert_eq!(hex, expected, "{hash:?}");
        }
    }

    #[test]
    fn split_then_merge_is_the_key() {
        for (key_len, stripes) in [(0, 3), (1, 1), (1, 2), (20, 3), (21, 3), (64, 9), (100, 4)] {
            let key = Secret::copy_from(&(0..key_len as u8).collect::<Vec<_>>());
            let mut split_key = material(key_len * stripes as usize);
            let random = split_key.clone();
            split(&key, stripes, Hash::Sha1, &mut split_key).unwrap();
            let folded = key_len * (stripes as usize - 1);
            assert_eq!(split_key[..folded], random[..folded], "only the last stripe is written");
            let merged = merge(&split_key, key_len, stripes, Hash::Sha1).unwrap();
            assert_eq!(merged.expose(), key.expose());
            if key_len > 0 && stripes > 1 {
                split_key[0] ^= 1;
                let spoiled = merge(&split_key, key_len, stripes, Hash::Sha1).unwrap();
                assert_ne!(spoiled.expose(), key.expose(), "one bit of one stripe counts");
            }
        }
    }

    #[test]
    fn wrong_lengths_are_refused() {
        let refused =
            |len: usize, key_len, stripes| match merge(&material(len), key_len, stripes, Hash::Sha256) {
                Ok(_) => String::from("merged"),
                Err(error) => format!("{error}"),
            };
        assert_eq!(refused(9, 5, 2), "key material: 9 bytes are not 2 stripes of 5");
        assert_eq!(refused(0, 5, 0), "key material: 0 bytes are not 0 stripes of 5");
        assert_eq!(
            refused(8, usize::MAX, 2),
            format!("key material: 8 bytes are not 2 stripes of {}", usize::MAX)
        );
        let key = Secret::copy_from(b"12345");
        assert!(split(&key, 2, Hash::Sha256, &mut [0; 9]).is_err());
    }
}
