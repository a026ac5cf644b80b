//! `./dev bench engine`: every cipher, mode and KDF in memory, beside
//! everybody who has it, over what the CPU could do.
//!
//! A row shows Keyway's median with half the distance of its quartiles, each peer's, the ratio, and
//! what is wanted. Below it stand the floor (what the instructions or bytes that cannot be saved
//! would take on this CPU, measured in this run) and what keeps Keyway from it. MB are 10^6 bytes.

mod floors;
mod kdf;
mod machine;
pub(crate) mod sectors;
mod slots;
mod threads;

pub(crate) use machine::header;

use crate::options::Options;
use crate::rounds::Case;

/// What is measured, in the order of the table.
pub(crate) const SECTIONS: [fn(&Options) -> Vec<Case>; 4] =
    [sectors::cases, kdf::cases, slots::cases, threads::cases];
