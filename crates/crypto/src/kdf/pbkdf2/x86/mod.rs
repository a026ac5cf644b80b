//! PBKDF2's chains with the instructions of x86-64: SHA-1 and SHA-256 on the SHA extensions, SHA-512 with its message
//! schedule on vectors and its rounds on BMI2, Whirlpool on AVX-512 with GFNI.

mod sha512;
mod sha_ni;
mod whirlpool;

pub(super) use sha_ni::{sha1, sha256};
pub(super) use sha512::sha512;
pub(super) use whirlpool::{compress as whirlpool_compress, whirlpool};
