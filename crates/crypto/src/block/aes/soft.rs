//! Portable AES: bit slices of integers. No memory access and no
//! branch depends on the key or the data.

use super::code::Code;
use super::schedule::Schedule;
use super::slice::{Sliced, Word};
use crate::block::BlockCipher;
use crate::cpu::Level;
use crate::mode::{cbc, ctr, xts};

/// For every CPU.
pub(super) static CODE: Code = Code {
    name: Level::Portable.name(),
    encrypt_blocks: |schedule, blocks| sliced(schedule).encrypt_blocks(blocks),
    decrypt_blocks: |schedule, blocks| sliced(schedule).decrypt_blocks(blocks),
    xts_encrypt: |schedule, tweaks, sector, data| xts::encrypt(&sliced(schedule), tweaks, sector, data),
    xts_decrypt: |schedule, tweaks, sector, data| xts::decrypt(&sliced(schedule), tweaks, sector, data),
    xctr: |schedule, starts, sector, data| {
        ctr::crypt(&sliced(schedule), ctr::count_beside_from_zero, starts, sector, data);
    },
    cbc_encrypt: |schedule, ivs, sector, data| cbc::encrypt(&sliced(schedule), ivs, sector, data),
    cbc_decrypt: |schedule, ivs, sector, data| cbc::decrypt(&sliced(schedule), ivs, sector, data),
};

fn sliced(schedule: &Schedule) -> Sliced<'_, Word> {
    Sliced::new((), schedule)
}
