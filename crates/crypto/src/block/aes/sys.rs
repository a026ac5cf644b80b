//! The calls from a table of functions into functions compiled for one instruction set.

/// Defines `CODE`, the [`Code`](super::code::Code) of the functions beside it, which are compiled
/// for one instruction set.
///
/// The module that calls this keeps `CODE` behind a check of [`Cpu`](crate::Cpu).
macro_rules! define_code {
    ($name:expr) => {
        use crate::block::aes::code::Code;
        use crate::block::aes::schedule::Schedule;
        use crate::block_cipher::Block;

        /// To be called only on a CPU that has the features this module is compiled for.
        pub(super) static CODE: Code = Code {
            name: $name,
            encrypt_blocks: |schedule, blocks| {
                // SAFETY: `choose` hands `CODE` out only for a CPU that has the features.
                unsafe { encrypt_blocks(schedule, blocks) }
            },
            decrypt_blocks: |schedule, blocks| {
                // SAFETY: `choose` hands `CODE` out only for a CPU that has the features.
                unsafe { decrypt_blocks(schedule, blocks) }
            },
            xts_encrypt: |schedule, tweaks, sector, data| {
                // SAFETY: `choose` hands `CODE` out only for a CPU that has the features.
                unsafe { xts_encrypt(schedule, tweaks, sector, data) }
            },
            xts_decrypt: |schedule, tweaks, sector, data| {
                // SAFETY: `choose` hands `CODE` out only for a CPU that has the features.
                unsafe { xts_decrypt(schedule, tweaks, sector, data) }
            },
            xctr: |schedule, starts, sector, data| {
                // SAFETY: `choose` hands `CODE` out only for a CPU that has the features.
                unsafe { xctr(schedule, starts, sector, data) }
            },
            cbc_encrypt: |schedule, ivs, sector, data| {
                // SAFETY: `choose` hands `CODE` out only for a CPU that has the features.
                unsafe { cbc_encrypt(schedule, ivs, sector, data) }
            },
            cbc_decrypt: |schedule, ivs, sector, data| {
                // SAFETY: `choose` hands `CODE` out only for a CPU that has the features.
                unsafe { cbc_decrypt(schedule, ivs, sector, data) }
            },
        };
    };
}
pub(super) use define_code;

/// Defines [`define_code`]'s functions, for the instruction set named by `$features`, over wide and
/// narrow [`Lanes`](super::lanes::Lanes), and their `CODE`.
macro_rules! define_wide_code {
    ($level:expr, $features:literal, $wide:ty, $narrow:ty, $wide_proof:expr, $narrow_proof:expr) => {
        use crate::block::aes::wide;
        use crate::cpu::Level;

        $crate::block::aes::sys::define_code!($level.name());

        #[target_feature(enable = $features)]
        fn encrypt_blocks(schedule: &Schedule, blocks: &mut [Block]) {
            wide::ecb::<$wide, $narrow, true>($wide_proof, $narrow_proof, schedule, blocks);
        }

        #[target_feature(enable = $features)]
        fn decrypt_blocks(schedule: &Schedule, blocks: &mut [Block]) {
            wide::ecb::<$wide, $narrow, false>($wide_proof, $narrow_proof, schedule, blocks);
        }

        #[target_feature(enable = $features)]
        fn xts_encrypt(schedule: &Schedule, tweaks: &[Block], sector: usize, data: &mut [u8]) {
            match schedule.rounds {
                10 => wide::xts::<$wide, 10, true>($wide_proof, schedule, tweaks, sector, data),
                12 => wide::xts::<$wide, 12, true>($wide_proof, schedule, tweaks, sector, data),
                _ => wide::xts::<$wide, 14, true>($wide_proof, schedule, tweaks, sector, data),
            }
        }

        #[target_feature(enable = $features)]
        fn xts_decrypt(schedule: &Schedule, tweaks: &[Block], sector: usize, data: &mut [u8]) {
            match schedule.rounds {
                10 => wide::xts::<$wide, 10, false>($wide_proof, schedule, tweaks, sector, data),
                12 => wide::xts::<$wide, 12, false>($wide_proof, schedule, tweaks, sector, data),
                _ => wide::xts::<$wide, 14, false>($wide_proof, schedule, tweaks, sector, data),
            }
        }

        #[target_feature(enable = $features)]
        fn xctr(schedule: &Schedule, starts: &[Block], sector: usize, data: &mut [u8]) {
            match schedule.rounds {
                10 => wide::xctr::<$wide, 10>($wide_proof, schedule, starts, sector, data),
                12 => wide::xctr::<$wide, 12>($wide_proof, schedule, starts, sector, data),
                _ => wide::xctr::<$wide, 14>($wide_proof, schedule, starts, sector, data),
            }
        }

        #[target_feature(enable = $features)]
        fn cbc_encrypt(schedule: &Schedule, ivs: &[Block], sector: usize, data: &mut [u8]) {
            wide::cbc_encrypt::<$wide, $narrow>($wide_proof, $narrow_proof, schedule, ivs, sector, data);
        }

        #[target_feature(enable = $features)]
        fn cbc_decrypt(schedule: &Schedule, ivs: &[Block], sector: usize, data: &mut [u8]) {
            wide::cbc_decrypt::<$wide>($wide_proof, schedule, ivs, sector, data);
        }
    };
}
pub(super) use define_wide_code;
