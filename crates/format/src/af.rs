//! The anti-forensic splitter (LUKS1 on-disk format 1.2.3, section 2.4): a key spread over stripes so that it is lost
//! when any one of them is.
//!
//! With n stripes of the key's length, d(0) = 0 and d(i) = diffuse(d(i-1) XOR s(i)), the key is d(n-1) XOR s(n).
//! `diffuse` hashes each digest-long block of its input with the block's number in front, big-endian 32 bits; the
//! last block is as short as the input leaves it, and its digest is cut to that. It is a plain hash, not an HMAC.

use keyway_crypto::{Hash, Secret};

/// Stripes of every keyslot that LUKS1 and LUKS2 write.
pub const STRIPES: u32 = 4000;

/// Bytes that a key of `key_len` bytes takes once split; `None` when that overflows.
pub const fn material_len(key_len: usize, stripes: u32) -> Option<usize> {
    key_len.checked_mul(stripes as usize)
}

/// Spreads `key` over `stripes` stripes. The first `stripes - 1` stripes are `random`'s bytes; the last is computed.
///
/// `None` when `random` does not hold `(stripes - 1) * key.len()` bytes, or `stripes` is zero.
pub fn split(key: &Secret, stripes: u32, hash: Hash, random: Secret) -> Option<Secret> {
    let random_len = material_len(key.len(), stripes.checked_sub(1)?)?;
    if random.len() != random_len {
        return None;
    }
    let mut material = Secret::zeroed(material_len(key.len(), stripes)?);
    material.expose_mut()[..random_len].copy_from_slice(random.expose());
    let folded = fold(random.expose(), key.len(), hash);
    let last = &mut material.expose_mut()[random_len..];
    last.copy_from_slice(folded.expose());
    xor(last, key.expose());
    Some(material)
}

/// The inverse of [`split`]; `None` when `material` does not hold `key_len * stripes` bytes or `stripes` is zero.
pub fn merge(material: &[u8], key_len: usize, stripes: u32, hash: Hash) -> Option<Secret> {
    let random_len = material_len(key_len, stripes.checked_sub(1)?)?;
    if Some(material.len()) != material_len(key_len, stripes) {
        return None;
    }
    let (stripes, last) = material.split_at(random_len);
    let mut key = fold(stripes, key_len, hash);
    xor(key.expose_mut(), last);
    Some(key)
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
