//! The calls from a table of functions into functions compiled for one instruction set: the only
//! unsafe code around POLYVAL's vector code.

/// Defines `CODE`, the [`Code`](super::code::Code) of the instruction set named
/// by `$features`, over lanes of the type `$lanes`.
///
/// The module that calls this keeps `CODE` behind a check of [`Cpu`](crate::Cpu).
macro_rules! define_code {
    ($features:literal, $lanes:ty) => {
        use crate::block_cipher::Block;
        use crate::mode::hctr2::code::Code;
        use crate::mode::hctr2::polyval::{self, Powers};

        /// To be called only on a CPU that has the features this module is compiled for.
        pub(in crate::mode::hctr2) static CODE: Code = Code {
            raise: |key, powers| {
                // SAFETY: `choose` hands `CODE` out only for a CPU that has the features.
                unsafe { raise(key, powers) }
            },
            dot: |powers, blocks| {
                // SAFETY: `choose` hands `CODE` out only for a CPU that has the features.
                unsafe { dot(powers, blocks) }
            },
            hash: |powers, sector, data, heads| {
                // SAFETY: `choose` hands `CODE` out only for a CPU that has the features.
                unsafe { hash(powers, sector, data, heads) }
            },
        };

        #[target_feature(enable = $features)]
        fn raise(key: Block, powers: &mut Powers) {
            polyval::raise::<$lanes>(Proof::inside(), key, powers);
        }

        #[target_feature(enable = $features)]
        fn dot(powers: &Powers, blocks: &mut [Block]) {
            for block in blocks {
                *block = polyval::dot::<$lanes>(Proof::inside(), powers, block);
            }
        }

        #[target_feature(enable = $features)]
        fn hash(powers: &Powers, sector: usize, data: &[u8], heads: &mut [Block]) {
            polyval::hash::<$lanes>(Proof::inside(), powers, sector, data, heads);
        }
    };
}
pub(super) use define_code;
