//! The calls from a table of functions into functions compiled for one instruction set: the only
//! unsafe code around Adiantum's vector code.

/// Defines `CODE`, the [`Code`](super::code::Code) of the instruction set named by
/// `$features`, over [`Words`] of the type `$words`.
///
/// The module that calls this keeps `CODE` behind a check of [`Cpu`](crate::Cpu).
///
/// [`Words`]: super::words::Words
macro_rules! define_code {
    ($name:literal, $features:literal, $words:ty) => {
        use crate::block_cipher::Block;
        use crate::mode::adiantum::code::{Code, StreamKey};
        use crate::mode::adiantum::nh::HashKey;
        use crate::mode::adiantum::{chacha, nh};

        /// To be called only on a CPU that has the features this module is compiled for.
        pub(in crate::mode::adiantum) static CODE: Code = Code {
            name: $name,
            hash: |key, sector, data, hashes| {
                // SAFETY: `choose` hands `CODE` out only for a CPU that has the features.
                unsafe { hash(key, sector, data, hashes) }
            },
            stream: |key, nonces, sector, data| {
                // SAFETY: `choose` hands `CODE` out only for a CPU that has the features.
                unsafe { stream(key, nonces, sector, data) }
            },
        };

        #[target_feature(enable = $features)]
        fn hash(key: &HashKey, sector: usize, data: &[u8], hashes: &mut [u128]) {
            nh::hash::<$words>(Proof::inside(), key, sector, data, hashes);
        }

        #[target_feature(enable = $features)]
        fn stream(key: &StreamKey, nonces: &[Block], sector: usize, data: &mut [u8]) {
            chacha::xor_stream::<$words>(Proof::inside(), key, nonces, sector, data);
        }
    };
}
pub(super) use define_code;
