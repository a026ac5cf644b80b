//! `./dev bench peers`: what a user of Keyway and of its peers waits
//! for, from AES on sectors to whole programs.

mod end_to_end;
mod kdf;
pub(crate) mod memory;
mod sectors;
pub(crate) mod volumes;

use crate::options::Options;
use crate::rounds::Case;

/// What is measured, in the order of the table. A section's volumes
/// are gone before the next one begins.
pub(crate) const SECTIONS: [fn(&Options) -> Vec<Case>; 4] =
    [sectors::cases, kdf::cases, end_to_end::cases, memory::cases];
