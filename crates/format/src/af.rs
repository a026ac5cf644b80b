//! The anti-forensic splitter of LUKS (LUKS1 on-disk format 1.2.3, section 2.4).

use alloc::vec::Vec;
use keyway_crypto::{Hash, Secret};

/// Spreads `key` over `stripes` stripes. `random` must hold `(stripes - 1) * key.len()` fresh random bytes.
pub fn split(key: &Secret, stripes: u32, hash: Hash, random: Secret) -> Secret {
    let _ = (key, stripes, hash, random);
    todo!()
}

/// The inverse of [`split`]: `material` holds `key_len * stripes` bytes.
pub fn merge(material: &[u8], key_len: usize, stripes: u32, hash: Hash) -> Secret {
    let _ = (material, key_len, stripes, hash, Vec::<u8>::new());
    todo!()
}
