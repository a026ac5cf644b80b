//! Portable AES: bit slices of integers. No memory access and no
//! branch depends on the key or the data.

use super::code::Code;
use super::schedule::Schedule;
use super::slice::{Sliced, Word};
use crate::block_cipher::{BlockCipher, Cipher128};
use crate::cpu::Level;

/// For every CPU.
pub(super) static CODE: Code = Code {
    name: Level::Portable.name(),
    encrypt_blocks: |schedule, blocks| sliced(schedule).encrypt_blocks(blocks),
    decrypt_blocks: |schedule, blocks| sliced(schedule).decrypt_blocks(blocks),
    xts_encrypt: |schedule, tweaks, sector, data| sliced(schedule).xts_encrypt(tweaks, sector, data),
    xts_decrypt: |schedule, tweaks, sector, data| sliced(schedule).xts_decrypt(tweaks, sector, data),
    xctr: |schedule, starts, sector, data| sliced(schedule).xctr(starts, sector, data),
    cbc_encrypt: |schedule, ivs, sector, data| sliced(schedule).cbc_encrypt(ivs, sector, data),
    cbc_decrypt: |schedule, ivs, sector, data| sliced(schedule).cbc_decrypt(ivs, sector, data),
};

fn sliced(schedule: &Schedule) -> Sliced<'_, Word> {
    Sliced::new((), schedule)
}
