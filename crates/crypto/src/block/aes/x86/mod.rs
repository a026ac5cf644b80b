//! AES with the instructions of x86-64: AES-NI, and VAES on 256-bit and 512-bit registers.

use super::code::Code;
use crate::Cpu;
use crate::cpu::Feature;

/// Defines `CODE`, the [`Code`] of the instruction set named by
/// `$features`, over wide and narrow [`Lanes`].
///
/// The module that calls this keeps `CODE` behind a check of [`crate::Cpu`].
///
/// [`Lanes`]: crate::block::aes::lanes::Lanes
macro_rules! define_code {
    ($level:expr, $features:literal, $wide:ty, $narrow:ty, $wide_proof:expr, $narrow_proof:expr) => {
        use crate::block::aes::code::Code;
        use crate::block::aes::schedule::Schedule;
        use crate::block::aes::wide;
        use crate::block_cipher::Block;
        use crate::cpu::Level;

        /// To be called only on a CPU that has the features this module is compiled for.
        pub(super) static CODE: Code = Code {
            name: $level.name(),
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

mod aesni;
mod vaes256;
mod vaes512;

/// The widest code that `cpu` can run.
pub(super) fn choose(cpu: Cpu) -> Option<&'static Code> {
    if cpu.has(Feature::Vaes512) {
        Some(&vaes512::CODE)
    } else if cpu.has(Feature::Vaes256) {
        Some(&vaes256::CODE)
    } else if cpu.has(Feature::AesNi) {
        Some(&aesni::CODE)
    } else {
        None
    }
}
