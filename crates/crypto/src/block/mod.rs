//! Block ciphers, one file or folder each, and the table that names them.

pub(crate) mod aes;
#[cfg(feature = "alloc")]
mod anubis;
#[cfg(feature = "alloc")]
mod arc4;
#[cfg(feature = "alloc")]
mod bulk;
#[cfg(feature = "alloc")]
pub(crate) mod camellia;
#[cfg(feature = "alloc")]
mod crates;
mod des;
#[cfg(feature = "alloc")]
mod fcrypt;
#[cfg(feature = "alloc")]
mod involution;
#[cfg(feature = "alloc")]
mod khazad;
#[cfg(feature = "alloc")]
mod null;
#[cfg(feature = "alloc")]
mod seed;
#[cfg(feature = "alloc")]
pub(crate) mod serpent;
#[cfg(feature = "alloc")]
#[cfg(any(all(target_arch = "x86_64", target_feature = "sse2"), target_arch = "aarch64"))]
mod sys;
#[cfg(feature = "alloc")]
pub(crate) mod table;
#[cfg(feature = "alloc")]
mod tea;
#[cfg(feature = "alloc")]
pub(crate) mod twofish;
#[cfg(test)]
pub(crate) mod vectors;

#[cfg(feature = "alloc")]
pub(crate) use crates::blowfish_le;
