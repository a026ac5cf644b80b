//! The anti-forensic splitter (LUKS1 on-disk format 1.2.3, section 2.4): a key spread over stripes so that it is lost
//! when any one of them is.
//!
//! With n stripes of the key's length, d(0) = 0 and d(i) = diffuse(d(i-1) XOR s(i)), the key is d(n-1) XOR s(n).
//! `diffuse` hashes each digest-long block of its input with the block's number in front, big-endian 32 bits; the
//! last block is as short as the input leaves it, and its digest is cut to that. It is a plain hash, not an HMAC.

use crate::Error;
use alloc::format;
use keyway_crypto::{Hash, Secret};

/// Stripes of every keyslot that LUKS1 and LUKS2 write.
pub const STRIPES: u32 = 4000;

/// Bytes that a key of `key_len` bytes takes once split; `None` when that overflows.
pub const fn material_len(key_len: usize, stripes: u32) -> Option<usize> {
    key_len.checked_mul(stripes as usize)
}

/// Spreads `key` over `stripes` stripes. The first `stripes - 1` stripes are `random`'s bytes; the last is computed.
///
/// # Errors
/// [`Error::Invalid`] when `random` does not hold `(stripes - 1) * key.len()` bytes, or `stripes` is zero.
pub fn split(key: &Secret, stripes: u32, hash: Hash, random: Secret) -> Result<Secret, Error> {
    let (folded_len, whole_len) = lengths(key.len(), stripes)?;
    expect_len(random.len(), folded_len)?;
    let mut material = Secret::zeroed(whole_len);
    let (stripes, last) = material.expose_mut().split_at_mut(folded_len);
    stripes.copy_from_slice(random.expose());
    last.copy_from_slice(fold(stripes, key.len(), hash).expose());
    xor(last, key.expose());
    Ok(material)
}

/// The inverse of [`split`].
///
/// # Errors
/// [`Error::Invalid`] when `material` does not hold `key_len * stripes` bytes, or `stripes` is zero.
pub fn merge(material: &[u8], key_len: usize, stripes: u32, hash: Hash) -> Result<Secret, Error> {
    let (folded_len, whole_len) = lengths(key_len, stripes)?;
    expect_len(material.len(), whole_len)?;
    let (stripes, last) = material.split_at(folded_len);
    let mut key = fold(stripes, key_len, hash);
    xor(key.expose_mut(), last);
    Ok(key)
}

/// Bytes of all stripes but the last, and of all.
fn lengths(key_len: usize, stripes: u32) -> Result<(usize, usize), Error> {
    let folded = stripes.checked_sub(1).and_then(|stripes| material_len(key_len, stripes));
    let whole = material_len(key_len, stripes);
    folded.zip(whole).ok_or_else(|| Error::invalid("AF stripes", format!("{stripes} of {key_len} bytes")))
}

fn expect_len(has: usize, needs: usize) -> Result<(), Error> {
    let why = || format!("{has} bytes, not {needs}");
    if has == needs { Ok(()) } else { Err(Error::invalid("key material", why())) }
}

/// d(n-1): the running value after all whole stripes.
fn fold(stripes: &[u8], key_len: usize, hash: Hash) -> Secret {
    let mut running = Secret::zeroed(key_len);
    // A key of no bytes has stripes of no bytes, and `chunks_exact` takes none of zero length.
    for stripe in stripes.chunks_exact(key_len.max(1)) {
        xor(running.expose_mut(), stripe);
        diffuse(running.expose_mut(), hash);
    }
    running
}

fn diffuse(block: &mut [u8], hash: Hash) {
    for (number, part) in (0u32..).zip(block.chunks_mut(hash.output_len())) {
        let digest = hash.digest(&[&number.to_be_bytes(), part]);
        part.copy_from_slice(&digest[..part.len()]);
    }
}

fn xor(into: &mut [u8], from: &[u8]) {
    for (a, b) in into.iter_mut().zip(from) {
        *a ^= b;
    }
}
