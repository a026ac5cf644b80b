//! RustCrypto's KDFs.

use argon2::{Algorithm, Argon2, Params, Version};
use sha1::Sha1;
use sha2::{Sha256, Sha512};

/// Whether there is such a hash.
pub(crate) fn pbkdf2(hash: &str, password: &[u8], salt: &[u8], iterations: u32, out: &mut [u8]) -> bool {
    match hash {
        "sha1" => pbkdf2::pbkdf2_hmac::<Sha1>(password, salt, iterations, out),
        "sha256" => pbkdf2::pbkdf2_hmac::<Sha256>(password, salt, iterations, out),
        "sha512" => pbkdf2::pbkdf2_hmac::<Sha512>(password, salt, iterations, out),
        _ => return false,
    }
    true
}

/// Argon2id with its lanes on rayon's threads.
pub(crate) fn argon2id(time: u32, memory_kib: u32, lanes: u32, password: &[u8], salt: &[u8], out: &mut [u8]) {
    let params = Params::new(memory_kib, time, lanes, Some(out.len())).expect("costs within Argon2's bounds");
    Argon2::new(Algorithm::Argon2id, Version::V0x13, params)
        .hash_password_into(password, salt, out)
        .expect("enough memory");
}
